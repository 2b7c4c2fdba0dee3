"""`modelplane stacks`: the stacks of a fleet, what they hold, and how plain Pulumi brings them up in order."""

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
        bool,
        typer.Option(
            "--order", help="A shell script that brings them up with plain Pulumi; with -o json or yaml their names."
        ),
    ] = False,
) -> None:
    """List the fleet's stacks and what each holds.

    With --order, what `modelplane up` does, as a script for plain Pulumi: modelplane stacks --order | sh

    Example: modelplane stacks -f examples/local --order
    """
    from cli.env import refuse_files
    from cli.fleet import fleet_of, load_leniently, load_with_fleet, place_of
    from cli.printing import data, print_plain, table
    from stacks import state
    from stacks.environment import environment_of
    from stacks.order import script
    from stacks.plan import fleet_stacks

    place = place_of(fleet)
    if order:
        documents = load_with_fleet(place)
        name = fleet_of(documents).name
        if output is Output.TABLE:
            refuse_files(place.given)
            data(script(name, documents.clusters, [*_this_command(), "env", "-f", str(place.directory.resolve())]))
        else:
            print_plain([str(stack) for stack in fleet_stacks(name, documents.clusters)], output)
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


def _this_command() -> list[str]:
    """How a script starts this program, wherever it runs: as it was started, or by this interpreter."""
    import sys
    from pathlib import Path

    started = Path(sys.argv[0])
    if started.name == "modelplane" and started.is_file():
        return [str(started.absolute())]
    return [sys.executable, "-m", "cli"]
