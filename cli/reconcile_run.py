"""What `modelplane reconcile` sets up around the loop: documents to load again, eyes, lines of output, signals."""

from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path

from prometheus_client import CollectorRegistry

from api.documents import FleetDocuments
from api.errors import InvalidFleet, InvocationError, ModelplaneError
from cli.fleet import Place, fleet_of, load_checked
from cli.options import Output
from cli.printing import data, print_error, print_plain, print_problems, say
from cli.progress import Clock, operation_line
from cli.summary import closing, print_failures, summary
from programs.outputs import ClusterOutputs, PlacementOutputs, RoutingOutputs, WorkloadsOutputs
from stacks.engine import Engine
from stacks.environment import environment_of
from stacks.interrupt import interruptible
from stacks.loop.directory import Directory
from stacks.loop.eyes import Eyes
from stacks.loop.metrics import FleetCollector, Ran, serve
from stacks.loop.run import Loop, LoopOptions, Told
from stacks.operation import Operation, ProgramBug
from stacks.plan import fleet_stacks
from stacks.report import Report


def keep(
    place: Place,
    documents: FleetDocuments,
    options: LoopOptions,
    *,
    output: Output,
    listen: str | None = None,
    ready_file: Path | None = None,
    debug: Callable[[str], None] | None = None,
) -> int:
    """Run the loop; the exit code: 0 when it was stopped, that of `up` with `--once`.

    Raises:
        InvocationError: `--only` names no stack of the fleet, or the address to listen at cannot be used.

    """
    fleet = fleet_of(documents)
    _refuse_unknown(options, [str(stack) for stack in fleet_stacks(fleet.name, documents.clusters)])
    engine = Engine(environment_of(place.directory), documents, debug=debug, say=say)
    took = Clock()
    with ExitStack() as ends:
        ends.enter_context(interruptible(engine, say))
        lines = _Lines(len(fleet.name) + 32, ready_file)
        loop: Loop | None = None

        def wake() -> None:
            if loop is not None:
                loop.wake()

        eyes = Eyes(fleet.name, wake)
        ends.callback(eyes.close)
        registry = CollectorRegistry()
        ran = Ran(registry)

        def operated(operation: Operation) -> None:
            ran.operation(operation)
            lines.operation(operation)

        told = Told(operation=operated, note=say, trouble=lines.trouble, settled=lines.settled)
        loop = Loop(documents, engine, options, eyes, told)
        if listen is not None:
            registry.register(FleetCollector(loop, ran))
            serve(registry, listen)
        if not options.once:
            loop.directory = Directory(place.directory, lambda: load_checked(place), documents, wake)
            loop.directory.start()
            ends.callback(loop.directory.close)
        ends.callback(lines.close)
        loop.run()
    report = report_of(loop, stopped=engine.stop.requested)
    if not options.once:
        say(f"{fleet.name}: stopped, {took}")
        return 0
    if output is Output.TABLE:
        data(summary(report))
    else:
        print_plain(report.plain(), output)
    print_failures(report)
    say(closing(report, fleet.name, took))
    return report.exit_code


def report_of(loop: Loop, *, stopped: bool) -> Report:
    """What the loop came to, in the form of a pass: the last operation on each stack."""
    view = loop.view
    workloads = view.by_cluster(WorkloadsOutputs, "workloads")
    starting = [key for found in workloads.values() for key, state in found.replicas.items() if state.ready is False]
    return Report(
        operations=list(loop.last.values()),
        placement=view.get(PlacementOutputs, "placement"),
        routing=view.get(RoutingOutputs, "routing"),
        clusters=view.by_cluster(ClusterOutputs, "cluster"),
        workloads=workloads,
        starting=sorted(starting),
        failures=[loop.trouble] if loop.trouble else [],
        not_done=[] if stopped else None,
    )


class _Lines:
    """What is printed, and the file that tells of readiness."""

    def __init__(self, width: int, ready_file: Path | None) -> None:
        self._width = width
        self._ready_file = ready_file
        self._told: dict[str, tuple[str, ...]] = {}

    def operation(self, operation: Operation) -> None:
        """Print the line of an operation; an error or warnings that its last one had, too, are not told again."""
        say(operation_line(operation, self._width))
        for found in operation.drift:
            say(f"  {operation.stack}: {found.kind} {found.name}: {found}")
        stack = str(operation.stack)
        texts = (str(operation.error),) if operation.error is not None else operation.messages
        if self._told.get(stack) != texts and operation.error is not None:
            self.trouble(operation.error)
        elif self._told.get(stack) != texts:
            for warning in texts:
                say(f"warning: {stack}: {warning}")
        self._told[stack] = texts

    def trouble(self, error: ModelplaneError) -> None:
        """Print an error."""
        if isinstance(error, InvalidFleet):
            print_problems(error.problems)
            return
        print_error(error)
        if isinstance(error, ProgramBug):
            say(error.trace)

    def settled(self) -> None:
        """Leave the file that tells that the fleet has been brought up."""
        if self._ready_file is not None and not self._ready_file.exists():
            with suppress(OSError):
                self._ready_file.touch()

    def close(self) -> None:
        """Take that file away."""
        if self._ready_file is not None:
            self._ready_file.unlink(missing_ok=True)


def _refuse_unknown(options: LoopOptions, known: list[str]) -> None:
    unknown = sorted(options.limits.only - set(known))
    if unknown:
        raise InvocationError(f"there is no stack {unknown[0]}", hint=f"one of {', '.join(known)}")
