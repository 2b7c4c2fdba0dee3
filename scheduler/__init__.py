"""Placement as a pure function: `schedule(snapshot) -> Plan`, from a frozen view to values, with reasons.

It reads no clock and does no I/O, and the order of its input does not matter. `snapshot` describes what goes in,
`plan` what comes out. `match` and `compile_error` are the selector language by themselves, `selector_problems` finds
the selectors of a deployment that cannot be used.
"""

from scheduler.cel import Match, compile_error, match
from scheduler.decide import schedule
from scheduler.demand import SelectorProblem, selector_problems
from scheduler.plan import (
    DeploymentPlan,
    DropCode,
    Dropped,
    Overcommitted,
    Placement,
    Plan,
    Reason,
    ReasonCode,
    Verdict,
)
from scheduler.retire import successors
from scheduler.snapshot import (
    CacheFootprint,
    Capabilities,
    Cluster,
    DeploymentKey,
    PlacedEngine,
    PlacedMember,
    PlacedReplica,
    Pool,
    ReplicaKey,
    Snapshot,
)

__all__ = [
    "CacheFootprint",
    "Capabilities",
    "Cluster",
    "DeploymentKey",
    "DeploymentPlan",
    "DropCode",
    "Dropped",
    "Match",
    "Overcommitted",
    "PlacedEngine",
    "PlacedMember",
    "PlacedReplica",
    "Placement",
    "Plan",
    "Pool",
    "Reason",
    "ReasonCode",
    "ReplicaKey",
    "SelectorProblem",
    "Snapshot",
    "Verdict",
    "compile_error",
    "match",
    "schedule",
    "selector_problems",
    "successors",
]
