"""What operations told while they ran, kept beside the fleet for `modelplane logs`: the last few of each stack.

Kept is what people were told anyway: which resources changed, and messages of programs, providers and the engine, in
which the engine has replaced secrets. Files are their owner's alone. A file that cannot be written is no reason for an
operation to fail.
"""

import json
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

from api.names import StackName

if TYPE_CHECKING:
    from stacks.engine import Engine
    from stacks.events import Watch
    from stacks.operation import Operation

    Run = Callable[[Watch, bool], None]
    Perform = Callable[..., Operation]

KEPT_ACTIONS = frozenset({"up", "destroy"})
MOST_ENTRIES = 20
"""Operations of one stack that are kept."""
MOST_LINES = 2000
"""Lines of one operation that are kept, the last of them."""
FOLDER = "logs"


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One operation on one stack."""

    stack: str
    action: str
    at: str
    """When it began, in RFC 3339."""
    seconds: float
    changed: int
    error: str = ""
    """Code and sentence of what it failed with; empty where it succeeded."""
    lines: tuple[str, ...] = ()

    def plain(self) -> dict[str, Any]:
        """The entry for programs."""
        return {**asdict(self), "lines": list(self.lines)}


def journaled(perform: "Perform") -> "Perform":
    """An engine's way of performing operations that keeps what they told."""

    @wraps(perform)
    def performed(engine: "Engine", stack: StackName, action: str, run: "Run", caught: list[Any]) -> "Operation":
        heard: list[Watch] = []

        def listening(watch: "Watch", settled: bool) -> None:  # noqa: FBT001 - what `perform` tells
            heard.append(watch)
            run(watch, settled)

        began = datetime.now(UTC)
        operation = perform(engine, stack, action, listening, caught)
        if action in KEPT_ACTIONS and operation.begun:
            keep(engine.environment.folder, entry_of(operation, heard[-1].told if heard else (), began))
        return operation

    return performed


def entry_of(operation: "Operation", told: Sequence[str], began: datetime) -> Entry:
    """What is kept of an operation."""
    error = operation.error
    return Entry(
        stack=str(operation.stack),
        action=operation.action,
        at=began.strftime("%Y-%m-%dT%H:%M:%SZ"),
        seconds=round(operation.seconds, 1),
        changed=operation.changed,
        error=f"{error.error_code}: {error.message}" if error else "",
        lines=tuple(told[-MOST_LINES:]),
    )


def keep(folder: Path, entry: Entry) -> None:
    """Add an entry to those of its stack, and drop the oldest. The file appears whole or not at all."""
    file = _file(folder, entry.stack)
    entries = [*read(folder, entry.stack), entry][-MOST_ENTRIES:]
    made = file.with_name(f".{file.name}.{os.getpid()}")
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        with os.fdopen(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as writing:
            writing.writelines(f"{json.dumps(each.plain(), ensure_ascii=False)}\n" for each in entries)
        made.replace(file)


def read(folder: Path, stack: str) -> list[Entry]:
    """What is kept of a stack, the oldest first; a line that a newer release wrote in another way is passed over."""
    try:
        lines = _file(folder, stack).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return []
    found = []
    for line in lines:
        with suppress(ValueError, TypeError, KeyError):
            plain = json.loads(line)
            found.append(Entry(**{**plain, "lines": tuple(plain["lines"])}))
    return found


def stacks_kept(folder: Path) -> list[str]:
    """Names of stacks of which something is kept."""
    return sorted(file.stem for file in (folder / FOLDER).glob("[!.]*.jsonl"))


def _file(folder: Path, stack: str) -> Path:
    return folder / FOLDER / f"{stack}.jsonl"
