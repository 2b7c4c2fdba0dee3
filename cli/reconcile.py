"""`modelplane reconcile`: bring the fleet up again and again, as long as it runs."""

from pathlib import Path
from typing import Annotated

import typer

from cli.options import (
    ChangedOnly,
    Debug,
    FleetPaths,
    IgnoreUnknown,
    Labels,
    Output,
    OutputFormat,
    Parallel,
    duration,
)


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("reconcile")(reconcile)


def reconcile(
    fleet: FleetPaths = None,
    ignore_unknown: IgnoreUnknown = False,  # noqa: FBT002 - a flag of the command line
    output: OutputFormat = Output.TABLE,
    parallel: Parallel = 3,
    interval: Annotated[
        float,
        typer.Option(
            "--interval",
            metavar="DURATION",
            parser=duration,
            help="How often to look by the clock for what no event told of.",
            show_default="60s",
        ),
    ] = 60.0,
    drift_interval: Annotated[
        float,
        typer.Option(
            "--drift-interval",
            metavar="DURATION",
            parser=duration,
            help="How old a stack's last look at its live objects may get before it is brought up again.",
            show_default="10m",
        ),
    ] = 600.0,
    once: Annotated[  # noqa: FBT002 - a flag of the command line
        bool, typer.Option("--once", help="End when nothing more is to be done, with the exit code of `up`.")
    ] = False,
    changed_only: ChangedOnly = False,  # noqa: FBT002 - a flag of the command line
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="STACK", help="Bring up this stack alone; may be repeated.")
    ] = None,
    shard: Annotated[
        str | None,
        typer.Option(
            "--shard", metavar="I/N", help="Bring up the I-th of N parts of the clusters; the first has the rest, too."
        ),
    ] = None,
    labels: Labels = None,
    metrics_listen: Annotated[
        str | None,
        typer.Option("--metrics-listen", metavar="[HOST]:PORT", help="Serve metrics for Prometheus at /metrics."),
    ] = None,
    ready_file: Annotated[
        Path | None,
        typer.Option("--ready-file", metavar="FILE", help="A file that is there once the fleet has been brought up."),
    ] = None,
    debug: Debug = False,  # noqa: FBT002 - a flag of the command line
) -> None:
    """Keep the fleet as its documents say, until stopped.

    Takes up edits of the documents, takes sick replicas out of their URLs and back in, brings back what others
    changed. Where nothing is to be done no engine is started. The first Ctrl-C or SIGTERM finishes what runs.

    Example: modelplane reconcile -f examples/local --once
    """
    from api.label_queries import label_query
    from cli.fleet import fleet_of, load_checked, place_of
    from cli.printing import print_problems, say
    from cli.reconcile_run import keep
    from stacks.loop.agenda import Limits
    from stacks.loop.run import LoopOptions

    place = place_of(fleet, ignore_unknown=ignore_unknown)
    documents = load_checked(place)
    print_problems(documents.warnings)
    name = fleet_of(documents).name
    stacks = frozenset(each if each.startswith(f"{name}.") else f"{name}.{each}" for each in only or ())
    limits = Limits(parallel=parallel, drift_interval=drift_interval, only=stacks, shard=_shard(shard))
    options = LoopOptions(
        limits=limits,
        interval=interval,
        once=once,
        go_on=(changed_only or not once) and not only,
        labels=label_query(labels) if labels is not None else None,
    )
    told = say if debug else None
    code = keep(place, documents, options, output=output, listen=metrics_listen, ready_file=ready_file, debug=told)
    raise typer.Exit(code)


def _shard(text: str | None) -> tuple[int, int]:
    from api.errors import InvocationError

    if text is None:
        return (1, 1)
    part, _, parts = text.partition("/")
    if not (part.isdigit() and parts.isdigit() and 1 <= int(part) <= int(parts)):
        raise InvocationError(f"{text} is no part of a fleet", hint="write --shard 2/3 for the second of three")
    return (int(part), int(parts))
