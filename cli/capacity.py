"""`modelplane capacity`: how many more replicas fit, and which losses of clusters leave whom short."""

from typing import Annotated

import typer

from cli.options import FleetPaths, Namespace, Observed, Output, OutputFormat


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("capacity")(capacity)


def capacity(
    deployment: Annotated[
        str | None,
        typer.Argument(
            metavar="[deployment/[NAMESPACE/]NAME]",
            help="A deployment, for its room on each cluster.",
            show_default=False,
        ),
    ] = None,
    namespace: Namespace = None,
    survive: Annotated[
        int | None,
        typer.Option(
            "--survive", metavar="N", min=1, help="Which losses of up to N clusters leave whom short; then exit 20."
        ),
    ] = None,
    fleet: FleetPaths = None,
    observed: Observed = None,
    output: OutputFormat = Output.TABLE,
) -> None:
    """Show how many more replicas fit.

    Each deployment is looked at alone, after all that is wanted has its place. With --survive, what is left when
    clusters are lost with all that runs on them, for every way to lose up to so many.

    Example: modelplane capacity -f examples/local --survive 1
    """
    from cli import observed as given
    from cli import placement_words as words
    from cli.explain_placement import deployment_named
    from cli.printing import data, print_plain, table
    from scheduler import schedule
    from scheduler.headroom import headroom
    from scheduler.headroom import survive as try_losses

    observation = given.observed_fleet(fleet, observed)
    snapshot = observation.snapshot
    key = deployment_named(snapshot, deployment, namespace) if deployment else None
    given.say_assumed(observation)
    if survive is not None:
        survival = try_losses(snapshot, survive)
        hurting = [loss for loss in survival.hurting if key is None or key in {each.key for each in loss.short}]
        if output is not Output.TABLE:
            print_plain(words.survival_plain(survival), output)
        elif hurting:
            rows = [row for row in words.loss_rows(survival) if key is None or row[1] == words.named(key)]
            data(table(words.LOSS_HEAD, rows))
        else:
            ways = "1 loss" if survival.checked == 1 else f"{survival.checked} losses"
            data(f"ok: the loss of {survive} leaves nobody short ({ways} tried)")
        raise typer.Exit(20 if hurting else 0)
    plan = schedule(snapshot)
    keys = [key] if key else sorted((each.namespace, each.name) for each in snapshot.deployments)
    rooms = [headroom(snapshot, each, plan) for each in keys]
    if output is not Output.TABLE:
        print_plain(
            {"kind": "Capacity", "version": 1, "deployments": [words.headroom_plain(each) for each in rooms]}, output
        )
    elif key:
        data(table(words.CLUSTER_HEAD, words.cluster_rows(rooms[0], plan.deployments[key])))
    else:
        data(table(words.CAPACITY_HEAD, words.capacity_rows(rooms)))
