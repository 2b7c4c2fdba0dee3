"""`modelplane status`: the fleet as its stacks last exported it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer

from cli.get import InNamespace, Labels, SortBy, Watch
from cli.options import FleetPaths, Output, OutputFormat

if TYPE_CHECKING:
    from api.errors import ModelplaneError
    from cli.fleet import Place


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("status")(status)


def status(
    fleet: FleetPaths = None,
    namespace: InNamespace = None,
    selector: Labels = None,
    sort_by: SortBy = None,
    output: OutputFormat = Output.TABLE,
    watch: Watch = False,  # noqa: FBT002 - a flag of the command line
) -> None:
    """Show the fleet as its last `up` left it.

    Deployments, replicas, services and clusters come from the stacks' outputs; no cluster is asked. JSON and YAML
    show whole objects with their conditions.

    Example: modelplane status -f examples/local -o yaml
    """
    from cli.fleet import place_of
    from cli.printing import data
    from cli.watching import changes, follow
    from stacks.environment import environment_of

    place = place_of(fleet)
    asked = Asked(namespace=namespace, selector=selector, sort_by=sort_by)
    if watch:
        follow(changes(environment_of(place.directory)), lambda: _once(place, asked, output)[0])
        return
    text, problems = _once(place, asked, output)
    data(text)
    if problems:
        raise typer.Exit(problems[0].exit_code)


@dataclass(frozen=True, kw_only=True)
class Asked:
    """Which objects are shown, and in which order."""

    namespace: str | None
    selector: str | None
    sort_by: str | None


def _once(place: "Place", asked: Asked, output: Output) -> "tuple[str, list[ModelplaneError]]":
    """What is shown, and why some stacks cannot be read."""
    from datetime import UTC, datetime

    from api.label_queries import LabelQuery, label_query
    from cli.fleet import fleet_of, load_leniently
    from cli.printing import as_plain, print_error, say
    from cli.tables import status_tables
    from stacks import state
    from stacks.environment import environment_of
    from stacks.query import is_inside, sorted_by

    labels = label_query(asked.selector) if asked.selector else LabelQuery()
    documents = load_leniently(place)
    name = fleet_of(documents).name
    found, problems = state.shown(environment_of(place.directory), documents, name)
    shown = [
        each
        for each in found
        if is_inside(each, asked.namespace) and labels.matches(each["metadata"].get("labels") or {})
    ]
    if asked.sort_by:
        shown = sorted_by(shown, asked.sort_by)
    if output is not Output.TABLE:
        text = as_plain({"apiVersion": "v1", "kind": "List", "items": shown}, output)
    else:
        text = status_tables(shown, datetime.now(UTC))
        if not shown:
            nothing = "nothing is up\nhint: `modelplane up` brings it up"
            say(f"{name}: {'nothing is such' if found else nothing}")
    for problem in problems:
        print_error(problem)
    return text, problems
