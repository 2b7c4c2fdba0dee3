"""`modelplane drift`: what is not as it was applied, without changing anything."""

from typing import Annotated

import typer

from cli.options import Debug, FleetPaths, Output, OutputFormat, Parallel

FOUND, UNREACHABLE = 23, 22


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("drift")(drift)


def drift(
    only: Annotated[list[str] | None, typer.Argument(metavar="[STACK]...", help="Look at these stacks alone.")] = None,
    fleet: FleetPaths = None,
    output: OutputFormat = Output.TABLE,
    parallel: Parallel = 3,
    debug: Debug = False,  # noqa: FBT002 - a flag of the command line
) -> None:
    """Find what others changed; nothing is written.

    Looked at are objects, those of charts, and weights of routes. Exit 23 when something is found. To set it right:
    modelplane reconcile --once --only STACK, or up.

    Example: modelplane drift -f examples/local -o json
    """
    from cli.fleet import fleet_of, load_leniently, place_of
    from cli.printing import counted, data, print_error, print_plain, say, table
    from cli.progress import Clock
    from stacks import state
    from stacks.engine import Engine
    from stacks.environment import environment_of
    from stacks.find_drift import Drifted, find
    from stacks.findings import DriftClass
    from stacks.interrupt import interruptible

    took = Clock()
    place = place_of(fleet)
    documents = load_leniently(place)
    name = fleet_of(documents).name
    environment = environment_of(place.directory)
    found = Drifted()
    if state.has_state(environment):
        engine = Engine(environment, documents, debug=say if debug else None, say=say)
        stacks = _chosen([stack for stack in engine.stacks() if stack.fleet == name], name, only or [])
        with interruptible(engine, say):
            found = find(engine, name, stacks, parallel, lambda _: None)
    if output is Output.TABLE:
        rows = [
            (each.stack, str(each.drift), f"{each.kind} {each.name}", each.what, each.manager or "-")
            for each in found.findings
        ]
        data(table(("STACK", "CLASS", "OBJECT", "WHAT", "LAST SET BY"), rows) if rows else "")
    else:
        errors = [{"code": each.error_code, "where": each.where, "message": each.message} for each in found.errors]
        shown = [each.plain() for each in found.findings]
        print_plain({"findings": shown, "stacks": list(found.looked_at), "errors": errors}, output)
    for error in found.errors:
        print_error(error)
    say(f"{name}: {counted(len(found.findings), 'difference')} in {counted(len(found.looked_at), 'stack')}, {took}")
    if found.errors:
        raise typer.Exit(max(error.exit_code for error in found.errors))
    if any(each.drift is DriftClass.UNREACHABLE for each in found.findings):
        raise typer.Exit(UNREACHABLE)
    raise typer.Exit(FOUND if found.findings else 0)


def _chosen(known: list, fleet: str, only: list[str]) -> list:  # type: ignore[type-arg]
    from api.errors import InvocationError

    wanted = {each if each.startswith(f"{fleet}.") else f"{fleet}.{each}" for each in only}
    unknown = sorted(wanted - {str(stack) for stack in known})
    if unknown:
        raise InvocationError(f"there is no stack {unknown[0]}", hint="`modelplane stacks` lists them", code="MP201")
    return sorted((stack for stack in known if not wanted or str(stack) in wanted), key=str)
