"""`modelplane plan`: where replicas would be, without touching anything."""

from pathlib import Path
from typing import Annotated

import typer

from cli.options import FleetPaths, Observed, Output, OutputFormat

MOST_FIXES = 20
"""For how many deployments a plan looks for a fix; `explain` does for any."""


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("plan")(plan)


def plan(
    fleet: FleetPaths = None,
    observed: Observed = None,
    save_observed: Annotated[
        Path | None,
        typer.Option("--save-observed", metavar="FILE", help="Keep what is planned from, for a replay elsewhere."),
    ] = None,
    output: OutputFormat = Output.TABLE,
) -> None:
    """Show where replicas would be, and what would make room.

    Decided from the documents and from what the last `up` left; no engine runs, no cluster is called and nothing is
    written. Exit 20 when something finds no place.

    Example: modelplane plan -f examples/local
    """
    from cli import observed as given
    from cli import placement_words as words
    from cli.costs import cost_table
    from cli.printing import counted, data, print_plain, say, table
    from scheduler import schedule
    from scheduler.fixes import cheapest_fix

    if save_observed is not None and observed is None:
        given.refuse_among_documents(fleet, save_observed)
    observation = given.observed_fleet(fleet, observed)
    if save_observed is not None:
        given.save_observed(observation, save_observed)
    snapshot = observation.snapshot
    decided = schedule(snapshot)
    wanted = {(each.namespace, each.name) for each in snapshot.deployments}
    short = [key for key, each in decided.deployments.items() if len(each.placements) < each.wanted]
    fixes = {key: cheapest_fix(snapshot, key, decided) for key in [key for key in short if key in wanted][:MOST_FIXES]}
    if output is Output.TABLE:
        rows = [row for each in decided.deployments.values() for row in words.replica_rows(each)]
        parts = [table(words.REPLICA_HEAD, rows)] if rows else []
        parts.append(table(words.DEPLOYMENT_HEAD, words.deployment_rows(decided, fixes)))
        data("\n".join([*parts, *cost_table(observation.costs)]))
    else:
        shown = words.plan_plain(decided, fixes, observation.assumed)
        print_plain({**shown, "cost": observation.costs.plain()}, output)
    given.say_assumed(observation)
    placed = sum(len(each.placements) for each in decided.deployments.values())
    missing = sum(max(0, each.wanted - len(each.placements)) for each in decided.deployments.values())
    say(f"{counted(placed, 'replica')} placed" + (f", {missing} without a place" if missing else ""))
    if short:
        raise typer.Exit(20)
