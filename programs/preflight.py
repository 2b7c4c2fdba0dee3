"""What this release cannot do yet, said before anything is touched. Every program begins with it, and so does `up`."""

from collections.abc import Iterator

from api.documents import FleetDocuments
from api.errors import InvalidFleet, Problem
from api.fleets import Fleet
from components import clouds


def refuse_unsupported(documents: FleetDocuments, fleet: Fleet) -> None:
    """Refuse documents that ask for what this release does not do.

    Raises:
        InvalidFleet: with every such place.

    """
    problems = [*_gateway(documents, fleet), *_clusters(documents)]
    if problems:
        raise InvalidFleet(problems)


def _gateway(documents: FleetDocuments, fleet: Fleet) -> Iterator[Problem]:
    settings = fleet.spec.gateway
    if documents.gateway is None:
        yield Problem(
            code="MP160",
            file=str(documents.directory),
            message="the documents hold no InferenceGateway",
            hint="add one called default; taking the front door away is `modelplane destroy`",
        )
    if settings.kubeconfig_secret_ref is None:
        yield Problem(
            code="MP161",
            file=documents.where(fleet),
            subject=fleet.subject,
            path="spec.gateway.kubeconfigSecretRef",
            message="the fleet does not say where its gateway runs",
            hint="name the Secret with the hub's kubeconfig",
        )


def _clusters(documents: FleetDocuments) -> Iterator[Problem]:
    for _, cluster in sorted(documents.clusters.items()):
        if cluster.spec.cluster.existing is None and not clouds.is_known(cluster.spec.cluster.source):
            yield Problem(
                code="MP162",
                file=documents.where(cluster),
                subject=cluster.subject,
                path="spec.cluster.source",
                message=f"this release cannot make a cluster on {cluster.spec.cluster.source} yet",
                hint="use source Existing with a kubeconfig",
            )
