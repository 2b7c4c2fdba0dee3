"""The Automation API behind a small face: up, destroy and outputs of one stack at a time, from any thread.

A program's own error reaches the caller as it was raised; what the engine or a provider reports comes back as messages
of the operation. Secrets in outputs are returned in clear to the caller and are never part of a message.
"""

import json
import os
import re
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pulumi
from pulumi import automation
from pulumi.automation import errors as engine_errors
from pulumi.automation.events import EngineEvent

import programs
from api.documents import FleetDocuments
from api.errors import LockHeld, MissingTool, ModelplaneError, UnreadableStack
from api.names import StackName, parse_stack_name
from programs.planned import Captured, capture
from programs.reading import whole_numbers
from stacks.changes import CHANGES, Step, counts, net, step_of
from stacks.environment import BACKEND, PROJECT, Environment
from tools.locate import ToolMissing, locate

STACK_TYPE = "pulumi:pulumi:Stack"
_COLOR = re.compile(r"<\{%[^%]*%\}>|\x1b\[[0-9;]*m")

_PASSED_OVER = ("pulumi-resource-kubernetes from $PATH", "resource plugin kubernetes is expected to have version")
"""What the engine says of a provider that was built rather than fetched."""


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One finished operation on one stack."""

    stack: StackName
    action: str
    changes: Mapping[str, int] = field(default_factory=dict)
    """How many resources were created, updated, replaced, deleted and left; each counts once."""
    steps: tuple[Step, ...] = ()
    """The same, resource by resource."""
    seconds: float = 0.0
    error: ModelplaneError | None = None
    messages: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the operation succeeded."""
        return self.error is None

    @property
    def changed(self) -> int:
        """Resources created, updated, replaced or deleted; the stack's own entry does not count."""
        return sum(count for kind, count in self.changes.items() if kind in CHANGES)


class OperationFailed(ModelplaneError):
    """The engine or a provider could not finish an operation."""

    code = "MP340"


class ProgramBug(ModelplaneError):
    """A program of this release raised what no reader can fix; `trace` is its traceback."""

    exit_code = 255
    code = "MP399"

    def __init__(self, stack: StackName, error: Exception) -> None:
        super().__init__(
            f"{type(error).__name__}: {error}", where=f"stack {stack}", hint="this is a bug, please report it"
        )
        self.trace = "".join(traceback.format_exception(error))


