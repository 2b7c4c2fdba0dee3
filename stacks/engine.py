"""The Automation API behind a small face: up, destroy and outputs of one stack at a time, from any thread.

A program's own error reaches the caller as it was raised; what the engine or a provider reports comes back as messages
of the operation. Secrets in outputs are returned in clear to the caller and are never part of a message.
"""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pulumi
from pulumi import automation
from pulumi.automation import errors as engine_errors

from api.documents import FleetDocuments
from api.errors import Cancelled, ModelplaneError, UnreadableStack
from api.names import StackName
from programs import registry
from programs.context import Context, Permissions
from programs.planned import Captured, capture
from programs.reading import whole_numbers
from stacks.changes import counts
from stacks.charts import chart_failure
from stacks.command import EngineKilled, RunningEngines
from stacks.environment import BACKEND, PROJECT, Environment, plugin_variables
from stacks.events import LOOK, REFRESH, Watch, first_line
from stacks.exported import exports_secrets, stack_outputs, stacks_listed
from stacks.interrupt import Stop
from stacks.journal import journaled
from stacks.lean import LeanStack, pulumi_command
from stacks.loop.backend import state_of
from stacks.operation import GO_ON, Operation, OperationFailed, ProgramBug, not_begun
from stacks.pending import kubeconfigs_of
from stacks.recovery import Recovery
from stacks.state import unreadable_backend
from stacks.under_way import UnderWay


