"""What the nodes of a fleet cost per hour, before and after: hints that classes carry, in a currency they do not tell.

Counted are the nodes that placement counts on, at the price that their class names. A pool whose class names none adds
nothing, and a fleet without any has no costs to tell.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from programs.outputs import ClusterOutputs

Clusters = Mapping[str, ClusterOutputs]


@dataclass(frozen=True, kw_only=True)
class Cost:
    """One cluster's nodes for an hour; None where the cluster is not there, or has no class with a price."""

    cluster: str
    before: float | None
    after: float | None


@dataclass(frozen=True, kw_only=True)
class Costs:
    """A whole fleet's nodes for an hour."""

    clusters: tuple[Cost, ...] = ()

    @property
    def before(self) -> float:
        """All clusters as they were applied last."""
        return _rounded(sum(cost.before or 0.0 for cost in self.clusters))

    @property
    def after(self) -> float:
        """All clusters as they are to be."""
        return _rounded(sum(cost.after or 0.0 for cost in self.clusters))

    def plain(self) -> dict[str, Any] | None:
        """For programs; None where nothing has a price."""
        if not self.clusters:
            return None
        clusters = {cost.cluster: {"before": cost.before, "after": cost.after} for cost in self.clusters}
        return {"before": self.before, "after": self.after, "clusters": clusters}


def costs_of(before: Clusters, after: Clusters) -> Costs:
    """Costs of clusters as they were and as they are to be."""
    found = (
        Cost(cluster=name, before=_hourly(before.get(name)), after=_hourly(after.get(name)))
        for name in sorted({*before, *after})
    )
    return Costs(clusters=tuple(cost for cost in found if (cost.before, cost.after) != (None, None)))


def _hourly(outputs: ClusterOutputs | None) -> float | None:
    priced = [pool for pool in (outputs.pools if outputs else ()) if pool.hourly_cost is not None]
    return _rounded(sum(pool.nodes.configured * (pool.hourly_cost or 0.0) for pool in priced)) if priced else None


def _rounded(amount: float) -> float:
    return round(amount, 4)