class Engine:
    """Runs the programs of one fleet against its backend."""

    def __init__(
        self, environment: Environment, documents: FleetDocuments, *, debug: Callable[[str], None] | None = None
    ) -> None:
        self.environment = environment
        self.documents = documents
        self.permissions = programs.Permissions()
        self._debug = debug
        self._variables = {**environment.variables, **plugin_variables()}
        self._command = _pulumi_command()
        self._existing: set[str] = set()

    def up(self, stack: StackName, *, refresh: bool, continue_on_error: bool = False) -> Operation:
        """Bring one stack up; the stack is made when it does not exist."""
        caught: list[ModelplaneError] = []
        watch = _Watch(self._debug)
        started = time.monotonic()
        context = programs.Context(
            documents=self.documents, kind=stack.kind, cluster=stack.cluster, permissions=self.permissions
        )
        try:
            with self._stack(stack, _inline(context, stack, caught)) as found:
                found.up(
                    on_event=watch,
                    refresh=refresh or None,
                    continue_on_error=continue_on_error or None,
                    suppress_outputs=True,
                    suppress_progress=True,
                    color="never",
                    show_secrets=False,
                    debug=self._debug is not None,
                )
        except engine_errors.CommandError as error:
            return self._failed(stack, "up", started, watch, caught, error)
        return _done(stack, "up", started, watch)

    def preview(self, stack: StackName, context: programs.Context, take: Callable[[Captured], None]) -> Operation:
        """Preview one stack with a context of the caller's; `take` is given its planned outputs.

        The stack is made when it does not exist: who wants none to be left previews in a backend of its own.
        """
        caught: list[ModelplaneError] = []
        program = _inline(context, stack, caught, lambda: capture(take))
        return self._previewed(stack, program, caught)

    def preview_destroy(self, stack: StackName) -> Operation:
        """Preview that a stack which exists loses all it holds."""
        return self._previewed(stack, lambda: None, [])

    def _previewed(self, stack: StackName, program: Callable[[], None], caught: list[ModelplaneError]) -> Operation:
        watch = _Watch(self._debug)
        started = time.monotonic()
        try:
            with self._stack(stack, program) as found:
                found.preview(
                    on_event=watch,
                    suppress_outputs=True,
                    suppress_progress=True,
                    color="never",
                    debug=self._debug is not None,
                )
        except engine_errors.CommandError as error:
            return self._failed(stack, "preview", started, watch, caught, error)
        return _done(stack, "preview", started, watch)

    def destroy(self, stack: StackName) -> Operation:
        """Destroy what one stack holds and remove the stack; without its documents."""
        watch = _Watch(self._debug)
        started = time.monotonic()
        try:
            with self._stack(stack, lambda: None) as found:
                found.destroy(
                    on_event=watch, suppress_outputs=True, suppress_progress=True, color="never", show_secrets=False
                )
                found.workspace.remove_stack(str(stack))
            self._existing.discard(str(stack))
        except engine_errors.CommandError as error:
            return self._failed(stack, "destroy", started, watch, [], error)
        return _done(stack, "destroy", started, watch)

    def forget(self, stack: StackName) -> None:
        """Remove a stack from the state without calling what it holds.

        Raises:
            OperationFailed: the backend refuses.

        """
        result = self._run("stack", "rm", "--force", "--yes", "--stack", str(stack))
        if not isinstance(result, str):
            raise OperationFailed(first_line(str(result)), where=f"stack {stack}")
        self._existing.discard(str(stack))

    def outputs(self, stack: StackName | str) -> dict[str, Any] | None:
        """Outputs of the last update with secrets in clear, None when the stack does not exist or exports nothing.

        Raises:
            UnreadableStack: the stack exists and cannot be read.

        """
        result = self._run("stack", "output", "--json", "--show-secrets", "--stack", str(stack))
        if isinstance(result, str):
            return whole_numbers(json.loads(result)) or None
        if "no stack named" in str(result) or "unknown stack" in str(result):
            return None
        raise UnreadableStack(f"the outputs of stack {stack} cannot be read: {first_line(str(result))}")

    def stacks(self) -> dict[StackName, int]:
        """Stacks of this project in the backend, with the number of resources each holds.

        Raises:
            UnreadableStack: the backend cannot be read.

        """
        result = self._run("stack", "ls", "--json", "--project", PROJECT)
        if not isinstance(result, str):
            raise UnreadableStack(
                f"the backend {self._variables[BACKEND]} cannot be read: {first_line(str(result))}",
                hint=f"check {BACKEND} and its credentials",
            )
        found: dict[StackName, int] = {}
        for entry in json.loads(result):
            try:
                name = parse_stack_name(entry["name"])
            except ValueError:
                continue
            found[name] = entry.get("resourceCount") or 0
            self._existing.add(str(name))
        return found

    def _run(self, *arguments: str) -> str | engine_errors.CommandError:
        self._prepare()
        try:
            result = self._command.run(list(arguments), str(self.environment.work_dir), self._variables)
        except engine_errors.CommandError as error:
            return error
        return str(result.stdout)

    def _prepare(self) -> None:
        self.environment.prepare()
        project = self.environment.work_dir / "Pulumi.yaml"
        if not project.exists():
            project.write_text(f"name: {PROJECT}\nruntime: python\n")

    @contextmanager
    def _stack(self, stack: StackName, inline: Callable[[], None]) -> Iterator[automation.Stack]:
        """The stack with a temporary folder of its own: the Kubernetes provider leaves kubeconfigs in it, in clear."""
        self._prepare()
        with self.environment.scratch() as scratch:
            workspace = automation.LocalWorkspace(
                work_dir=str(self.environment.work_dir),
                program=inline,
                env_vars={**self._variables, "TMPDIR": str(scratch)},
                pulumi_command=self._command,
            )
            self._make(stack)
            yield _LeanStack(str(stack), workspace)

    def _make(self, stack: StackName) -> None:
        """Make the stack where it is not there. None is selected: that would be noted in the home folder."""
        if str(stack) in self._existing:
            return
        made = self._run("stack", "init", "--no-select", str(stack))
        if isinstance(made, engine_errors.CommandError) and not isinstance(made, engine_errors.StackAlreadyExistsError):
            raise made
        self._existing.add(str(stack))

    def _failed(
        self,
        stack: StackName,
        action: str,
        started: float,
        watch: "_Watch",
        caught: list[ModelplaneError],
        error: engine_errors.CommandError,
    ) -> Operation:
        known: ModelplaneError
        if caught:
            known = caught[0]
        elif isinstance(error, engine_errors.ConcurrentUpdateError):
            known = LockHeld(f"stack {stack} is locked by another run", hint="wait for it, or see `pulumi cancel`")
        else:
            text = watch.errors[0] if watch.errors else first_line(str(error))
            known = OperationFailed(text, where=f"stack {stack}")
        return replace(_done(stack, action, started, watch), error=known, messages=tuple(watch.errors))


