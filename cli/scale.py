"""`modelplane scale`: another number of replicas, by the deployment's document."""

from typing import Annotated

import typer

from cli.options import Debug, DryRun, FleetPaths, Namespace, Output, OutputFormat, Parallel, Wait


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("scale")(scale)


def scale(
    what: Annotated[str, typer.Argument(metavar="deployment/NAME", help="The deployment.")],
    replicas: Annotated[
        int, typer.Option("--replicas", metavar="N", min=0, help="How many replicas; 0 parks it.", show_default=False)
    ],
    namespace: Namespace = None,
    fleet: FleetPaths = None,
    output: OutputFormat = Output.TABLE,
    dry_run: DryRun = False,  # noqa: FBT002 - a flag of the command line
    parallel: Parallel = 3,
    wait: Wait = None,
    debug: Debug = False,  # noqa: FBT002 - a flag of the command line
) -> None:
    """Change how many replicas a deployment has, by its document.

    The plan comes first; then the document is edited, which keeps its comments, and the fleet brought up. The exit
    code is 20 where not all find a place.

    Example: modelplane scale deployment/mock-demo --replicas 1 -f examples/local --dry-run
    """
    from cli.day_two_run import Doing, Wanted, carry_out, documented_deployment
    from stacks.day_two import scaled
    from stacks.edits import Subject, with_replicas

    key = documented_deployment(fleet, what, namespace)
    subject = Subject(kind="ModelDeployment", namespace=key[0], name=key[1])
    wanted = Wanted(
        subject=subject,
        change=lambda documents: scaled(documents, key, replicas),
        edit=lambda text: with_replicas(text, subject, replicas),
        is_so=lambda documents: documents.deployments[key].spec.replicas == replicas,
        force=True,
    )
    doing = Doing(output=output, dry_run=dry_run, parallel=parallel, wait=wait, debug=debug)
    raise typer.Exit(carry_out(fleet, wanted, doing))
