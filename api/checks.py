"""What only several documents together can tell: references, limits of the fleet, settings for nothing.

A reference is checked only against documents that were all read: a class in a file with a syntax error is not missing.
"""

from collections.abc import Callable, Iterator

from api.base import API_VERSION, Kind, Path
from api.clusters import InferenceCluster, NodePool
from api.codes import Code
from api.deployments import ModelDeployment
from api.documents import FleetDocuments, Identity, Key
from api.errors import Problem, Severity
from api.fleets import Fleet
from api.names import SYSTEM_NAMESPACE
from api.problems import Describer, suggestion
from api.routing import COMPOSED_LABELS
from api.terms import LabelSelector

CheckCel = Callable[[str], str | None]
"""Says what is wrong with an expression; None where it compiles."""
Describe = Callable[[Kind], Describer]


def check(
    documents: FleetDocuments,
    describe: Describe,
    declared: set[Identity] | None,
    check_cel: CheckCel | None,
) -> Iterator[Problem]:
    """Find every problem between documents.

    `declared` holds the identities of all documents, also of invalid ones; None where some could not even be told, and
    then no reference is checked.
    """
    for document in documents.all():
        describer = describe(document)
        yield from _common(document, describer)
        if isinstance(document, InferenceCluster) and declared is not None:
            yield from _classes(document, documents, describer, declared)
            yield from _cache_storage(document, documents, describer)
        if isinstance(document, ModelDeployment):
            if documents.fleet is not None or not _unread("Fleet", declared):
                yield from _replicas(document, documents.fleet, describer)
            yield from _cache(document, describer, declared)
            yield from _expressions(document, describer, check_cel)
    for endpoint in documents.endpoints.values():
        for label in COMPOSED_LABELS:
            if label in endpoint.metadata.labels:
                hint = "take a label of your own; this one marks endpoints that Modelplane makes"
                path: Path = ("metadata", "labels", label)
                yield describe(endpoint).problem(Code.BROKEN_RULE, path, "reserved for composed endpoints", hint)
    if declared is not None:
        yield from _missing_keys(documents, describe, declared)
        if documents.fleet is not None:
            yield from _fleet(documents.fleet, documents, describe(documents.fleet), declared)


def _unread(kind: str, declared: set[Identity] | None) -> bool:
    """Whether a document of a kind without valid ones may exist all the same."""
    return declared is None or any(identity[0] == kind for identity in declared)


def _common(document: Kind, describer: Describer) -> Iterator[Problem]:
    if document.metadata.namespace and not document.namespaced and document.api_version == API_VERSION:
        message = f"{document.kind} belongs to no namespace"
        path: Path = ("metadata", "namespace")
        yield describer.problem(Code.UNUSED_SETTING, path, message, "remove it", Severity.WARNING)


def _classes(
    cluster: InferenceCluster, documents: FleetDocuments, describer: Describer, declared: set[Identity]
) -> Iterator[Problem]:
    """IC-F1, IC-F2 and IC-N8."""
    for index, pool in enumerate(cluster.spec.node_pools or ()):
        path: Path = ("spec", "nodePools", index, "className")
        known = {name for kind, _, name in declared if kind == "InferenceClass"}
        if pool.class_name not in known:
            hint = suggestion(pool.class_name, known) if known else "add a document of kind InferenceClass"
            message = f"there is no InferenceClass {pool.class_name}"
            yield describer.problem(Code.MISSING_CLASS, path, message, hint)
        elif pool.class_name in documents.classes:
            yield from _recipe(cluster, pool, documents, describer, path)


def _recipe(
    cluster: InferenceCluster, pool: NodePool, documents: FleetDocuments, describer: Describer, path: Path
) -> Iterator[Problem]:
    source = cluster.spec.cluster.source
    recipe = documents.classes[pool.class_name].spec.provisioning
    if source == "Existing" or (recipe is not None and recipe.provider == source):
        return
    what = f"is a {recipe.provider} recipe" if recipe else f"has no {source} recipe"
    hint = f"name a class whose provisioning.provider is {source}"
    yield describer.problem(Code.UNFIT_CLASS, path, f"class {pool.class_name} {what}", hint)


def _cache_storage(cluster: InferenceCluster, documents: FleetDocuments, describer: Describer) -> Iterator[Problem]:
    """IC-N13, where a cache would stage on this cluster."""
    existing = cluster.spec.cluster.existing
    if existing is None or (existing.cache and existing.cache.storage_class_name):
        return
    labels = cluster.metadata.labels
    wanting = [cache.name for cache in documents.caches.values() if _selects(cache.spec.cluster_selector, labels)]
    if wanting:
        message = f"no cache.storageClassName, so no model cache can stage here; {wanting[0]} would"
        hint = "name a ReadWriteMany StorageClass of the cluster, or narrow the cache's clusterSelector"
        path: Path = ("spec", "cluster", "existing")
        yield describer.problem(Code.CAUTION, path, message, hint, Severity.WARNING)


def _selects(selector: LabelSelector | None, labels: dict[str, str]) -> bool:
    return selector is None or selector.match_labels.items() <= labels.items()


