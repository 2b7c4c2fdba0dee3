"""What only several documents together can tell: references, settings for nothing.

Rules of deployments, caches, services and of keys that are named are in modules beside this one; all of them are
called from `check`.
"""

from collections.abc import Collection, Iterator

from api.aws import efa_cards
from api.base import API_VERSION, Kind, Path
from api.caches import ModelCache
from api.clusters import InferenceCluster, NodePool
from api.deployments import ModelDeployment
from api.documents import FleetDocuments, Identity
from api.errors import Problem
from api.fleets import Fleet
from api.key_checks import missing_keys
from api.model_checks import cache_problems, deployment_problems
from api.problems import suggestion
from api.recipes import EKSRecipe
from api.routing import ModelEndpoint, ModelService
from api.routing_checks import Backends, endpoint_problems, service_problems
from api.surroundings import CheckCel, Describe, Fits, Surroundings


def check(
    documents: FleetDocuments,
    describe: Describe,
    declared: set[Identity] | None,
    check_cel: CheckCel | None,
    fits: Fits | None = None,
    doubled: Collection[str] = (),
) -> Iterator[Problem]:
    """Find every problem between documents.

    `declared` holds the identities of all documents, also of invalid ones; None where some could not even be told, and
    then no reference is checked. `fits` tries device requests on the devices of a class (MD-F2). Of the `doubled` kinds
    one document is there twice, and it is not known which of the two is meant.
    """
    around = Surroundings(documents, describe, declared, doubled)
    backends = Backends(around)
    for document in documents.all():
        yield from _common(document, around)
        if isinstance(document, InferenceCluster) and around.is_whole:
            yield from _classes(document, around)
            yield from _cache_storage(document, around)
            yield from _credentials(document, around)
        if isinstance(document, ModelDeployment):
            yield from deployment_problems(document, around, check_cel, fits)
        if isinstance(document, ModelCache):
            yield from cache_problems(document, around)
        if isinstance(document, ModelService):
            yield from service_problems(document, backends, around)
        if isinstance(document, ModelEndpoint):
            yield from endpoint_problems(document, around)
        if isinstance(document, Fleet) and around.is_whole:
            yield from _fleet(document, around)
    if around.is_whole:
        yield from missing_keys(around)


def _common(document: Kind, around: Surroundings) -> Iterator[Problem]:
    if document.metadata.namespace and not document.namespaced and document.api_version == API_VERSION:
        message = f"{document.kind} belongs to no namespace"
        yield around.problem(document, "META-X2", ("metadata", "namespace"), message, "remove it")


def _classes(cluster: InferenceCluster, around: Surroundings) -> Iterator[Problem]:
    """IC-F1, IC-F2 and IC-N8."""
    known = around.names("InferenceClass")
    for index, pool in enumerate(cluster.spec.node_pools or ()):
        path: Path = ("spec", "nodePools", index, "className")
        if pool.class_name not in known:
            hint = suggestion(pool.class_name, known) if known else "add a document of kind InferenceClass"
            message = f"there is no InferenceClass {pool.class_name}"
            yield around.problem(cluster, "IC-F1", path, message, hint)
        elif pool.class_name in around.documents.classes:
            yield from _recipe(cluster, pool, path, around)
            yield from _efa(cluster, pool, index, around)


def _recipe(cluster: InferenceCluster, pool: NodePool, path: Path, around: Surroundings) -> Iterator[Problem]:
    source = cluster.spec.cluster.source
    recipe = around.documents.classes[pool.class_name].spec.provisioning
    if source == "Existing" or (recipe is not None and recipe.provider == source):
        return
    rule, what = ("IC-N8", f"is a recipe for {recipe.provider}") if recipe else ("IC-F2", f"has no {source} recipe")
    hint = f"name a class whose provisioning.provider is {source}"
    yield around.problem(cluster, rule, path, f"class {pool.class_name} {what}", hint)


def _efa(cluster: InferenceCluster, pool: NodePool, index: int, around: Surroundings) -> Iterator[Problem]:
    """IC-N6, for the machines of a class: AWS would refuse the network cards, and that late."""
    recipe = around.documents.classes[pool.class_name].spec.provisioning
    wants = pool.fabric is not None and pool.fabric.type == "EFA"
    if wants and isinstance(recipe, EKSRecipe) and efa_cards(recipe.eks.instance_type) is None:
        message = f"EFA is not available on EKS with {recipe.eks.instance_type}, the machine of class {pool.class_name}"
        hint = "take an instance type with EFA, such as p5.48xlarge, or remove the fabric"
        yield around.problem(cluster, "IC-N6", ("spec", "nodePools", index, "fabric", "type"), message, hint)


def _cache_storage(cluster: InferenceCluster, around: Surroundings) -> Iterator[Problem]:
    """IC-N13, where a cache would stage on this cluster."""
    if cluster.spec.cluster.existing is None or cluster.name not in around.without_storage:
        return
    wanting = around.staging.get(cluster.name)
    if wanting is not None:
        message = f"no cache.storageClassName, so no model cache can stage here; {wanting} would"
        hint = "name a ReadWriteMany StorageClass of the cluster, or narrow the cache's clusterSelector"
        yield around.problem(cluster, "IC-N13", ("spec", "cluster", "existing"), message, hint)


def _credentials(cluster: InferenceCluster, around: Surroundings) -> Iterator[Problem]:
    """IC-X2; `default` needs no entry, since a cloud's own tools find what they find."""
    source = cluster.spec.cluster
    if source.cloud is None or source.credentials == "default" or not around.is_valid("Fleet"):
        return
    fleet = around.documents.fleet
    known = set(fleet.spec.credentials) if fleet else set()
    known |= {config.name for config in around.documents.provider_configs.values()}
    if source.credentials not in known:
        message = f"no credentials {source.credentials} in Fleet.spec.credentials"
        hint = (
            suggestion(source.credentials, known)
            if known
            else f"add spec.credentials.{source.credentials} to the Fleet"
        )
        path: Path = ("spec", "cluster", source.source.lower(), "credentials", "name")
        yield around.problem(cluster, "IC-X2", path, message, hint)


def _fleet(fleet: Fleet, around: Surroundings) -> Iterator[Problem]:
    """FL-X7, FL-X8 and FL-X11."""
    clusters = around.names("InferenceCluster")
    for name, settings in fleet.spec.clusters.items():
        at: Path = ("spec", "clusters", name)
        if name not in clusters:
            hint = suggestion(name, clusters) if clusters else "remove it"
            yield around.problem(fleet, "FL-X8", at, f"there is no InferenceCluster {name}", hint)
            continue
        found = around.documents.clusters.get(name)
        if settings.control_plane == "Component" and found is not None and found.spec.cluster.source != "EKS":
            message = f"no component makes a control plane on {found.spec.cluster.source}"
            yield around.problem(fleet, "FL-X11", (*at, "controlPlane"), message, "remove it")
    hub = fleet.spec.gateway.kubeconfig_secret_ref
    for cluster in around.documents.clusters.values():
        existing = cluster.spec.cluster.existing
        if hub and existing and (existing.secret_ref.name, existing.secret_ref.key) == (hub.name, hub.key):
            message = f"the hub is the serving cluster {cluster.name}"
            hint = "name another cluster: both would install Gateway API CRDs and fight over them"
            yield around.problem(fleet, "FL-X7", ("spec", "gateway", "kubeconfigSecretRef"), message, hint)