class Engine:
    """Runs the programs of one fleet against its backend."""

    def __init__(
        self,
        environment: Environment,
        documents: FleetDocuments,
        *,
        debug: Callable[[str], None] | None = None,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.environment = environment
        self.documents = documents
        self.permissions = Permissions()
        self.under_way = UnderWay()
        self._stop = Stop()
        self._running = RunningEngines()
        self._debug = debug
        self._variables = {**environment.variables, **plugin_variables()}
        self._command = pulumi_command(self._running)
        self._recovery = Recovery(self._variables[BACKEND], environment.work_dir, self._run, say)
        self._existing: set[str] = set()

    @property
    def stop(self) -> Stop:
        """Whether operations may still be begun; those that may not come back at once, not begun."""
        return self._stop

    @property
    def running(self) -> RunningEngines:
        """Operations that are under way."""
        return self._running

    def up(
        self,
        stack: StackName,
        *,
        refresh: bool,
        continue_on_error: bool = False,
        sick: frozenset[str] = frozenset(),
    ) -> Operation:
        """Bring one stack up; the stack is made when it does not exist. `sick` is `Context.sick`."""
        caught: list[ModelplaneError] = []
        context = Context(
            documents=self.documents, kind=stack.kind, cluster=stack.cluster, permissions=self.permissions, sick=sick
        )

        def run(watch: Watch, settled: bool) -> None:  # noqa: FBT001 - what `_perform` tells
            with self._stack(stack, _inline(context, stack, caught)) as found:
                found.up(
                    on_event=watch,
                    refresh=refresh or settled or None,
                    continue_on_error=continue_on_error or None,
                    suppress_outputs=True,
                    suppress_progress=True,
                    color="never",
                    show_secrets=False,
                    debug=self._debug is not None,
                )

        return self._perform(stack, "up", run, caught)

    def preview(
        self, stack: StackName, context: Context, take: Callable[[Captured], None], *, refresh: bool = False
    ) -> Operation:
        """Preview one stack with a context of the caller's; `take` is given its planned outputs.

        The stack is made when it does not exist: who wants none to be left previews in a backend of its own.
        """
        caught: list[ModelplaneError] = []
        program = _inline(context, stack, caught, lambda: capture(take))
        return self._previewed(stack, program, caught, refresh=refresh)

    def preview_destroy(self, stack: StackName) -> Operation:
        """Preview that a stack which exists loses all it holds."""
        return self._previewed(stack, lambda: None, [])

    def _previewed(
        self, stack: StackName, program: Callable[[], None], caught: list[ModelplaneError], *, refresh: bool = False
    ) -> Operation:
        def run(watch: Watch, _: bool) -> None:  # noqa: FBT001 - what `_perform` tells
            with self._stack(stack, program) as found:
                found.preview(
                    on_event=watch,
                    refresh=refresh or None,
                    suppress_outputs=True,
                    suppress_progress=True,
                    color="never",
                    debug=self._debug is not None,
                )

        return self._perform(stack, "preview", run, caught)

    def look(self, stack: StackName) -> Operation:
        """Compare what one stack holds with live objects; nothing is written and no program runs."""

        def run(watch: Watch, _: bool) -> None:  # noqa: FBT001 - what `_perform` tells
            with self._stack(stack, lambda: None) as found:
                found.preview_refresh(on_event=watch, suppress_progress=True)

        return self._perform(stack, "look", run, [])

    def exported(self, stack: StackName) -> dict[str, Any]:
        """A stack's state as the backend has it, secrets encrypted.

        Raises:
            UnreadableStack: it cannot be read.

        """
        result = self._run("stack", "export", "--stack", str(stack))
        if not isinstance(result, str):
            raise UnreadableStack(f"the state of stack {stack} cannot be read: {first_line(str(result))}")
        return dict(json.loads(result))

    def unlock(self, stack: StackName) -> None:
        """Break the lock of a stack, whoever holds it; raises as `forget` does."""
        self._told(stack, "cancel", "--yes")

    def destroy(self, stack: StackName) -> Operation:
        """Destroy what one stack holds and remove the stack; without its documents.

        What is protected goes too: whoever destroys a cluster's stack has been asked for that, or has named it.
        """

        def run(watch: Watch, settled: bool) -> None:  # noqa: FBT001 - what `_perform` tells
            with self._stack(stack, lambda: None) as found:
                if stack.kind == "cluster":
                    self._unprotect(stack)
                found.destroy(
                    on_event=watch,
                    refresh=settled or None,
                    suppress_outputs=True,
                    suppress_progress=True,
                    color="never",
                    show_secrets=False,
                )
                found.workspace.remove_stack(str(stack))
            self._existing.discard(str(stack))

        return self._perform(stack, "destroy", run, [])

    def _unprotect(self, stack: StackName) -> None:
        done = self._run("state", "unprotect", "--all", "--yes", "--stack", str(stack))
        if isinstance(done, engine_errors.CommandError):
            raise done

    def forget(self, stack: StackName) -> None:
        """Remove a stack from the state without calling what it holds.

        Raises:
            OperationFailed: the backend refuses.

        """
        self._told(stack, "stack", "rm", "--force", "--yes")
        self._existing.discard(str(stack))

    def outputs(self, stack: StackName | str) -> dict[str, Any] | None:
        """Outputs of the last update with secrets in clear, None when the stack does not exist or exports nothing.

        Raises:
            UnreadableStack: the stack exists and cannot be read.

        """
        state = state_of(self.environment, str(stack))
        if state is None or exports_secrets(state):
            result = self._run("stack", "export", "--show-secrets", "--stack", str(stack))
            if not isinstance(result, str):
                if "no stack named" in str(result) or "unknown stack" in str(result):
                    return None
                raise UnreadableStack(f"the outputs of stack {stack} cannot be read: {first_line(str(result))}")
            state = json.loads(result)
        self._recovery.saw(stack, state)
        return whole_numbers(stack_outputs(state)) or None

    def stacks(self) -> dict[StackName, int]:
        """Stacks of this project in the backend, with the number of resources each holds.

        Raises:
            UnreadableStack: the backend cannot be read.

        """
        result = self._run("stack", "ls", "--json", "--project", PROJECT)
        if not isinstance(result, str):
            raise unreadable_backend(self.environment, first_line(str(result)))
        found = stacks_listed(result)
        self._existing.update(map(str, found))
        return found

    def _told(self, stack: StackName, *arguments: str) -> None:
        if not isinstance(result := self._run(*arguments, "--stack", str(stack)), str):
            raise OperationFailed(first_line(str(result)), where=f"stack {stack}")

    def _run(self, *arguments: str) -> str | engine_errors.CommandError:
        self.environment.prepare()
        try:
            result = self._command.run(list(arguments), str(self.environment.work_dir), self._variables)
        except engine_errors.CommandError as error:
            return error
        return str(result.stdout)

    @contextmanager
    def _stack(self, stack: StackName, inline: Callable[[], None]) -> Iterator[automation.Stack]:
        """The stack with a temporary folder of its own: the Kubernetes provider leaves kubeconfigs in it, in clear."""
        self.environment.prepare()
        with self.environment.scratch() as scratch:
            workspace = automation.LocalWorkspace(
                work_dir=str(self.environment.work_dir),
                program=inline,
                env_vars={**self._variables, "TMPDIR": str(scratch)},
                pulumi_command=self._command,
            )
            yield LeanStack(str(stack), workspace)

    def _make(self, stack: StackName) -> None:
        """Make the stack where it is not there. None is selected: that would be noted in the home folder."""
        if str(stack) in self._existing:
            return
        made = self._run("stack", "init", "--no-select", str(stack))
        if isinstance(made, engine_errors.CommandError) and not isinstance(made, engine_errors.StackAlreadyExistsError):
            raise made
        self._existing.add(str(stack))
        if isinstance(made, str):
            self._recovery.saw(stack, None)

    @journaled
    def _perform(
        self, stack: StackName, action: str, run: Callable[[Watch, bool], None], caught: list[ModelplaneError]
    ) -> Operation:
        """Run an operation, with what a killed run left settled before; a preview changes nothing, and leaves that."""
        if self._stop.requested:
            return not_begun(stack, action)
        watch = Watch(self._debug, LOOK if action == "look" else REFRESH)
        started = time.monotonic()
        error: ModelplaneError | None = None
        try:
            with self.under_way.of(stack, action, watch):
                if action in {"preview", "look"}:
                    self._make(stack)
                    run(watch, False)  # noqa: FBT003
                else:
                    self._recovery.perform(stack, self._make, lambda settled: run(watch, settled))
        except ModelplaneError as raised:
            error = raised
        except engine_errors.CommandError as raised:
            error = self._failure(stack, watch, caught, raised)
            self._recovery.gave_up(stack, watch.failed_creations)
        steps = watch.steps
        return Operation(
            stack=stack,
            action=action,
            changes=counts(steps),
            steps=steps,
            drift=tuple(watch.drift),
            failed=tuple(watch.failed),
            seconds=time.monotonic() - started,
            error=error,
            messages=tuple(watch.errors if error else watch.warnings),
        )

    def _failure(
        self, stack: StackName, watch: Watch, caught: list[ModelplaneError], error: engine_errors.CommandError
    ) -> ModelplaneError:
        """Why an operation failed; a program whose engine is gone raises what has no meaning of its own."""
        where = f"stack {stack}"
        if self._running.cancelled:
            return Cancelled("cancelled while it ran", where=where, hint=GO_ON)
        if isinstance(error, EngineKilled):
            hint = "run the same command again: it takes over the lock and settles what was begun"
            return OperationFailed(f"its engine was ended by {error.signal.name}", where=where, hint=hint)
        if caught:
            return caught[0]
        if watch.failed_releases:
            return chart_failure(watch.failed_releases, self._kubeconfigs(stack), watch.errors, where)
        return OperationFailed(watch.errors[0] if watch.errors else first_line(str(error)), where=where)

    def _kubeconfigs(self, stack: StackName) -> dict[str, str]:
        shown = self._run("stack", "export", "--show-secrets", "--stack", str(stack))
        return kubeconfigs_of(json.loads(shown)) if isinstance(shown, str) else {}


def _inline(
    context: Context,
    stack: StackName,
    caught: list[ModelplaneError],
    after: Callable[[], None] = lambda: None,
) -> Callable[[], None]:
    """The program as the engine runs it; what it raises is noted in `caught`."""

    def inline() -> None:
        try:
            registry.run(context)
        except pulumi.RunError as error:
            if isinstance(error.__cause__, ModelplaneError):
                caught.append(error.__cause__)
            raise
        except Exception as error:
            caught.append(ProgramBug(stack, error))
            raise
        after()

    return inline
