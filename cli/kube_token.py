"""`modelplane kube-token`: what kubeconfigs of clusters on clouds run to get a token that lasts minutes."""

from typing import Annotated

import typer


def add_to(app: typer.Typer) -> None:
    """Add the command; people rarely run it."""
    app.command("kube-token", hidden=True)(kube_token)


def kube_token(
    cloud: Annotated[str, typer.Argument(help="eks, gke or nebius.")],
    cluster: Annotated[str | None, typer.Option(help="Name of the EKS cluster.")] = None,
    region: Annotated[str | None, typer.Option(help="Region of the EKS cluster.")] = None,
    profile: Annotated[str | None, typer.Option(help="Profile in the cloud's own configuration files.")] = None,
    env: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=OURS", help="Variable of the cloud's tools, and ours that holds it."),
    ] = None,
) -> None:
    """Print a credential for a cluster's API server, as kubectl and the Kubernetes provider ask for it.

    Example: modelplane kube-token eks --cluster modelplane-system-us-eks-8fea8 --region us-east-1
    """
    from cli.printing import data
    from components.cloud_tokens import exec_credential, token

    data(exec_credential(token(cloud, cluster=cluster, region=region, profile=profile, variables=env or ())))
