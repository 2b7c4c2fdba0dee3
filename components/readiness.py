"""Whether a workload serves, told from the live object alone: one rule for stack outputs and for the driver's waits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Readiness:
    """`ready` with the reason a condition would carry and a sentence for people."""

    ready: bool
    reason: str
    message: str


def deployment_readiness(spec: Mapping[str, Any], metadata: Mapping[str, Any], status: Mapping[str, Any]) -> Readiness:
    """Readiness of one Deployment: its newest template is observed and every pod of it is ready."""
    wanted = _number(spec, "replicas", 1)
    observed = _number(status, "observedGeneration", 0)
    generation = _number(metadata, "generation", 0)
    updated = _number(status, "updatedReplicas", 0)
    ready = min(_number(status, "readyReplicas", 0), updated)
    total = _number(status, "replicas", 0)
    if observed < generation or not status:
        return Readiness(ready=False, reason="Deploying", message="the cluster has not acted on it yet")
    if updated < wanted or ready < wanted or total > updated:
        return Readiness(ready=False, reason="ModelStarting", message=f"{ready} of {wanted} pods ready")
    return Readiness(ready=True, reason="Serving", message=f"{ready} of {wanted} pods ready")


def picker_readiness(_: Mapping[str, Any], __: Mapping[str, Any], status: Mapping[str, Any]) -> Readiness:
    """Readiness of an endpoint picker: a pod of it answers, an older one as well while a newer one starts."""
    ready = _number(status, "availableReplicas", 0) > 0
    return Readiness(ready=ready, reason="PickerAnswers" if ready else "PickerDown", message="")


def leader_worker_set_readiness(
    spec: Mapping[str, Any], metadata: Mapping[str, Any], status: Mapping[str, Any]
) -> Readiness:
    """Readiness of a LeaderWorkerSet: all gangs have the newest template and all their pods are ready.

    Its status has no generation of its own; conditions that carry one count, and the one called Available has to.
    """
    wanted = _number(spec, "replicas", 1)
    conditions = [found for found in status.get("conditions") or () if isinstance(found, Mapping)]
    stale = any(
        "observedGeneration" in found and int(found["observedGeneration"]) < _number(metadata, "generation", 0)
        for found in conditions
        if found.get("type") == "Available"
    )
    if not status or stale:
        return _NOT_SEEN
    updated = _number(status, "updatedReplicas", 0)
    ready = min(_number(status, "readyReplicas", 0), updated)
    available = any(found.get("type") == "Available" and found.get("status") == "True" for found in conditions)
    return _gangs(ready, wanted, serves=available and ready >= wanted and _number(status, "replicas", 0) <= wanted)


def clique_set_readiness(spec: Mapping[str, Any], metadata: Mapping[str, Any], status: Mapping[str, Any]) -> Readiness:
    """Readiness of a PodCliqueSet: its newest generation is observed, available, and no update is under way.

    It is available with its first gang; how many of them serve is told by their leaders (`counted`).
    """
    if not status or _number(status, "observedGeneration", 0) < _number(metadata, "generation", 0):
        return _NOT_SEEN
    wanted = _number(spec, "replicas", 0)
    progress = status.get("updateProgress")
    updating = isinstance(progress, Mapping) and not progress.get("updateEndedAt")
    available = _number(status, "availableReplicas", 0)
    serves = wanted > 0 and available >= wanted and not updating
    message = "an update is under way" if updating else f"{available} of {wanted} sets available"
    return Readiness(ready=serves, reason="Serving" if serves else "ModelStarting", message=message)


def counted(found: Readiness, ready: int | None, copies: int) -> Readiness:
    """Readiness with the number of copies that were seen to serve; None where nobody looked."""
    if ready is None or found.reason == _NOT_SEEN.reason:
        return found
    return _gangs(ready, copies, serves=found.ready and ready >= copies)


def readiness_of(
    kind: str, spec: Mapping[str, Any], metadata: Mapping[str, Any], status: Mapping[str, Any]
) -> Readiness:
    """Readiness of a workload object by its kind."""
    return _RULES[kind](spec, metadata, status)


def replica_readiness(engines: Sequence[Readiness], picker: Readiness | None, *, was_ready: bool = False) -> Readiness:
    """Readiness of a replica: all engines serve, and its endpoint picker answers.

    Envoy answers 500 to every request whose picker is down, whatever the pool's failureMode says: seen with Envoy
    Gateway 1.8 and Envoy 1.40. So the replica leaves the rotation until the picker is back.
    """
    found = together(engines)
    if not found.ready or picker is None or picker.ready:
        return found
    if was_ready:
        return Readiness(ready=False, reason="PickerDown", message="engines serve, the picker is down: requests fail")
    return Readiness(ready=False, reason="PickerStarting", message="engines serve, the picker is not up yet")


def together(parts: Sequence[Readiness]) -> Readiness:
    """Readiness of a replica: all its engines, the first that is not ready speaks."""
    for part in parts:
        if not part.ready:
            return part
    return parts[0] if parts else Readiness(ready=False, reason="Deploying", message="nothing is applied yet")


_NOT_SEEN = Readiness(ready=False, reason="Deploying", message="the cluster has not acted on it yet")
_RULES = {
    "Picker": picker_readiness,
    "Deployment": deployment_readiness,
    "LeaderWorkerSet": leader_worker_set_readiness,
    "PodCliqueSet": clique_set_readiness,
}


def _gangs(ready: int, wanted: int, *, serves: bool) -> Readiness:
    text = f"{ready} of {wanted} gangs ready"
    return Readiness(ready=serves, reason="Serving" if serves else "ModelStarting", message=text)


def _number(values: Mapping[str, Any], key: str, default: int) -> int:
    value = values.get(key)
    return default if value is None else int(value)
