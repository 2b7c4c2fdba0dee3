"""`modelplane explain`: what a field means, or why a deployment's replicas are where they are."""

from typing import Annotated

import typer

from cli.options import FleetPaths, Namespace, Observed, Output, OutputFormat

What = Annotated[
    str,
    typer.Argument(
        metavar="KIND[.FIELD...]|deployment/[NAMESPACE/]NAME",
        help="A kind or a field of it, as in modeldeployment.spec.replicas; or a deployment, for its placement.",
        show_default=False,
    ),
]


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("explain")(explain)


def explain(
    what: What,
    namespace: Namespace = None,
    why_not: Annotated[
        str | None, typer.Option("--why-not", metavar="CLUSTER", help="Why this cluster has no replica more of it.")
    ] = None,
    what_if: Annotated[
        list[str] | None,
        typer.Option(
            "--what-if",
            metavar="EDIT",
            help="Explain the fleet after an edit: 'pool eu/gpu +2', 'drop cluster us'; may be repeated.",
        ),
    ] = None,
    fleet: FleetPaths = None,
    observed: Observed = None,
    output: OutputFormat = Output.TABLE,
) -> None:
    """Say what a kind or field means, or why replicas are placed so.

    A name such as modeldeployment.spec.template shows type, limits, default and meaning of a field and of what is
    below it. A deployment, written deployment/NAME or deployment/NAMESPACE/NAME, shows its placement: why each cluster
    takes no more, and what would give it the replicas it lacks. Nothing is written and no cluster is called.

    Example: modelplane explain modeldeployment.spec.replicas
    """
    if "/" in what:
        from cli.explain_placement import Question, explain_placement

        question = Question(namespace=namespace, why_not=why_not, what_if=tuple(what_if or ()), observed=observed)
        explain_placement(what, fleet, output, question)
        return
    from api.errors import InvocationError
    from cli.explain_kind import explain_kind

    options = {"--namespace": namespace, "--why-not": why_not, "--what-if": what_if, "--observed": observed}
    for option, value in options.items():
        if value:
            raise InvocationError(f"{option} is about a deployment, and {what} is none", hint="write deployment/NAME")
    explain_kind(what, output)
