"""What a new replica waits for, and which new replica takes over from which retiring one (design, section 3).

A decision counts the nodes of dropped replicas as free at once; on the clusters they are freed later. A replica that
is not applied yet therefore names the retiring replicas, of any deployment, whose nodes it needs.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from scheduler.ledger import node_costs
from scheduler.plan import Plan
from scheduler.snapshot import Cluster, PlacedEngine, PlacedReplica, ReplicaKey

PoolKey = tuple[str, str]
"""Cluster and pool."""


@dataclass
class _Leaver:
    """A retiring replica on one pool, and its nodes there that nobody has been promised yet."""

    key: ReplicaKey
    nodes: int


def waits_for(
    clusters: Iterable[Cluster],
    settled: Iterable[tuple[ReplicaKey, tuple[PlacedEngine, ...]]],
    pending: Iterable[tuple[ReplicaKey, tuple[PlacedEngine, ...]]],
    retiring: Iterable[PlacedReplica],
) -> dict[ReplicaKey, tuple[ReplicaKey, ...]]:
    """Name, for each pending replica, the retiring ones it needs gone; they are named in order of their keys.

    `settled` replicas have their nodes. `pending` ones take what is free now, in the order given, then what the
    retiring ones will free. Who waits for nobody is not named.
    """
    going = sorted(retiring, key=lambda each: each.key)
    if not going:
        return {}
    free = {(cluster.name, pool.name): max(0, pool.nodes) for cluster in clusters for pool in cluster.pools}
    for key, engines in settled:
        for place, nodes in _costs(key.cluster, engines):
            free[place] = free.get(place, 0) - nodes
    leavers: defaultdict[PoolKey, list[_Leaver]] = defaultdict(list)
    for replica in going:
        for place, nodes in _costs(replica.key.cluster, replica.engines):
            free[place] = free.get(place, 0) - nodes
            leavers[place].append(_Leaver(replica.key, nodes))
    waits: dict[ReplicaKey, tuple[ReplicaKey, ...]] = {}
    for key, engines in pending:
        named: set[ReplicaKey] = set()
        for place, nodes in _costs(key.cluster, engines):
            named |= _take(place, nodes, free, leavers[place])
        waits[key] = tuple(sorted(named))
    return waits


def successors(plan: Plan) -> Mapping[ReplicaKey, ReplicaKey]:
    """Pair the dropped replicas of each deployment with its new ones, both in order of their keys.

    A new replica that only changes one in place takes over from itself and is not paired.
    """
    return {
        dropped.replica.key: placement.key
        for each in plan.deployments.values()
        for dropped, placement in zip(
            sorted(each.dropped, key=lambda dropped: dropped.replica.key),
            [placement for placement in each.placements if not placement.retained and not placement.in_place],
            strict=False,
        )
    }


def _costs(cluster: str, engines: Iterable[PlacedEngine]) -> list[tuple[PoolKey, int]]:
    """Return the nodes that a replica takes on each pool, summed."""
    summed: defaultdict[PoolKey, int] = defaultdict(int)
    for pool, nodes in node_costs(engines):
        summed[cluster, pool] += nodes
    return sorted(summed.items())


def _take(place: PoolKey, nodes: int, free: dict[PoolKey, int], leavers: list[_Leaver]) -> set[ReplicaKey]:
    """Take nodes of one pool: free ones first, then those of leavers, who are named."""
    available = free.get(place, 0)
    needed = nodes - available
    free[place] = max(0, available - nodes)
    named: set[ReplicaKey] = set()
    for leaver in leavers:
        if needed <= 0:
            break
        taken = min(needed, leaver.nodes)
        if taken:
            leaver.nodes -= taken
            needed -= taken
            named.add(leaver.key)
    return named
