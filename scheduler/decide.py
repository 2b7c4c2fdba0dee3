"""The decision over a whole snapshot: all deployments in one run over one ledger.

First every deployment keeps what may stay, then the missing replicas are placed in order of namespace and name. So
two deployments can never book one node, and nobody loses a node to a deployment that comes first.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from api.names import replica_name
from scheduler.conditions import deployment_gone, replicas_scheduled
from scheduler.demand import Demand, demand_of
from scheduler.fill import Filled, Places
from scheduler.gates import Gates
from scheduler.hardware import Hardware
from scheduler.ledger import Ledger, node_costs
from scheduler.matcher import Matcher
from scheduler.plan import DeploymentPlan, DropCode, Dropped, Overcommitted, Placement, Plan
from scheduler.retain import Retained, retain, scale_down
from scheduler.retire import waits_for
from scheduler.snapshot import Cluster, DeploymentKey, PlacedEngine, PlacedReplica, ReplicaKey, Snapshot
from scheduler.verdicts import Judge, Shortfall


@dataclass
class _Draft:
    """A deployment's plan while it is made."""

    demand: Demand
    kept: list[Retained]
    dropped: list[Dropped]
    filled: list[Filled] = field(default_factory=list)
    shortfall: Shortfall | None = None

    @property
    def missing(self) -> int:
        """How many replicas still need a place; none where a bad selector holds everything."""
        if self.demand.invalid_selector is not None:
            return 0
        return max(0, self.demand.wanted - len(self.kept) - len(self.filled))


def schedule(snapshot: Snapshot) -> Plan:
    """Decide where the replicas of all deployments are. Same snapshot, in any order, same plan.

    Capacity is counted in whole nodes of a pool. What cannot be placed has a verdict for each cluster, what cannot
    stay a reason; a deployment with a bad selector keeps what it has and says so (InvalidNodeSelector). Raises
    nothing for any snapshot whose names are unique (design, section 6).
    """
    matcher = Matcher()
    clusters = sorted(snapshot.clusters, key=lambda cluster: cluster.name)
    by_name = {cluster.name: cluster for cluster in clusters}
    owned: defaultdict[DeploymentKey, list[PlacedReplica]] = defaultdict(list)
    for replica in snapshot.replicas:
        owned[replica.key.namespace, replica.key.deployment].append(replica)
    demands = sorted((demand_of(each, snapshot.caches) for each in snapshot.deployments), key=lambda each: each.key)
    drafts = [_kept(demand, owned.pop(demand.key, []), by_name, matcher) for demand in demands]

    ledger = Ledger(clusters)
    for draft in drafts:
        for retained in draft.kept:
            ledger.charge(retained.key.cluster, retained.engines)
    short = [draft for draft in drafts if draft.missing]
    if short:
        places = Places(clusters, Gates(clusters), Hardware(clusters, matcher), ledger)
        for draft in short:
            draft.filled = places.fill(draft.demand, draft.missing, [retained.key for retained in draft.kept])
        # Only now, when nothing more is booked, so that the next decision over this plan says the same.
        judge = Judge(places)
        for draft in short:
            if draft.missing:
                draft.shortfall = judge.shortfall(draft.demand)

    gone = {key: _gone(replicas) for key, replicas in owned.items()}
    finished = _finished(drafts, gone, ledger, snapshot)
    return Plan(deployments=dict(sorted(finished.items())), evaluations=matcher.evaluations)


def _kept(
    demand: Demand, replicas: Sequence[PlacedReplica], clusters: Mapping[str, Cluster], matcher: Matcher
) -> _Draft:
    kept, dropped = retain(demand, replicas, clusters, matcher)
    if demand.invalid_selector is None and len(kept) > demand.wanted:
        kept, surplus = scale_down(kept, demand.wanted)
        dropped = dropped + surplus
    return _Draft(demand, kept, dropped)


def _gone(replicas: Iterable[PlacedReplica]) -> list[Dropped]:
    message = "the deployment is not in the fleet any more"
    return [Dropped(replica=replica, reason=DropCode.DEPLOYMENT_GONE, message=message) for replica in replicas]


