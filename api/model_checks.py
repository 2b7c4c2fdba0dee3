"""Checks of deployments and caches against the rest of the fleet."""

from collections.abc import Iterator

from api.base import Path
from api.caches import ModelCache
from api.commands import Told, told
from api.deployments import Engine, Member, ModelDeployment
from api.errors import Problem, Severity
from api.problems import suggestion
from api.selection import LabelIndex
from api.surroundings import CheckCel, Fits, Surroundings
from api.terms import LabelSelector

_SHAPE: Path = ("spec", "template", "spec")
_MAIN = "main"
"""The branch that the hub serves where none is named."""


def deployment_problems(
    deployment: ModelDeployment, around: Surroundings, check_cel: CheckCel | None, fits: Fits | None
) -> Iterator[Problem]:
    """MD-F1 to F3, MD-N9, MD-N10 and MD-X5, X6, X8 to X10."""
    if around.documents.fleet is not None or around.is_valid("Fleet"):
        yield from _replicas(deployment, around)
    bad = list(_expressions(deployment, around, check_cel)) if check_cel else []
    yield from bad
    if fits is not None and not bad and around.is_valid("InferenceCluster", "InferenceClass"):
        yield from _hardware(deployment, around, fits)
    if around.is_whole:
        yield from _cache(deployment, around)
    if around.is_valid("InferenceCluster", "ModelCache"):
        yield from _clusters(deployment, around)


def cache_problems(cache: ModelCache, around: Surroundings) -> Iterator[Problem]:
    """MC-F2 and MC-X1."""
    if not around.is_valid("InferenceCluster") or not around.clusters.all:
        return
    selected = around.clusters.selected(cache.spec.cluster_selector)
    at: Path = ("spec", "clusterSelector", "matchLabels")
    if not selected and cache.spec.cluster_selector:
        message = f"no InferenceCluster {_without(cache.spec.cluster_selector, around.clusters)}; nothing is staged"
        yield around.problem(cache, "MC-X1", at, message, _known_values(cache.spec.cluster_selector, around.clusters))
    elif selected and selected <= around.without_storage:
        shown = ", ".join(sorted(selected)[:3])
        message = f"no cluster that it selects has storage for caches: {shown}"
        hint = "name a ReadWriteMany StorageClass in spec.cluster.existing.cache of a cluster, or select others"
        yield around.problem(cache, "MC-F2", at if cache.spec.cluster_selector else ("spec",), message, hint)


def expressions(deployment: ModelDeployment) -> Iterator[tuple[Path, str]]:
    """Every CEL expression of a deployment with its path."""
    for at, _, member in members(deployment):
        for d, request in enumerate(member.node_selector.devices if member.node_selector else ()):
            for s, selector in enumerate(request.selectors):
                yield (*at, "nodeSelector", "devices", d, "selectors", s, "cel"), selector.cel


def members(deployment: ModelDeployment) -> Iterator[tuple[Path, Engine, Member]]:
    """Every member of a deployment with its path and engine."""
    for e, engine in enumerate(deployment.spec.template.spec.engines):
        for m, member in enumerate(engine.members):
            yield (*_SHAPE, "engines", e, "members", m), engine, member


def _replicas(deployment: ModelDeployment, around: Surroundings) -> Iterator[Problem]:
    """MD-X10: Fleet.spec.limits.replicas; 10 where there is no Fleet."""
    fleet = around.documents.fleet
    limit = fleet.spec.limits.replicas if fleet else 10
    if deployment.spec.replicas > limit:
        hint = "lower it, or raise spec.limits.replicas of the Fleet"
        message = f"{deployment.spec.replicas} replicas are more than the fleet's limit of {limit}"
        yield around.problem(deployment, "MD-X10", ("spec", "replicas"), message, hint)


def _expressions(deployment: ModelDeployment, around: Surroundings, check_cel: CheckCel) -> Iterator[Problem]:
    hint = 'write a boolean test of device, as in device.driver == "gpu.nvidia.com"'
    for path, expression in expressions(deployment):
        if error := check_cel(expression):
            yield around.problem(deployment, "MD-F1", path, error, hint)


def _hardware(deployment: ModelDeployment, around: Surroundings, fits: Fits) -> Iterator[Problem]:
    """MD-F2."""
    if not around.device_lists:
        return
    for index, engine in enumerate(deployment.spec.template.spec.engines):
        wanted = [member.node_selector.devices for member in engine.members if member.node_selector]
        found = [[fits(requests, devices) for requests in wanted] for devices in around.device_lists]
        matching = [claims for claims in found if all(claim is not None for claim in claims)]
        if any(any(claims) for claims in matching):
            continue
        what = "can be claimed where it matches" if matching else "is on a node of any class in use"
        message = f"nothing that engine {engine.name} asks for {what}, so it cannot be placed"
        hint = "compare its selectors and counts with spec.devices of the classes that pools name"
        yield around.problem(deployment, "MD-F2", (*_SHAPE, "engines", index), message, hint)


def _cache(deployment: ModelDeployment, around: Surroundings) -> Iterator[Problem]:
    """MD-F3 (a missing cache stops new placements, so it is said and goes on), and what engines do with a cache."""
    reference = deployment.spec.template.spec.model_cache_ref
    if reference is None:
        return
    known = around.names("ModelCache", deployment.namespace)
    if reference.name not in known:
        path: Path = (*_SHAPE, "modelCacheRef", "name")
        message = f"there is no ModelCache {deployment.namespace}/{reference.name}; no replica will be placed"
        hint = suggestion(reference.name, known) if known else "add the ModelCache to the same namespace"
        yield around.problem(deployment, "MD-F3", path, message, hint)
    cache = around.documents.caches.get((deployment.namespace, reference.name))
    for at, engine, member in members(deployment):
        if cache is not None and member.role != "Worker":
            place = (*at, "template", "spec", "containers", 0)
            yield from _served(deployment, engine, cache, place, around)


