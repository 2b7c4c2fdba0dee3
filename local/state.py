"""What a local fleet remembers: which processes it started, which numbers it gave out, in `state.json` of its folder.

The file is replaced whole after every start, so a killed command leaves the last state that was true.
"""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from api.errors import LocalFleetError, LockHeld
from local import processes
from local.processes import Identity

VERSION = 1

TRAFFIC = "traffic"
"""The group of the parts that belong to no cluster."""


@dataclass(kw_only=True)
class Part:
    """One process of the fleet: who it is, where it listens and logs, and the digest of how it was started."""

    pid: int
    started: int
    address: str = ""
    log: str = ""
    digest: str = ""

    @property
    def identity(self) -> Identity:
        """The process itself."""
        return Identity(self.pid, self.started)


@dataclass(kw_only=True)
class ClusterState:
    """What one cluster was given for good: its index, its ports by their name in KWOK's options.

    `created` says that its folder is complete, `definitions` which CustomResourceDefinitions it has taken in.
    """

    index: int
    ports: dict[str, int]
    created: bool = False
    definitions: str = ""


@dataclass(kw_only=True)
class State:
    """The whole of it; `folder` and `boot` tell a copied folder and a restarted machine."""

    folder: str
    boot: str
    namespace: int = 0
    clusters: dict[str, ClusterState] = field(default_factory=dict)
    parts: dict[str, Part] = field(default_factory=dict)
    """By `<cluster>/<part>`, the cluster being `traffic` for what serves all of them."""


def fresh(folder: Path) -> State:
    """The state of a fleet that has nothing yet."""
    return State(folder=str(folder), boot=processes.boot_id())


def load(folder: Path) -> State | None:
    """The remembered state; None where there is none. Raises LocalFleetError (MP502) for a file that cannot be used."""
    file = folder / "state.json"
    try:
        state = _from_plain(json.loads(file.read_text()))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        hint = "`modelplane local down` ends what it still finds and removes the folder"
        raise LocalFleetError(f"cannot be used: {error}", where=str(file), code="MP502", hint=hint) from error
    if state.boot != processes.boot_id():
        state.boot, state.namespace = processes.boot_id(), 0
        for part in state.parts.values():
            part.started = -1
    return state


def save(state: State, folder: Path) -> None:
    """Replace the remembered state."""
    file = folder / "state.json"
    draft = file.with_suffix(".new")
    draft.write_text(json.dumps({"version": VERSION, **asdict(state)}, indent=1))
    draft.chmod(0o600)
    draft.replace(file)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Make the folder and hold it against other commands; raises LockHeld when one of them has it."""
    while True:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            handle = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except FileNotFoundError:
            continue
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not _is_same(handle, folder / "lock"):
                continue
            (folder / ".gitignore").write_text("*\n")
            yield
        except BlockingIOError as error:
            message = "another `modelplane local` works on this fleet"
            raise LockHeld(message, where=str(folder), hint="wait until it has ended") from error
        else:
            return
        finally:
            os.close(handle)


def _is_same(handle: int, file: Path) -> bool:
    """Whether the held lock is still the one in the folder, which a finished `down` may have removed."""
    try:
        return os.fstat(handle).st_ino == file.stat().st_ino
    except FileNotFoundError:
        return False


def _from_plain(content: dict[str, Any]) -> State:
    if content.pop("version") != VERSION:
        raise ValueError("another version wrote it")
    clusters = {name: ClusterState(**cluster) for name, cluster in content.pop("clusters").items()}
    parts = {name: Part(**part) for name, part in content.pop("parts").items()}
    return State(**content, clusters=clusters, parts=parts)