def _replicas(deployment: ModelDeployment, fleet: Fleet | None, describer: Describer) -> Iterator[Problem]:
    """Fleet.spec.limits.replicas; 10 where there is no Fleet."""
    limit = fleet.spec.limits.replicas if fleet else 10
    if deployment.spec.replicas > limit:
        hint = "lower it, or raise spec.limits.replicas of the Fleet"
        message = f"{deployment.spec.replicas} replicas are more than the fleet's limit of {limit}"
        yield describer.problem(Code.OUT_OF_RANGE, ("spec", "replicas"), message, hint)


def _cache(deployment: ModelDeployment, describer: Describer, declared: set[Identity] | None) -> Iterator[Problem]:
    """MD-F3: a missing cache stops new placements, so it is said and goes on."""
    reference = deployment.spec.template.spec.model_cache_ref
    if reference is None or declared is None:
        return
    known = {name for kind, place, name in declared if (kind, place) == ("ModelCache", deployment.namespace)}
    if reference.name not in known:
        path: Path = ("spec", "template", "spec", "modelCacheRef", "name")
        message = f"there is no ModelCache {deployment.namespace}/{reference.name}; no replica will be placed"
        hint = suggestion(reference.name, known) if known else "add the ModelCache to the same namespace"
        yield describer.problem(Code.MISSING_CACHE, path, message, hint, Severity.WARNING)


def _expressions(deployment: ModelDeployment, describer: Describer, check_cel: CheckCel | None) -> Iterator[Problem]:
    """MD-F1."""
    if check_cel is None:
        return
    hint = 'write a boolean test of device, as in device.driver == "gpu.nvidia.com"'
    for path, expression in expressions(deployment):
        if error := check_cel(expression):
            yield describer.problem(Code.BAD_CEL, path, error, hint)


def expressions(deployment: ModelDeployment) -> Iterator[tuple[Path, str]]:
    """Every CEL expression of a deployment with its path."""
    for e, engine in enumerate(deployment.spec.template.spec.engines):
        for m, member in enumerate(engine.members):
            for d, request in enumerate(member.node_selector.devices if member.node_selector else ()):
                at = ("spec", "template", "spec", "engines", e, "members", m, "nodeSelector", "devices", d, "selectors")
                for s, selector in enumerate(request.selectors):
                    yield (*at, s, "cel"), selector.cel


def _missing_keys(documents: FleetDocuments, describe: Describe, declared: set[Identity]) -> Iterator[Problem]:
    """Keys of Secrets that neither a Secret document nor Fleet.spec.secrets brings."""
    if documents.fleet is None and _unread("Fleet", declared):
        return
    brought: dict[Key, set[str]] = {key: set(secret.values()) for key, secret in documents.secrets.items()}
    for source in documents.fleet.spec.secrets if documents.fleet else ():
        brought.setdefault((source.namespace, source.name), set()).update(source.keys)
    for document, path, (namespace, name), key in _wanted_keys(documents):
        invalid = ("Secret", namespace, name) in declared and (namespace, name) not in documents.secrets
        keys = brought.get((namespace, name), set())
        if key in keys or invalid:
            continue
        what = f"Secret {namespace}/{name} has no key {key}" if keys else f"no Secret {namespace}/{name}"
        hint = "bring it with Fleet.spec.secrets, or with a Secret document for local use"
        message = f"{what} among the documents and Fleet.spec.secrets"
        yield describe(document).problem(Code.MISSING_KEY, path, message, hint, Severity.WARNING)


def _wanted_keys(documents: FleetDocuments) -> Iterator[tuple[Kind, Path, Key, str]]:
    for cluster in documents.clusters.values():
        if existing := cluster.spec.cluster.existing:
            at: Path = ("spec", "cluster", "existing")
            yield cluster, (*at, "secretRef"), (SYSTEM_NAMESPACE, existing.secret_ref.name), existing.secret_ref.key
            if identity_ref := existing.identity_secret_ref:
                place = (*at, "identitySecretRef")
                yield cluster, place, (SYSTEM_NAMESPACE, identity_ref.name), identity_ref.key
    for cache in documents.caches.values():
        if cache.spec.hugging_face and (auth := cache.spec.hugging_face.auth_secret):
            yield cache, ("spec", "huggingFace", "authSecret"), (cache.namespace, auth.name), auth.key
    if documents.fleet and (hub := documents.fleet.spec.gateway.kubeconfig_secret_ref):
        yield documents.fleet, ("spec", "gateway", "kubeconfigSecretRef"), (SYSTEM_NAMESPACE, hub.name), hub.key


def _fleet(fleet: Fleet, documents: FleetDocuments, describer: Describer, declared: set[Identity]) -> Iterator[Problem]:
    clusters = {name for kind, _, name in declared if kind == "InferenceCluster"}
    for name in fleet.spec.clusters:
        if name not in clusters:
            message = f"there is no InferenceCluster {name}"
            path: Path = ("spec", "clusters", name)
            hint = suggestion(name, clusters) if clusters else "remove it"
            yield describer.problem(Code.UNUSED_SETTING, path, message, hint, Severity.WARNING)
    hub = fleet.spec.gateway.kubeconfig_secret_ref
    for cluster in documents.clusters.values():
        existing = cluster.spec.cluster.existing
        if hub and existing and (existing.secret_ref.name, existing.secret_ref.key) == (hub.name, hub.key):
            message = f"the hub is the serving cluster {cluster.name}"
            hint = "name another cluster: both would install Gateway API CRDs and fight over them"
            yield describer.problem(Code.BROKEN_RULE, ("spec", "gateway", "kubeconfigSecretRef"), message, hint)
