"""`modelplane graph`: the fleet as a page to open, or as text for other tools."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from cli.options import FleetPaths


class GraphFormat(StrEnum):
    """How the graph is written."""

    HTML = "html"
    DOT = "dot"
    MERMAID = "mermaid"
    JSON = "json"


Planned = Annotated[bool, typer.Option("--plan", help="Mark the replicas that the next up would add and take away.")]


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("graph")(graph)


def graph(
    fleet: FleetPaths = None,
    output: Annotated[
        GraphFormat, typer.Option("--output", "-o", help="html is one page without anything beside it.")
    ] = GraphFormat.HTML,
    planned: Planned = False,  # noqa: FBT002 - a flag of the command line
    file: Annotated[
        Path | None, typer.Option("--file", metavar="FILE", help="Write it there.", show_default="standard output")
    ] = None,
) -> None:
    """Draw the fleet, from the gateway to pools and their devices.

    Drawn from what the last `up` left; no cluster is asked. The page needs no network and holds no secret. Click a
    thing, or reach it with Tab and Enter, to see why it is there. A terminal is given no page: say --file, or -o.

    Example: modelplane graph -f examples/local -o mermaid
    """
    from api.errors import InvocationError
    from cli import graph_texts
    from cli.fleet import fleet_of, load_documents, place_of
    from cli.graph_page import page
    from cli.observed import refuse_among_documents, write
    from cli.printing import data, print_error, say
    from scheduler import schedule
    from stacks import state
    from stacks.environment import environment_of
    from stacks.graph import graph_of
    from stacks.observation import observe

    if file is not None:
        refuse_among_documents(fleet, file)
    elif output is GraphFormat.HTML and sys.stdout.isatty():
        hint = "modelplane graph --file fleet.html, or another format: -o mermaid"
        raise InvocationError("a page is nothing for a terminal", hint=hint)
    place = place_of(fleet)
    documents = load_documents(place)
    name = fleet_of(documents).name
    environment = environment_of(place.directory)
    objects, problems = state.shown(environment, documents, name)
    plan = schedule(observe(documents, environment).snapshot) if planned else None
    drawn = graph_of(name, objects, plan)
    writers = {
        GraphFormat.HTML: page,
        GraphFormat.DOT: graph_texts.dot,
        GraphFormat.MERMAID: graph_texts.mermaid,
        GraphFormat.JSON: graph_texts.as_json,
    }
    text = writers[output](drawn)
    if file is None:
        data(text.rstrip("\n"))
    else:
        write(text, file)
        say(f"{file}: {len(drawn.nodes)} things, {len(drawn.edges)} ways")
    if not drawn.nodes:
        say("nothing is up: the graph is empty\nhint: `modelplane up` brings it up")
    for problem in problems:
        print_error(problem)
    if problems:
        raise typer.Exit(problems[0].exit_code)
