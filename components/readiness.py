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


def together(parts: Sequence[Readiness]) -> Readiness:
    """Readiness of a replica: all its engines, the first that is not ready speaks."""
    for part in parts:
        if not part.ready:
            return part
    return parts[0] if parts else Readiness(ready=False, reason="Deploying", message="nothing is applied yet")


def _number(values: Mapping[str, Any], key: str, default: int) -> int:
    value = values.get(key)
    return default if value is None else int(value)
