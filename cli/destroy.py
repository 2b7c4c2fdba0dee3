"""`modelplane destroy`: take the whole fleet down, the URLs first and the clusters last."""

from typing import TYPE_CHECKING, Annotated

import typer

from cli.options import Debug, FleetPaths, IgnoreUnknown, Output, OutputFormat, Parallel, Yes

if TYPE_CHECKING:
    from api.names import StackName


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("destroy")(destroy)


def destroy(
    fleet: FleetPaths = None,
    ignore_unknown: IgnoreUnknown = False,  # noqa: FBT002 - a flag of the command line
    output: OutputFormat = Output.TABLE,
    yes: Yes = False,  # noqa: FBT002 - a flag of the command line
    parallel: Parallel = 3,
    forget: Annotated[
        list[str] | None,
        typer.Option("--forget", metavar="CLUSTER", help="Drop an unreachable cluster's stacks without calling it."),
    ] = None,
    debug: Debug = False,  # noqa: FBT002 - a flag of the command line
) -> None:
    """Remove what the fleet's stacks hold, and the stacks.

    Documents, and clusters that existed before, stay. Where documents are broken the name of the Fleet is enough.

    Example: modelplane destroy -f examples/local --yes
    """
    from cli.asking import refuse_silence
    from cli.fleet import fleet_of, load_leniently, place_of
    from cli.printing import print_plain, say
    from cli.progress import Clock, Progress
    from cli.summary import closing, print_failures
    from stacks import state, teardown
    from stacks.engine import Engine
    from stacks.environment import environment_of
    from stacks.interrupt import interruptible
    from stacks.lock import pass_lock
    from stacks.report import Report

    took = Clock()
    refuse_silence("destroy", yes=yes)
    place = place_of(fleet, ignore_unknown=ignore_unknown)
    documents = load_leniently(place)
    name = fleet_of(documents).name
    environment = environment_of(place.directory)
    report = Report()
    if state.has_state(environment):
        engine = Engine(environment, documents, debug=say if debug else None, say=say)
        with pass_lock(environment.folder, say):
            held = state.held(engine.environment, name)
            if held and not yes:
                _ask(name, held)
            shown = Progress(f"{name}: destroy", map(str, held), engine.under_way.now)
            with shown as progress, interruptible(engine, progress.on_note):
                done = teardown.destroy(engine, name, parallel, progress.on_operation, progress.on_note, forget or ())
        finished = {str(operation.stack) for operation in done if operation.ok}
        left = [str(stack) for stack in held if str(stack) not in finished]
        report = Report(operations=done, not_done=left if engine.stop.requested else None)
    if output is not Output.TABLE:
        print_plain(report.plain(), output)
    if not report.operations:
        say(f"{name}: nothing to destroy, there is no stack")
        return
    print_failures(report)
    say(closing(report, name, took))
    raise typer.Exit(report.exit_code)


def _ask(fleet: str, held: "dict[StackName, int]") -> None:
    from cli.asking import ask
    from cli.printing import counted, say, table

    say(table(("STACK", "RESOURCES"), ((str(stack), str(count)) for stack, count in held.items())))
    total = counted(sum(held.values()), "resource")
    ask(f"Destroy {fleet}: {counted(len(held), 'stack')} with {total}?", "nothing was destroyed")