class _LeanStack(automation.Stack):
    """An existing stack; its operations neither select it nor read outputs after: four starts of the CLI saved."""

    def __init__(self, name: str, workspace: automation.Workspace) -> None:
        self.name = name
        self.workspace = workspace

    def outputs(self) -> automation.OutputMap:
        """Nothing: the caller reads outputs when it needs them."""
        return {}

    def info(self, show_secrets: bool | None = None) -> automation.UpdateSummary:  # noqa: ARG002, FBT001
        """An empty summary: the caller has watched the operation's events."""
        return automation.UpdateSummary(
            kind="update", start_time=datetime.now(UTC), message="", environment={}, config={}, result="succeeded"
        )


class _Watch:
    """Collects steps and messages out of the engine's events."""

    def __init__(self, debug: Callable[[str], None] | None) -> None:
        self._steps: list[Step] = []
        self.errors: list[str] = []
        self.warnings: list[str] = []
        self._debug = debug

    @property
    def steps(self) -> tuple[Step, ...]:
        """What happened to resources so far, each once."""
        return net(self._steps)

    def __call__(self, event: EngineEvent) -> None:
        """Take one event."""
        if event.res_outputs_event is not None:
            told = event.res_outputs_event.metadata
            operation = str(getattr(told.op, "value", told.op))
            step = step_of(told.urn, told.type, operation, told.detailed_diff or ())
            self._steps += [step] if step else []
        diagnostic = event.diagnostic_event
        if diagnostic is None:
            return
        text = clean(diagnostic.message)
        if not text or any(part in text for part in _PASSED_OVER):
            return
        if self._debug:
            self._debug(f"{diagnostic.severity}: {text}")
        if diagnostic.severity == "error":
            self.errors.append(_with_subject(diagnostic.urn, text))
        elif diagnostic.severity == "warning":
            self.warnings.append(text)


def _inline(
    context: programs.Context,
    stack: StackName,
    caught: list[ModelplaneError],
    after: Callable[[], None] = lambda: None,
) -> Callable[[], None]:
    """The program as the engine runs it; what it raises is noted in `caught`."""

    def inline() -> None:
        try:
            programs.run(context)
        except pulumi.RunError as error:
            if isinstance(error.__cause__, ModelplaneError):
                caught.append(error.__cause__)
            raise
        except Exception as error:
            caught.append(ProgramBug(stack, error))
            raise
        after()

    return inline


def _done(stack: StackName, action: str, started: float, watch: _Watch) -> Operation:
    return Operation(
        stack=stack,
        action=action,
        changes=counts(watch.steps),
        steps=watch.steps,
        seconds=time.monotonic() - started,
        messages=tuple(watch.warnings),
    )


def plugin_variables() -> dict[str, str]:
    """Variables that let the engine find the Kubernetes provider where it is, and fetch nothing else."""
    try:
        folder = locate("pulumi-resource-kubernetes").parent
    except ToolMissing:
        return {}  # the official CLI fetches its own
    return {
        "PATH": f"{folder}{os.pathsep}{os.environ.get('PATH', '')}",
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
    }


def clean(text: str) -> str:
    """A message without colour codes and surrounding space."""
    return _COLOR.sub("", text).strip()


def first_line(text: str) -> str:
    """The first line of an engine's message that says something: its own error line when there is one."""
    lines = [line.strip() for line in clean(text).splitlines() if line.strip()]
    return next((line for line in lines if "error:" in line), lines[-1] if lines else "no message")


def _with_subject(urn: str | None, text: str) -> str:
    subject = urn.rpartition("::")[2] if urn else ""
    return f"{subject}: {text}" if subject and f"::{STACK_TYPE}::" not in (urn or "") else text


def _pulumi_command() -> automation.PulumiCommand:
    try:
        path = locate("pulumi")
    except ToolMissing as error:
        raise MissingTool(error.message, hint=error.hint) from None
    root = Path(path).parent.parent
    return automation.PulumiCommand(root=str(root), skip_version_check=False)
