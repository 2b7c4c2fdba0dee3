"""`modelplane rbac`: the role that a kubeconfig's user needs, for an administrator of a cluster to apply."""

from typing import Annotated

import typer

from cli.options import FleetPaths

HUB = "hub"


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("rbac")(rbac)


def rbac(
    clusters: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[CLUSTER|hub]...", help="Whose role to print.", show_default="all clusters and the hub"
        ),
    ] = None,
    fleet: FleetPaths = None,
) -> None:
    """Print the least it must be allowed on a cluster, a ClusterRole.

    It follows from the documents: charts can only be installed by somebody who may do everything, so a cluster that
    brings its charts along asks for far less. Bind it to the user of the kubeconfig, on that cluster.

    Example: modelplane rbac hub -f examples/local
    """
    import sys

    from api.errors import InvocationError
    from cli.fleet import load_with_fleet, place_of
    from cli.printing import data, write_yaml
    from components.rights import role
    from programs.requirements import rules_of, rules_of_hub

    documents = load_with_fleet(place_of(fleet))
    known = {name: rules_of(documents, found) for name, found in sorted(documents.clusters.items())}
    known[HUB] = rules_of_hub(documents)
    for name in clusters or known:
        if name not in known:
            hint = f"one of {', '.join(known)}"
            raise InvocationError(f"no cluster is called {name}", hint=hint, code="MP201")
    name_of_fleet = documents.fleet.name if documents.fleet else ""
    for name in clusters or known:
        data(f"---\n# on {name}")
        write_yaml(role(f"modelplane-{name_of_fleet}", known[name]), sys.stdout)
