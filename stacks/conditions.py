"""Conditions of every kind, as pure functions of outputs and documents (api contract, sections 3 to 10).

Those of deployments and services are exported with their times by the stacks that decide them; the others are told here
from what their stacks export. Which reasons there are is `api.status.CONDITIONS`.
"""

from collections.abc import Collection, Mapping, Sequence

from api.base import Condition
from api.caches import ModelCache
from api.deployments import ModelDeployment
from api.status import CacheOnCluster
from programs.outputs import (
    UNKNOWN,
    ClusterOutputs,
    GatewayOutputs,
    LedgerReplica,
    ReplicaState,
    ServingOutputs,
    Unknown,
)
from stacks.promises import broken_promises

Flag = Unknown | bool


def gateway_conditions(gateway: GatewayOutputs) -> list[Condition]:
    """ControllerReady and Ready, with the times that the stack exported, and what was found of the hub's fitness."""
    ready = condition("ControllerReady", gateway.ready, reason=("ControllerHealthy", "Installing"))
    before = {earlier.type: earlier for earlier in gateway.conditions}.get(ready.type)
    if before is not None and before.status == ready.status:
        ready = ready.model_copy(update={"last_transition_time": before.last_transition_time})
    own = [ready, together([ready])]
    return [*own, *(each for each in gateway.conditions if each.type not in {found.type for found in own})]


def class_conditions() -> list[Condition]:
    """Accepted and Ready: a class is data, and one that loads is good."""
    accepted = condition("Accepted", status=True, reason="Available")
    return [accepted, together([accepted])]


def cluster_conditions(
    cluster: ClusterOutputs | None, serving: ServingOutputs | None, missing_classes: Sequence[str] = ()
) -> list[Condition]:
    """ClusterReady, BackendReady and Ready, and what was found of its fitness; without outputs it is to be made yet."""
    if missing_classes:
        text = f"there is no InferenceClass {', '.join(missing_classes)}"
        running = condition("ClusterReady", status=False, reason="WaitingForClasses", message=text)
    elif cluster is None:
        running = condition("ClusterReady", status=False, reason="Provisioning", message="its stack has not run yet")
    elif cluster.reachable and (waits := _unfinished(cluster)):
        running = condition("ClusterReady", status=False, reason="Provisioning", message=waits)
    elif cluster.reachable:
        running = condition("ClusterReady", status=True, reason="ClusterRunning")
    else:
        reason, _, text = cluster.reason.partition(":")
        since = cluster.unreachable_since or ""
        running = condition(
            "ClusterReady", UNKNOWN, reason=reason.strip() or "Unreachable", message=text.strip(), since=since
        )
    if serving is None or cluster is None:
        backend = condition("BackendReady", status=False, reason="WaitingForCluster")
    else:
        backend = condition("BackendReady", serving.ready, reason=("BackendHealthy", "Installing"))
    found = [*cluster.conditions, *_devices(cluster)] if cluster else []
    return [running, backend, together([running, backend]), *found]


def _unfinished(cluster: ClusterOutputs) -> str:
    """What a cluster that answers still waits for before it counts as ready: GPU software that it came with."""
    waiting = (each for each in cluster.conditions if (each.type, each.status) == ("GpuStackReady", "False"))
    return next((each.message for each in waiting), "")


def _devices(cluster: ClusterOutputs) -> list[Condition]:
    """DevicesAsPromised, once nodes have published any; a warning that says nothing about Ready."""
    if not any(pool.observed for pool in cluster.pools):
        return []
    broken = broken_promises(cluster.cluster, cluster.pools)
    reason = ("AsPromised", "DevicesDiffer")
    return [condition("DevicesAsPromised", not broken, reason=reason, message="; ".join(broken))]


def cache_resolved(deployment: ModelDeployment, caches: Collection[tuple[str, str]]) -> Condition | None:
    """ModelCacheResolved of a deployment that names a cache; `caches` are those there are, by namespace and name."""
    reference = deployment.spec.template.spec.model_cache_ref
    if reference is None:
        return None
    if (deployment.namespace, reference.name) in caches:
        return condition("ModelCacheResolved", status=True, reason="ModelCacheResolved")
    text = f"there is no ModelCache {deployment.namespace}/{reference.name}; nothing new is placed"
    return condition("ModelCacheResolved", status=False, reason="ModelCacheNotFound", message=text)


