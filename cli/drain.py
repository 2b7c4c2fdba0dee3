"""`modelplane drain` and `undrain`: empty a cluster by its document, and give it back."""

from typing import Annotated

import typer

from cli.options import Debug, DryRun, FleetPaths, Output, OutputFormat, Parallel, Wait

Cluster = Annotated[str, typer.Argument(metavar="CLUSTER", help="Name of the cluster.")]


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("drain")(drain)
    app.command("undrain")(undrain)


def drain(
    cluster: Cluster,
    fleet: FleetPaths = None,
    output: OutputFormat = Output.TABLE,
    force: Annotated[  # noqa: FBT002 - a flag of the command line
        bool, typer.Option("--force", help="Empty it even where replicas find no other place; they end.")
    ] = False,
    dry_run: DryRun = False,  # noqa: FBT002 - a flag of the command line
    parallel: Parallel = 3,
    wait: Wait = None,
    debug: Debug = False,  # noqa: FBT002 - a flag of the command line
) -> None:
    """Move everything off a cluster, by a taint in its document.

    The plan comes first; then the document is edited and the fleet brought up. Where something would find no place
    nothing is written, and the exit code is 20. Replicas with room elsewhere are there before those here go. The
    document keeps its comments.

    Example: modelplane drain gpu-us-east -f examples/local --dry-run
    """
    from cli.day_two_run import Doing, Wanted, carry_out
    from stacks.day_two import DRAIN, drained, is_drained
    from stacks.edits import Subject, with_taint

    wanted = Wanted(
        subject=Subject(kind="InferenceCluster", name=cluster),
        change=lambda documents: drained(documents, cluster),
        edit=lambda text: with_taint(text, Subject(kind="InferenceCluster", name=cluster), DRAIN),
        is_so=lambda documents: is_drained(documents, cluster),
        emptied=cluster,
        force=force,
    )
    doing = Doing(output=output, dry_run=dry_run, parallel=parallel, wait=wait, debug=debug)
    raise typer.Exit(carry_out(fleet, wanted, doing))


def undrain(
    cluster: Cluster,
    fleet: FleetPaths = None,
    output: OutputFormat = Output.TABLE,
    dry_run: DryRun = False,  # noqa: FBT002 - a flag of the command line
    parallel: Parallel = 3,
    wait: Wait = None,
    debug: Debug = False,  # noqa: FBT002 - a flag of the command line
) -> None:
    """Let a drained cluster take replicas; nothing moves by itself.

    What found no place while it was drained finds one now.

    Example: modelplane undrain gpu-us-east -f examples/local --dry-run
    """
    from cli.day_two_run import Doing, Wanted, carry_out
    from stacks.day_two import DRAIN, is_drained, undrained
    from stacks.edits import Subject, without_taint

    wanted = Wanted(
        subject=Subject(kind="InferenceCluster", name=cluster),
        change=lambda documents: undrained(documents, cluster),
        edit=lambda text: without_taint(text, Subject(kind="InferenceCluster", name=cluster), DRAIN.key),
        is_so=lambda documents: not is_drained(documents, cluster),
    )
    doing = Doing(output=output, dry_run=dry_run, parallel=parallel, wait=wait, debug=debug)
    raise typer.Exit(carry_out(fleet, wanted, doing))
