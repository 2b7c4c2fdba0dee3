"""`modelplane local`: a fleet on this machine, with real API servers and gateways, and without a GPU."""

import os
import time
from typing import TYPE_CHECKING, Annotated

import typer

from cli.options import FleetPaths, Output, OutputFormat

if TYPE_CHECKING:
    from collections.abc import Sequence

    from local.fleet import PartStatus

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Run a fleet's Existing clusters and its hub on this machine.",
)


def _seconds(text: str) -> float:
    from api.grammar import DURATION, is_match, seconds

    if not text or not is_match(DURATION, text):
        raise typer.BadParameter("write a duration such as 90s or 5m")
    return float(seconds(text))


Wait = Annotated[
    float | None,
    typer.Option(
        "--wait",
        metavar="DURATION",
        parser=_seconds,
        help="How long to wait until every part answers.",
        show_default="3m",
    ),
]
DiscardState = Annotated[
    bool, typer.Option("--discard-state", help="Forget what the stacks hold on these clusters, too.")
]
Cluster = Annotated[str, typer.Argument(metavar="CLUSTER", help="The cluster that kubectl talks to.")]
Traffic = Annotated[bool, typer.Option("--traffic", help="Inside the private network of gateways and engines.")]
Command = Annotated[str, typer.Option("--command", "-c", help="Run this instead of an interactive shell.")]


@app.command()
def up(fleet: FleetPaths = None, wait: Wait = None) -> None:
    """Start what is missing of the local fleet.

    Example: modelplane local up -f examples/local
    """
    from cli.fleet import load_documents, place_of
    from cli.printing import say
    from local import fleet as local_fleet
    from local.plan import make_plan

    began = time.monotonic()
    plan = make_plan(load_documents(place_of(fleet)))
    parts = local_fleet.up(plan, progress=say, wait=wait or local_fleet.START_SECONDS)
    seconds = time.monotonic() - began
    say(f"{len(parts)} parts run, the hub answers at {plan.url} ({seconds:.1f} s)")


@app.command()
def status(fleet: FleetPaths = None, output: OutputFormat = Output.TABLE) -> None:
    """Show every part of the local fleet; exit 1 when one is dead.

    Example: modelplane local status -o json
    """
    from dataclasses import asdict

    from cli.fleet import place_of
    from cli.printing import data, print_plain, say
    from local import fleet as local_fleet

    parts = local_fleet.status(place_of(fleet).directory)
    if output is not Output.TABLE:
        print_plain([asdict(part) for part in parts], output)
    elif parts:
        data(_table(parts))
    if not parts:
        say("no local fleet is up\nhint: `modelplane local up` starts it")
    dead = [f"{part.cluster}/{part.part}" for part in parts if part.state != "running"]
    if dead:
        say(f"dead: {', '.join(dead)}\nhint: `modelplane local up` starts what is missing")
        raise typer.Exit(1)


@app.command()
def down(fleet: FleetPaths = None, discard_state: DiscardState = False) -> None:  # noqa: FBT002  a flag
    """End the local fleet and remove everything of it.

    Refused while stacks of the fleet hold resources on it: `modelplane destroy` first, or give up their state too.

    Example: modelplane local down
    """
    from cli.fleet import place_of
    from cli.printing import say
    from local import fleet as local_fleet
    from stacks.environment import environment_of
    from stacks.state import discard, has_state, held_resources

    directory = place_of(fleet).directory
    looks = local_fleet.exists(directory) and not discard_state
    held = held_resources(directory) if looks else {}
    ended = local_fleet.down(directory, held=held, discard_state=discard_state, progress=say)
    if discard_state and has_state(environment_of(directory)):
        discard(directory)
        say("forgotten: the fleet's stacks, and what they held")
    say("the local fleet is gone" if ended else "no local fleet is up")


@app.command()
def shell(
    cluster: Cluster = "hub",
    fleet: FleetPaths = None,
    traffic: Traffic = False,  # noqa: FBT002  a flag
    command: Command = "",
) -> None:
    """Open a shell where kubectl talks to one of its clusters.

    Example: modelplane local shell gpu-us-east -c "kubectl get pods -A"
    """
    from cli.fleet import place_of
    from local import shell as local_shell

    directory = place_of(fleet).directory
    variables = local_shell.environment(directory, cluster)
    if traffic:
        local_shell.enter_traffic(directory)
    argv = local_shell.command(variables, command)
    os.execvpe(argv[0], argv, variables)  # noqa: S606  the user asked for a shell


def _table(parts: "Sequence[PartStatus]") -> str:
    from cli.printing import table

    rows = [(part.cluster, part.part, part.state, str(part.pid or "-"), part.address) for part in parts]
    return table(("CLUSTER", "PART", "STATE", "PID", "ADDRESS"), rows)
