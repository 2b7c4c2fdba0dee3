"""What the scheduler answers with: placements, what is dropped and why, and why the rest found no place."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from api.base import Condition
from scheduler.snapshot import DeploymentKey, PlacedEngine, PlacedReplica, ReplicaKey


class ReasonCode(StrEnum):
    """Why a cluster takes no new replica, most decisive first."""

    SELECTORS_CONFLICT = "SelectorsConflict"
    CACHE_NOT_FOUND = "CacheNotFound"
    LABEL_MISMATCH = "LabelMismatch"
    OUTSIDE_CACHE_CLUSTERS = "OutsideCacheClusters"
    HELD = "Held"
    UNREACHABLE = "Unreachable"
    NOT_READY = "NotReady"
    TAINTED = "Tainted"
    STACK_INCOMPATIBLE = "StackIncompatible"
    NO_MATCHING_HARDWARE = "NoMatchingHardware"
    INSUFFICIENT_NODES = "InsufficientNodes"


class DropCode(StrEnum):
    """Why a replica leaves its place."""

    SCALED_DOWN = "ScaledDown"
    TAINTED = "Tainted"
    SELECTOR_CHANGED = "SelectorChanged"
    ENGINES_CHANGED = "EnginesChanged"
    POOL_GONE = "PoolGone"
    CLUSTER_GONE = "ClusterGone"
    DEPLOYMENT_GONE = "DeploymentGone"
    NEVER_APPLIED = "NeverApplied"
    DUPLICATE = "Duplicate"


@dataclass(frozen=True, kw_only=True)
class Reason:
    """One gate that a cluster fails. `message` is about this cluster, `summary` the same for any cluster."""

    code: ReasonCode
    message: str
    summary: str
    short: int = 0
    """Nodes that are missing, for INSUFFICIENT_NODES."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Why one cluster takes no further replica of a deployment; the most decisive reason comes first."""

    cluster: str
    reasons: tuple[Reason, ...]


@dataclass(frozen=True, kw_only=True)
class Dropped:
    """A replica that has to go, and why."""

    replica: PlacedReplica
    reason: DropCode
    message: str


@dataclass(frozen=True, kw_only=True)
class Overcommitted:
    """A pool whose retained replicas take more nodes than it has, so that some of their pods have to wait."""

    cluster: str
    pool: str
    nodes: int
    """Nodes of the pool."""
    taken: int
    """Nodes that the replicas of all deployments take there."""


@dataclass(frozen=True, kw_only=True)
class Placement:
    """A replica at its place; `waits_for` are the retiring replicas whose nodes it needs."""

    key: ReplicaKey
    name: str
    gateway_address: str | None
    engines: tuple[PlacedEngine, ...]
    retained: bool
    in_place: bool = False
    """Newly placed, but with the identity of a replica that was dropped or is retiring: that one changes."""
    waits_for: tuple[ReplicaKey, ...] = ()


@dataclass(frozen=True, kw_only=True)
class DeploymentPlan:
    """The decision for one deployment. `verdicts` are filled where fewer are placed than wanted."""

    wanted: int
    placements: tuple[Placement, ...]
    """In order of cluster and index."""
    dropped: tuple[Dropped, ...]
    """In order of key. A dropped replica whose identity is placed again is not here: it changes in place."""
    verdicts: tuple[Verdict, ...]
    invalid_selector: str | None
    condition: Condition
    """ReplicasScheduled."""
    overcommitted: tuple[Overcommitted, ...] = ()
    """Pools with too few nodes for what is retained there, some of it this deployment's; by cluster and pool."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The decisions for all deployments, those that are gone but still have replicas included."""

    deployments: Mapping[DeploymentKey, DeploymentPlan]
    evaluations: int = field(default=0, compare=False)
    """How many times a selector was run against a device."""
