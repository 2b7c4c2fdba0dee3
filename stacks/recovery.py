"""What an operation needs after a run that was killed: its lock taken over, and what it left open settled.

Both happen when an operation meets them, and are said. A lock that is not a dead process of ours stops the operation.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pulumi.automation import errors as engine_errors

from api.names import StackName
from stacks.lock import stack_held, stack_owners
from stacks.pending import look_up, pending_operations, settle

Run = Callable[..., str | engine_errors.CommandError]
"""Runs a command of the CLI that starts no engine: what it said, or its error."""


class Recovery:
    """Performs operations on the stacks of one fleet; knows which of them have nothing open."""

    def __init__(self, backend: str, work_dir: Path, run: Run, say: Callable[[str], None]) -> None:
        self._backend = backend
        self._work_dir = work_dir
        self._run = run
        self._say = say
        self._clean: set[str] = set()

    def gave_up(self, stack: StackName, creations: list[dict[str, Any]]) -> None:
        """Keep what an operation was to create and did not: a call that was cancelled may have arrived.

        The state has nothing of it, so it lies in a file beside the fleet until the stack's next operation.
        """
        if creations:
            self._clean.discard(str(stack))
            self._file(stack).write_text(json.dumps(creations))

    def saw(self, stack: StackName | str, state: Any) -> None:
        """Take note of a stack's exported state; None where it has none yet."""
        if state is None or not pending_operations(state):
            self._clean.add(str(stack))
        else:
            self._clean.discard(str(stack))

    def perform(self, stack: StackName, make: Callable[[StackName], None], operation: Callable[[bool], None]) -> None:
        """Make the stack where it is not there and run an operation on it, which is told whether it has to refresh.

        Raises:
            LockHeld: the stack is locked by what is not a dead process of ours.
            Unsettled: a cluster does not tell what an interrupted creation has made.
            CommandError: the operation failed.

        """
        try:
            try:
                make(stack)
                operation(self._settle(stack))
            except engine_errors.ConcurrentUpdateError as error:
                self._take_over(stack, error)
                make(stack)
                operation(self._settle(stack))
        except engine_errors.ConcurrentUpdateError as error:
            raise stack_held(stack, stack_owners(self._backend, stack), said(error)) from None
        except BaseException:
            self._clean.discard(str(stack))
            raise

    def _take_over(self, stack: StackName, error: engine_errors.CommandError) -> None:
        owners = stack_owners(self._backend, stack)
        if owners == []:
            return  # its owner has just ended
        if owners is None or not all(owner.is_dead for owner in owners):
            raise error
        self._checked("cancel", "--yes", "--stack", str(stack))
        self._clean.discard(str(stack))
        for owner in owners:
            self._say(f"{stack}: took over the lock of an engine that was killed: {owner}")

    def _settle(self, stack: StackName) -> bool:
        given_up = self._file(stack)
        if str(stack) in self._clean and not given_up.exists():
            return False
        state = json.loads(self._checked("stack", "export", "--stack", str(stack)))
        failed = _creations(given_up)
        changed = False
        if failed or pending_operations(state):
            shown = json.loads(self._checked("stack", "export", "--show-secrets", "--stack", str(stack)))
            settled = settle(state, shown, stack.fleet, look_up, failed)
            changed = settled.changed
            if changed:
                self._write(stack, settled.state)
            for note in settled.notes:
                self._say(f"{stack}: {note}")
        given_up.unlink(missing_ok=True)
        self._clean.add(str(stack))
        return changed

    def _write(self, stack: StackName, state: dict[str, Any]) -> None:
        file = self._work_dir / f"{stack}.settled.json"
        try:
            file.write_text(json.dumps(state))  # secrets in it are encrypted, as in the state
            self._checked("stack", "import", "--stack", str(stack), "--file", str(file))
        finally:
            file.unlink(missing_ok=True)

    def _file(self, stack: StackName) -> Path:
        return self._work_dir / f"{stack}.given-up.json"

    def _checked(self, *arguments: str) -> str:
        result = self._run(*arguments)
        if isinstance(result, str):
            return result
        raise result


def _creations(file: Path) -> list[dict[str, Any]]:
    try:
        found: list[dict[str, Any]] = json.loads(file.read_text())
    except (FileNotFoundError, ValueError):
        return []  # there is none, or a run was killed while it wrote
    return found


def said(error: Exception) -> str:
    """What the engine says of a lock: its own sentence, and a line for each owner."""
    lines = [line.strip() for line in str(error).splitlines()]
    start = next((position for position, line in enumerate(lines) if "error:" in line), 0)
    return "\n".join(line for line in lines[start:] if line).partition("error:")[2].strip() or "locked by another run"
