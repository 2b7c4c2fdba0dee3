"""Where previews run: aside, so that nothing of the fleet's own is written.

A stack that exists is previewed in its own backend, where a preview neither takes a lock nor writes. A preview needs
its stack to exist; one that does not gets an empty stand-in in a throw-away backend, which is gone with the preview.
Project file and settings are a copy in a temporary folder, so that no passphrase, folder or setting is made either.
"""

import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from api.documents import FleetDocuments
from api.names import StackName
from programs.context import Context
from programs.planned import Captured
from stacks.command import RunningEngines
from stacks.engine import Engine
from stacks.environment import (
    BACKEND,
    FOLDER_OF_ENGINE,
    PASSPHRASE,
    PASSPHRASE_FILE,
    Environment,
    default_backend,
)
from stacks.interrupt import Stop
from stacks.operation import Operation, OperationFailed, not_begun
from stacks.processes import Process
from stacks.state import has_state
from stacks.under_way import Ongoing


class PreviewEngine:
    """Previews stacks and reads their last outputs; changes nothing."""

    def __init__(self, there: Engine, absent: Engine, existing: Mapping[StackName, int]) -> None:
        self._there = there
        self._absent = absent
        self.existing = existing
        """Stacks of the project in the fleet's backend, with the number of entries each holds."""
        self.environment = there.environment
        self.stop = Stop()
        self.running = _Together((there.running, absent.running))

    def under_way(self) -> tuple[Ongoing, ...]:
        """What is under way."""
        return (*self._there.under_way.now(), *self._absent.under_way.now())

    def preview(
        self, stack: StackName, context: Context, take: Callable[[Captured], None], *, refresh: bool = False
    ) -> Operation:
        """Preview one stack; `take` is given its planned outputs where the preview succeeds.

        With `refresh` its live objects are looked at first; where that fails it is previewed without, and says so.
        """
        if self.stop.requested:
            return not_begun(stack, "preview")
        if stack not in self.existing:
            return self._absent.preview(stack, context, take)
        operation = self._there.preview(stack, context, take, refresh=refresh)
        if operation.ok or not refresh or self.stop.requested or not isinstance(operation.error, OperationFailed):
            return operation
        told = f"its live objects could not be looked at: {operation.error.message.splitlines()[0]}"
        without = self._there.preview(stack, context, take)
        return replace(without, messages=(told, *without.messages))

    def preview_destroy(self, stack: StackName) -> Operation:
        """Preview that a stack which exists loses all it holds."""
        if self.stop.requested:
            return not_begun(stack, "preview")
        return self._there.preview_destroy(stack)

    def outputs(self, stack: str) -> Mapping[str, Any] | None:
        """Outputs of the last update, secrets in clear; None for a stack that is absent or exports nothing.

        Raises:
            UnreadableStack: the stack exists and cannot be read.

        """
        return self._there.outputs(stack)


@contextmanager
def preview_engine(
    environment: Environment, documents: FleetDocuments, debug: Callable[[str], None] | None = None
) -> Iterator[PreviewEngine]:
    """An engine for previews of one fleet, with its temporary folder.

    Raises:
        UnreadableStack: the backend cannot be read.

    """
    with TemporaryDirectory(prefix="modelplane-preview-", ignore_cleanup_errors=True) as folder:
        there = _aside(Environment(directory=Path(folder) / "there", variables=environment.variables))
        absent = _throw_away(environment, Path(folder) / "absent")
        if environment.work_dir.is_dir():
            shutil.copytree(environment.work_dir, there.work_dir)
        engine = Engine(there, documents, debug=debug)
        existing = engine.stacks() if has_state(environment) else {}
        yield PreviewEngine(engine, Engine(absent, documents, debug=debug), existing)


def _throw_away(environment: Environment, directory: Path) -> Environment:
    """An environment with an empty backend of its own, under a passphrase of its own."""
    variables = {name: value for name, value in environment.variables.items() if name != PASSPHRASE_FILE}
    variables |= {BACKEND: default_backend(directory), PASSPHRASE: secrets.token_urlsafe(16)}
    return _aside(Environment(directory=directory, variables=variables))


def _aside(environment: Environment) -> Environment:
    """The same, whose engines work in its own folder."""
    return replace(environment, variables={**environment.variables, FOLDER_OF_ENGINE: str(environment.work_dir)})


class _Together:
    """Engines of both kinds that are under way, as one: what Ctrl-C ends."""

    def __init__(self, parts: Sequence[RunningEngines]) -> None:
        self._parts = parts
        self.run = parts[0].run

    def cancel(self) -> int:
        """Ask them to end, and start no other; how many were asked."""
        return sum(part.cancel() for part in self._parts)

    def kill(self) -> list[Process]:
        """End them at once; what that was."""
        return [process for part in self._parts for process in part.kill()]
