"""What this release cannot do yet, said before anything is touched. Every program begins with it, and so does `up`."""

from collections.abc import Iterator

from api.documents import FleetDocuments
from api.errors import InvalidFleet, Problem
from api.fleets import Fleet, serving_stack_for

STANDARD_CHARTS = (
    "cert-manager",
    "envoy-gateway",
    "ai-gateway-crds",
    "ai-gateway",
    "prometheus",
    "leader-worker-set",
    "node-feature-discovery",
    "dra-driver",
)
"""Charts of a Standard serving stack; each has to be switched off while this release installs none."""


def refuse_unsupported(documents: FleetDocuments, fleet: Fleet) -> None:
    """Refuse documents that ask for what this release does not do.

    Raises:
        InvalidFleet: with every such place.

    """
    problems = [*_gateway(documents, fleet), *_clusters(documents, fleet)]
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
    if settings.charts.traefik.enabled:
        yield _chart(documents, fleet, "spec.gateway.charts", "traefik")
    traefik = documents.gateway.spec.traefik if documents.gateway else None
    if traefik and traefik.load_balancer and settings.charts.metallb.enabled:
        yield _chart(documents, fleet, "spec.gateway.charts", "metallb")


def _clusters(documents: FleetDocuments, fleet: Fleet) -> Iterator[Problem]:
    asked: set[str] = set()
    for name, cluster in sorted(documents.clusters.items()):
        settings = serving_stack_for(fleet, name)
        if cluster.spec.cluster.existing is None:
            yield Problem(
                code="MP162",
                file=documents.where(cluster),
                subject=cluster.subject,
                path="spec.cluster.source",
                message=f"this release cannot make a cluster on {cluster.spec.cluster.source} yet",
                hint="use source Existing with a kubeconfig",
            )
        if cluster.spec.stack != "Standard":
            yield Problem(
                code="MP163",
                file=documents.where(cluster),
                subject=cluster.subject,
                path="spec.stack",
                message=f"this release serves Standard clusters and cannot install {cluster.spec.stack} yet",
                hint="use stack Standard",
            )
        if settings.inference_pools:
            asked.add("inferencePools")
        asked |= {chart for chart in STANDARD_CHARTS if chart not in settings.charts or settings.charts[chart].enabled}
    if "inferencePools" in asked:
        yield Problem(
            code="MP164",
            file=documents.where(fleet),
            subject=fleet.subject,
            path="spec.servingStack.inferencePools",
            message="this release routes to Services and installs no InferencePools yet",
            hint="set spec.servingStack.inferencePools: false",
        )
    for chart in STANDARD_CHARTS:
        if chart in asked:
            yield _chart(documents, fleet, "spec.servingStack.charts", chart)


def _chart(documents: FleetDocuments, fleet: Fleet, path: str, chart: str) -> Problem:
    return Problem(
        code="MP165",
        file=documents.where(fleet),
        subject=fleet.subject,
        path=f"{path}.{chart}",
        message="this release installs no charts yet",
        hint=f"where the cluster has it already, write {path}.{chart}: {{enabled: false}}",
    )