def _finished(
    drafts: Sequence[_Draft],
    gone: Mapping[DeploymentKey, list[Dropped]],
    ledger: Ledger,
    snapshot: Snapshot,
) -> dict[DeploymentKey, DeploymentPlan]:
    placed = {retained.key for draft in drafts for retained in draft.kept}
    placed |= {filled.key for draft in drafts for filled in draft.filled}
    dropped = {draft.demand.key: _leaving(draft.dropped, placed) for draft in drafts}
    dropped |= {key: _leaving(replicas, placed) for key, replicas in gone.items()}
    leaving = [each.replica for replicas in dropped.values() for each in replicas]
    retiring = [replica for replica in snapshot.retiring if replica.key not in placed]
    applied = {replica.key for replica in snapshot.replicas if replica.applied}
    waits = _waits(drafts, snapshot.clusters, [*leaving, *retiring], applied)
    before = {each.key for each in (*snapshot.replicas, *snapshot.retiring)}
    addresses = {cluster.name: cluster.gateway_address for cluster in snapshot.clusters}
    overfull = ledger.overcommitted()
    plans = {
        draft.demand.key: _plan(
            draft, _placements(draft, addresses, waits, before), dropped[draft.demand.key], _touched(draft, overfull)
        )
        for draft in drafts
    }
    for key in gone:
        plans[key] = DeploymentPlan(
            wanted=0,
            placements=(),
            dropped=dropped[key],
            verdicts=(),
            invalid_selector=None,
            condition=deployment_gone(),
        )
    return plans


def _plan(
    draft: _Draft,
    placements: tuple[Placement, ...],
    dropped: tuple[Dropped, ...],
    overcommitted: tuple[Overcommitted, ...],
) -> DeploymentPlan:
    return DeploymentPlan(
        wanted=draft.demand.wanted,
        placements=placements,
        dropped=dropped,
        verdicts=draft.shortfall.verdicts if draft.shortfall else (),
        invalid_selector=draft.demand.invalid_selector,
        condition=replicas_scheduled(draft.demand, len(placements), draft.shortfall, overcommitted),
        overcommitted=overcommitted,
    )


def _touched(draft: _Draft, overfull: Mapping[tuple[str, str], Overcommitted]) -> tuple[Overcommitted, ...]:
    """Return the overcommitted pools that a deployment has replicas on."""
    if not overfull:
        return ()
    on = {(kept.key.cluster, pool) for kept in draft.kept for pool, _ in node_costs(kept.engines)}
    return tuple(overfull[place] for place in sorted(on & overfull.keys()))


def _leaving(dropped: Iterable[Dropped], placed: set[ReplicaKey]) -> tuple[Dropped, ...]:
    """Return what really goes: an identity that is placed again changes in place instead."""
    remaining = (each for each in dropped if each.replica.key not in placed)
    return tuple(sorted(remaining, key=lambda each: (each.replica.key, each.replica.name)))


def _waits(
    drafts: Sequence[_Draft], clusters: Sequence[Cluster], retiring: Sequence[PlacedReplica], applied: set[ReplicaKey]
) -> dict[ReplicaKey, tuple[ReplicaKey, ...]]:
    settled: list[tuple[ReplicaKey, tuple[PlacedEngine, ...]]] = []
    waiting: list[tuple[ReplicaKey, tuple[PlacedEngine, ...]]] = []
    for draft in drafts:
        for retained in draft.kept:
            (settled if retained.replica.applied else waiting).append((retained.key, retained.engines))
    new: list[tuple[ReplicaKey, tuple[PlacedEngine, ...]]] = []
    for draft in drafts:
        for filled in draft.filled:
            (settled if filled.key in applied else new).append((filled.key, filled.engines))
    pending = [*sorted(waiting, key=lambda each: each[0]), *sorted(new, key=lambda each: each[0])]
    return waits_for(clusters, settled, pending, retiring)


def _placements(
    draft: _Draft,
    addresses: Mapping[str, str | None],
    waits: Mapping[ReplicaKey, tuple[ReplicaKey, ...]],
    before: set[ReplicaKey],
) -> tuple[Placement, ...]:
    kept = [
        Placement(
            key=retained.key,
            name=retained.replica.name,
            gateway_address=addresses.get(retained.key.cluster),
            engines=retained.engines,
            retained=True,
            waits_for=waits.get(retained.key, ()),
        )
        for retained in draft.kept
    ]
    new = [
        Placement(
            key=filled.key,
            name=replica_name(filled.key.deployment, filled.key.cluster, filled.key.index),
            gateway_address=addresses.get(filled.key.cluster),
            engines=filled.engines,
            retained=False,
            in_place=filled.key in before,
            waits_for=waits.get(filled.key, ()),
        )
        for filled in draft.filled
    ]
    return tuple(sorted([*kept, *new], key=lambda placement: placement.key))
