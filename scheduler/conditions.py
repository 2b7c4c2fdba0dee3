"""ReplicasScheduled of a deployment: True only where as many are placed as are wanted (design, section 6)."""

from collections.abc import Sequence

from api.base import Condition
from scheduler.demand import Demand
from scheduler.plan import ReasonCode, Verdict
from scheduler.verdicts import summary

TYPE = "ReplicasScheduled"

_ALONE = {
    ReasonCode.LABEL_MISMATCH: "NoClusters",
    ReasonCode.NOT_READY: "ClustersNotReady",
    ReasonCode.UNREACHABLE: "ClustersNotReady",
}
"""Condition reasons for one cause on every cluster, where they are not called like the cause."""


def replicas_scheduled(demand: Demand, placed: int, verdicts: Sequence[Verdict]) -> Condition:
    """Say how many of the wanted replicas have a place, and the reasons where some have none."""
    if demand.invalid_selector is not None:
        held = f"; {placed} running {_held(placed)}" if placed else ""
        return _false("InvalidNodeSelector", f"Invalid nodeSelector CEL expression: {demand.invalid_selector}{held}")
    if placed >= demand.wanted:
        if demand.wanted == 0:
            return Condition(type=TYPE, status="True", reason="Parked", message="Parked at 0 replicas")
        message = f"Scheduled {placed} of {demand.wanted} replicas"
        return Condition(type=TYPE, status="True", reason="ReplicasCreated", message=message)
    why = summary(verdicts) if verdicts else "the fleet has no clusters"
    message = f"{placed} of {demand.wanted} replicas scheduled: {why}"
    return _false("PartiallyScheduled" if placed else _nothing_placed(verdicts), message)


def deployment_gone() -> Condition:
    """Describe a deployment that left the documents while replicas of it are there."""
    return _false("DeploymentGone", "The deployment is not in the fleet any more")


def _nothing_placed(verdicts: Sequence[Verdict]) -> str:
    """Name the cause where it is the same on every cluster that the labels select."""
    selected = [verdict for verdict in verdicts if verdict.reasons[0].code != ReasonCode.LABEL_MISMATCH]
    if not selected:
        return "NoClusters"
    reasons = {_ALONE.get(code := verdict.reasons[0].code, str(code)) for verdict in selected}
    if len(reasons) == 1 and reasons != {ReasonCode.INSUFFICIENT_NODES}:
        return reasons.pop()
    return "InsufficientCapacity"


def _held(count: int) -> str:
    return "replica is held as it is" if count == 1 else "replicas are held as they are"


def _false(reason: str, message: str) -> Condition:
    return Condition(type=TYPE, status="False", reason=reason, message=message)
