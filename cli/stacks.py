"""`modelplane stacks`: the stacks of a fleet, what they hold, and the order in which they come up."""

from typing import Annotated

import typer

from cli.options import FleetPaths, Output, OutputFormat


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("stacks")(stacks)


def stacks(
    fleet: FleetPaths = None,
    output: OutputFormat = Output.TABLE,
    order: Annotated[  # noqa: FBT002 - a flag of the command line
        bool, typer.Option("--order", help="Only the names, in the order in which they come up, one a line.")
    ] = False,
) -> None:
    """List the fleet's stacks and what each holds.

    Example: modelplane stacks -f examples/local --order
    """
    from cli.fleet import fleet_of, load_leniently, load_with_fleet, place_of
    from cli.printing import data, print_plain, table
    from stacks import state
    from stacks.environment import environment_of
    from stacks.plan import fleet_stacks

    place = place_of(fleet)
    if order:
        documents = load_with_fleet(place)
        names = [str(stack) for stack in fleet_stacks(fleet_of(documents).name, documents.clusters)]
        if output is Output.TABLE:
            data("\n".join(names))
        else:
            print_plain(names, output)
        return
    documents = load_leniently(place)
    name = fleet_of(documents).name
    environment = environment_of(place.directory)
    held = {}
    if state.has_state(environment):
        from stacks.engine import Engine

        held = state.held(Engine(environment, documents), name)
    wanted = fleet_stacks(name, documents.clusters)
    known = [*wanted, *(stack for stack in held if stack not in wanted)]
    if output is Output.TABLE:
        data(table(("STACK", "RESOURCES"), ((str(stack), str(held.get(stack, "-"))) for stack in known)))
    else:
        rows = [{"name": str(stack), "exists": stack in held, "resources": held.get(stack, 0)} for stack in known]
        print_plain(rows, output)
