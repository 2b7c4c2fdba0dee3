"""`modelplane status`: the fleet as its stacks last exported it."""

import typer

from cli.options import FleetPaths, Output, OutputFormat


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("status")(status)


def status(fleet: FleetPaths = None, output: OutputFormat = Output.TABLE) -> None:
    """Show the fleet as its last `up` left it.

    Deployments, replicas, services and clusters come from the stacks' outputs; no cluster is asked. JSON and YAML
    show whole objects with their conditions.

    Example: modelplane status -f examples/local -o yaml
    """
    from datetime import UTC, datetime

    from cli.fleet import fleet_of, load_leniently, place_of
    from cli.printing import data, print_error, print_plain, say
    from cli.tables import status_tables
    from stacks import state
    from stacks.environment import environment_of

    place = place_of(fleet)
    documents = load_leniently(place)
    name = fleet_of(documents).name
    shown, problems = state.shown(environment_of(place.directory), documents, name)
    if output is not Output.TABLE:
        print_plain({"apiVersion": "v1", "kind": "List", "items": shown}, output)
    elif shown:
        data(status_tables(shown, datetime.now(UTC)))
    else:
        say(f"{name}: nothing is up\nhint: `modelplane up` brings it up")
    for problem in problems:
        print_error(problem)
    if problems:
        raise typer.Exit(problems[0].exit_code)