def replica_conditions(entry: LedgerReplica, state: ReplicaState | None, *, is_known: bool) -> list[Condition]:
    """ModelAccepted, ModelReady and Ready, and Retiring of one that goes.

    `is_known` tells whether the cluster's stack has outputs; `state` is absent where they do not list the replica.
    """
    if state is None:
        reason = "Deploying" if is_known else "WaitingForCluster"
        text = _waits(entry)
        accepted = condition("ModelAccepted", status=False, reason=reason, message=text)
        ready = condition("ModelReady", status=False, reason="WaitingForModel", message=text)
    else:
        text = state.message if isinstance(state.message, str) else ""
        since = state.since if isinstance(state.since, str) else ""
        accepted = condition("ModelAccepted", state.applied, reason=("Accepted", "Deploying"))
        waiting = "ModelStarting" if accepted.status == "True" else "WaitingForModel"
        ready = condition("ModelReady", state.ready, reason=("Serving", waiting), message=text, since=since)
    picker = state.picker if state is not None else None
    pickers = [] if picker is None else [condition("PickerReady", picker, reason=("PickerAnswers", "PickerDown"))]
    conditions = [accepted, ready, *pickers, together([accepted, ready, *pickers])]
    if entry.state == "retiring":
        conditions.append(condition("Retiring", status=True, reason="Retiring", message=entry.reason))
    return conditions


def _waits(entry: LedgerReplica) -> str:
    """What has to happen before a replica is started."""
    if entry.waits_for:
        return f"waits for {', '.join(entry.waits_for)} to leave its nodes"
    if entry.model_cache_ref and not entry.starts_early:
        return f"waits until cache {entry.namespace}/{entry.model_cache_ref} is staged on {entry.cluster}"
    return ""


def cache_conditions(
    cache: ModelCache | None, clusters: Mapping[str, CacheOnCluster], *, has_token: bool
) -> list[Condition]:
    """ClustersMatched, ArtifactReady and Ready, by what is said of every cluster that stages the cache.

    `has_token` tells whether the Secret it names is there; one without a Secret needs none.
    """
    phases = {name: found.phase or "Pending" for name, found in clusters.items()}
    count = len(phases)
    ready = sum(phase == "Ready" for phase in phases.values())
    text = f"{ready} of {count} clusters ready"
    matched = condition("ClustersMatched", bool(phases), reason=("Matched", "NoClusters"))
    source = cache.spec.hugging_face if cache else None
    secret = source.auth_secret if source else None
    if not phases:
        artifact = condition("ArtifactReady", status=False, reason="NoClusters")
    elif secret is not None and not has_token and ready < count:
        text = f"Secret {cache.namespace if cache else ''}/{secret.name} has no key {secret.key}"
        artifact = condition("ArtifactReady", status=False, reason="AuthSecretMissing", message=text)
    elif failed := sorted(name for name, phase in phases.items() if phase == "Failed"):
        artifact = condition("ArtifactReady", status=False, reason="Failed", message=_failed(failed, clusters))
    elif ready == count:
        artifact = condition("ArtifactReady", status=True, reason="Staged", message=text)
    else:
        artifact = condition("ArtifactReady", status=False, reason="Partial" if ready else "Hydrating", message=text)
    return [matched, artifact, together([matched, artifact])]


def _failed(names_of: Sequence[str], clusters: Mapping[str, CacheOnCluster]) -> str:
    """Where it failed, and what each cluster says of it."""
    said = {name: clusters[name].message for name in names_of}
    return "; ".join(f"failed on {name}: {text}" if text else f"failed on {name}" for name, text in said.items())


def endpoint_conditions(*, is_in_use: bool) -> list[Condition]:
    """RoutingReady and Ready: an endpoint that routing lists has its backend Service and slice."""
    routing = condition("RoutingReady", is_in_use, reason=("BackendConfigured", "WaitingForBackend"))
    return [routing, together([routing])]


def condition(
    kind: str, status: Flag, *, reason: str | tuple[str, str], message: str = "", since: str = ""
) -> Condition:
    """A condition; `reason` may give one for True and one for anything else."""
    text = "Unknown" if status is UNKNOWN else "True" if status is True else "False"
    if isinstance(reason, tuple):
        reason = reason[0] if status is True else reason[1]
    return Condition(type=kind, status=text, reason=reason, message=message, last_transition_time=since)


def together(parts: Sequence[Condition]) -> Condition:
    """Ready when all parts are; the first that is not speaks for the object."""
    since = max((part.last_transition_time for part in parts), default="")
    failing = next((part for part in parts if part.status != "True"), None)
    if failing is None:
        return condition("Ready", status=True, reason="Available", since=since)
    status = UNKNOWN if failing.status == "Unknown" else False
    return condition("Ready", status, reason=failing.reason, message=failing.message, since=since)
