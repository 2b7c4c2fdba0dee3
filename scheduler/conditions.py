"""ReplicasScheduled of a deployment: True only where as many are placed as are wanted (design, section 6)."""

from collections.abc import Sequence

from api.base import Condition
from scheduler.demand import Demand
from scheduler.plan import Overcommitted
from scheduler.verdicts import Shortfall

TYPE = "ReplicasScheduled"


def replicas_scheduled(
    demand: Demand, placed: int, shortfall: Shortfall | None, overcommitted: Sequence[Overcommitted]
) -> Condition:
    """Say how many of the wanted replicas have a place, and where some have none why.

    Replicas that stay on a pool with too few nodes for them are scheduled all the same; the reason is Overcommitted.
    """
    overfull = "".join(f"; {_overfull(pool)}" for pool in overcommitted)
    if demand.invalid_selector is not None:
        held = f"; {placed} running {_held(placed)}" if placed else ""
        return _false("InvalidNodeSelector", f"Invalid nodeSelector CEL expression: {demand.invalid_selector}{held}")
    if shortfall is not None and placed < demand.wanted:
        message = f"{placed} of {demand.wanted} replicas scheduled: {shortfall.summary}{overfull}"
        return _false("PartiallyScheduled" if placed else shortfall.cause, message)
    if demand.wanted == 0:
        return Condition(type=TYPE, status="True", reason="Parked", message="Parked at 0 replicas")
    message = f"Scheduled {placed} of {demand.wanted} replicas{overfull}"
    return Condition(
        type=TYPE, status="True", reason="Overcommitted" if overfull else "ReplicasCreated", message=message
    )


def deployment_gone() -> Condition:
    """Describe a deployment that left the documents while replicas of it are there."""
    return _false("DeploymentGone", "The deployment is not in the fleet any more")


def _overfull(pool: Overcommitted) -> str:
    return f"pool {pool.cluster}/{pool.pool} has {pool.nodes} nodes and its replicas take {pool.taken}"


def _held(count: int) -> str:
    return "replica is held as it is" if count == 1 else "replicas are held as they are"


def _false(reason: str, message: str) -> Condition:
    return Condition(type=TYPE, status="False", reason=reason, message=message)