def _served(
    deployment: ModelDeployment, engine: Engine, cache: ModelCache, at: Path, around: Surroundings
) -> Iterator[Problem]:
    """MD-N10, MD-X5 and MD-X6: what the engine is told to serve, beside what is staged."""
    origin = cache.spec.hugging_face
    if origin is None:
        return
    container = next(member for member in engine.members if member.role != "Worker").template.spec.engine
    line = told(container)
    place = (*at, *line.at)
    if line.silent:
        severity = Severity.WARNING if container.command else None
        message = f"engine {engine.name} is not told which model to serve, and would not take the cache {cache.name}"
        yield around.problem(
            deployment, "MD-N10", place, message, f"add --model={origin.repo} to args", severity=severity
        )
    elif line.is_mount:
        message = f"engine {engine.name} serves the mount; that is the root of a hub cache, and works by a link only"
        yield around.problem(deployment, "MD-X5", place, message, f"name the repository: {origin.repo}")
    elif line.model is not None and not line.is_path and line.model != origin.repo:
        message = f"engine {engine.name} serves {line.model}, and the cache {cache.name} stages {origin.repo}"
        hint = f"name {origin.repo}, or another ModelCache; what is not staged is downloaded by every pod"
        yield around.problem(deployment, "MD-X6", place, message, hint)
    elif line.model is not None and not line.is_path:
        yield from _revision(deployment, engine, cache, line, (at, around))


def _revision(
    deployment: ModelDeployment, engine: Engine, cache: ModelCache, line: Told, context: tuple[Path, Surroundings]
) -> Iterator[Problem]:
    """MD-N10 (D24): weights that are staged under one revision are not found under another."""
    at, around = context
    staged = (cache.spec.hugging_face.revision if cache.spec.hugging_face else None) or _MAIN
    asked = line.revision or _MAIN
    if staged == asked or "$" in asked:
        return
    message = f"engine {engine.name} asks for revision {asked}, and the cache {cache.name} stages {staged}"
    hint = f"add --revision={staged} to args; otherwise everything is downloaded again"
    yield around.problem(deployment, "MD-N10", (*at, *line.at), message, hint, severity=Severity.WARNING)


def _clusters(deployment: ModelDeployment, around: Surroundings) -> Iterator[Problem]:
    """MD-N9, MD-X8 and MD-X9."""
    shape = deployment.spec.template.spec
    if not around.clusters.all:
        return
    selected = around.clusters.selected(shape.cluster_selector)
    if not selected and shape.cluster_selector:
        at: Path = (*_SHAPE, "clusterSelector", "matchLabels")
        message = f"no InferenceCluster {_without(shape.cluster_selector, around.clusters)}; no replica will be placed"
        hint = _known_values(shape.cluster_selector, around.clusters)
        yield around.problem(deployment, "MD-X8", at, message, hint)
        return
    reference = shape.model_cache_ref
    cache = around.documents.caches.get((deployment.namespace, reference.name)) if reference else None
    if cache is not None:
        staging = around.clusters.selected(cache.spec.cluster_selector)
        if staging and not selected & staging:
            at = (*_SHAPE, "modelCacheRef")
            message = f"no cluster is selected both by the deployment and by the cache {cache.name}"
            hint = "make the two clusterSelectors agree; replicas only go where their cache is staged"
            yield around.problem(deployment, "MD-X9", at, message, hint)
        selected &= staging
    if selected & around.dynamo:
        yield from _rank(deployment, min(selected & around.dynamo), around)


def _rank(deployment: ModelDeployment, cluster: str, around: Surroundings) -> Iterator[Problem]:
    """MD-N9."""
    for at, engine, member in members(deployment):
        container = member.template.spec.engine
        places: list[tuple[Path, str]] = [(("command", index), text) for index, text in enumerate(container.command)]
        places += [(("args", index), text) for index, text in enumerate(container.args)]
        places += [(("env", index, "value"), entry.value or "") for index, entry in enumerate(container.env)]
        for place, text in places:
            if "MODELPLANE_RANK" in text and member.role != "Standalone":
                message = f"engine {engine.name} reads MODELPLANE_RANK, which the Dynamo cluster {cluster} does not set"
                hint = "narrow clusterSelector to Standard clusters, or count with GROVE_PCLQ_POD_INDEX there"
                path = (*at, "template", "spec", "containers", 0, *place)
                yield around.problem(deployment, "MD-N9", path, message, hint)
                return


def _without(selector: LabelSelector, index: LabelIndex) -> str:
    """The labels of a selector that nothing carries, as the end of a sentence that begins with `no …`."""
    unknown = index.unknown(selector.match_labels)
    shown = ", ".join(f"{key}: {value}" for key, value in selector.match_labels.items())
    return f"has the label {unknown[0]}: {unknown[1]}" if unknown else f"has all of the labels {shown}"


def _known_values(selector: LabelSelector, index: LabelIndex) -> str:
    unknown = index.unknown(selector.match_labels)
    if unknown is None:
        return "narrow it less, or label a cluster"
    key, value, values = unknown
    if not values:
        return f"label a cluster with {key}: {value}, or remove it here"
    return f"for {key}, {suggestion(value, values[:20])}"
