"""What a fleet's documents ask of its clusters: what is to be there before, and which rights it takes."""

from api.clusters import InferenceCluster
from api.documents import FleetDocuments
from api.fleets import FleetGateway, serving_stack_for
from components.charts import Mirrors, hub_releases, serving_releases
from components.rights import Rule, cluster_rules, hub_rules
from programs.findings import Wanted


def wanted_of(documents: FleetDocuments, cluster: InferenceCluster) -> Wanted:
    """What one serving cluster is to have."""
    settings = serving_stack_for(documents.fleet, cluster.name)
    charts = tuple(release.key for release in serving_releases(cluster.spec.stack, settings, Mirrors()))
    existing = cluster.spec.cluster.existing
    return Wanted(
        subject=cluster.name,
        pools={pool.name: pool.node_count for pool in cluster.spec.node_pools or ()},
        charts=charts,
        has_own_gateway="envoy-gateway" in charts,
        storage_class=existing.cache.storage_class_name if existing and existing.cache else None,
        identity=existing.identity_secret_ref.type if existing and existing.identity_secret_ref else "",
        rules=rules_of(documents, cluster),
        has_operator=cluster.spec.cluster.source == "Vultr",
    )


def wanted_of_hub(documents: FleetDocuments) -> Wanted:
    """What the hub is to have."""
    charts = _hub_charts(documents)
    return Wanted(
        subject="hub",
        settings="spec.gateway.charts",
        charts=charts,
        has_own_gateway="traefik" in charts and "metallb" not in charts,
        has_devices=False,
        rules=rules_of_hub(documents),
    )


def rules_of(documents: FleetDocuments, cluster: InferenceCluster) -> tuple[Rule, ...]:
    """The rights that Modelplane needs on one serving cluster."""
    settings = serving_stack_for(documents.fleet, cluster.name)
    stack = cluster.spec.stack
    charts = serving_releases(stack, settings, Mirrors())
    return cluster_rules(charts=bool(charts), definitions=settings.crds.enabled, is_dynamo=stack == "Dynamo")


def rules_of_hub(documents: FleetDocuments) -> tuple[Rule, ...]:
    """The rights that Modelplane needs on the hub."""
    traefik = documents.gateway.spec.traefik if documents.gateway else None
    return hub_rules(
        charts=bool(_hub_charts(documents)),
        definitions=_gateway(documents).crds.enabled,
        metallb=bool(traefik and traefik.load_balancer),
    )


def _hub_charts(documents: FleetDocuments) -> tuple[str, ...]:
    traefik = documents.gateway.spec.traefik if documents.gateway else None
    if traefik is None:
        return ()
    return tuple(release.key for release in hub_releases(traefik, _gateway(documents).charts, Mirrors()))


def _gateway(documents: FleetDocuments) -> FleetGateway:
    return documents.fleet.spec.gateway if documents.fleet else FleetGateway()
