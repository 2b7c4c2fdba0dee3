"""`modelplane explain`: what a field means, or why a deployment's replicas are where they are."""

from typing import Annotated

import typer

from cli.options import FleetPaths, Output, OutputFormat

What = Annotated[
    str,
    typer.Argument(
        metavar="KIND[.FIELD...]|deployment/NAME",
        help="A kind or a field of it, as in modeldeployment.spec.replicas; or a deployment, for its placement.",
        show_default=False,
    ),
]


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("explain")(explain)


def explain(what: What, fleet: FleetPaths = None, output: OutputFormat = Output.TABLE) -> None:
    """Say what a kind or a field of it means, or why replicas are where they are.

    A name such as modeldeployment.spec.template shows type, limits, default and meaning of a field and of what is
    below it. A deployment, written deployment/NAME, shows its placement.

    Example: modelplane explain modeldeployment.spec.replicas
    """
    if "/" in what:
        from cli.explain_placement import explain_placement

        explain_placement(what, fleet, output)
        return
    from cli.explain_kind import explain_kind

    explain_kind(what, output)
