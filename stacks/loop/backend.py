"""The files of a backend that is a folder: states, which of them others have written, and what of the past is kept."""

import json
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from stacks.environment import BACKEND, FILE, PROJECT, Environment
from stacks.state import unreadable_backend

VERSION = 3
"""Of a stack's file: that of Pulumi's `apitype.VersionedCheckpoint`, which an export has as well."""
KEPT = 20
"""Entries of history and backups that are kept of each stack."""


def folder_of(environment: Environment) -> Path | None:
    """Where the backend's files lie; None where it is no folder."""
    backend = environment.variables[BACKEND]
    if not backend.startswith(FILE):
        return None
    return Path(unquote(backend.removeprefix(FILE).partition("?")[0])).expanduser() / ".pulumi"


def state_of(environment: Environment, stack: str) -> dict[str, Any] | None:
    """A stack's state in the form of `pulumi stack export`, secrets encrypted, without a start of the CLI.

    None where the backend is no folder, the stack has no file there, or that has a form which is not known here: then
    the CLI tells. A file is replaced as a whole, so one that an engine writes just then is read as it was before.
    """
    folder = folder_of(environment)
    if folder is None:
        return None
    try:
        found = json.loads((folder / "stacks" / PROJECT / f"{stack}.json").read_bytes())
        known = found["version"] == VERSION and not found.get("features")
        return {"version": VERSION, "deployment": found["checkpoint"]["latest"]} if known else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def stamps(environment: Environment) -> Mapping[str, int] | None:
    """When each stack's state was last written, by its name; None where the backend does not tell.

    Raises:
        UnreadableStack: the folder is there and cannot be read.

    """
    folder = folder_of(environment)
    if folder is None:
        return None
    stacks, found = folder / "stacks" / PROJECT, {}
    try:
        for file in stacks.iterdir() if stacks.is_dir() else ():
            name = file.name.partition(".json")[0]
            if file.name in {f"{name}.json", f"{name}.json.gz"}:
                found[name] = file.stat().st_mtime_ns
    except OSError as error:
        raise unreadable_backend(environment, str(error)) from None
    return found


def prune(environment: Environment, kept: int = KEPT) -> int:
    """Remove all but the newest entries of history and backups of each stack; how many files went.

    Pulumi keeps two files for each update for ever, and one for each backup.
    """
    folder = folder_of(environment)
    if folder is None:
        return 0
    gone = 0
    for part in ("history", "backups"):
        for stack in (folder / part / PROJECT).glob("*"):
            entries: dict[str, list[Path]] = defaultdict(list)
            for file in stack.iterdir():
                entries[_stem(file.name)].append(file)
            for stem in sorted(entries)[:-kept]:
                for file in entries[stem]:
                    file.unlink(missing_ok=True)
                    gone += 1
    return gone


def _stem(name: str) -> str:
    """What the files of one entry have in common: the stack, and a time that sorts."""
    for suffix in (".gz", ".attrs", ".json", ".history", ".checkpoint"):
        name = name.removesuffix(suffix)
    return name
