"""Which replicas stay where they are, and which of them go when there are too many.

A replica stays on any cluster, ready or not, whatever its labels, NoSchedule taints and room. What makes it go: an
untolerated NoExecute taint, a pool or cluster that left, other engines or members, and device selectors that no longer
pass on the facts it was placed on. Facts that changed under it are no reason (design, section 5), and a cluster
that is held loses nothing but what its deployment itself changes.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from api.classes import Device
from scheduler.demand import Demand, EngineDemand, MemberDemand
from scheduler.explain import Explainer
from scheduler.matcher import Claims, Matcher
from scheduler.plan import DropCode, Dropped
from scheduler.snapshot import Cluster, PlacedEngine, PlacedMember, PlacedReplica, Pool, ReplicaKey
from scheduler.taints import untolerated


@dataclass(frozen=True)
class Retained:
    """A replica that stays, with the engines it is going to have."""

    replica: PlacedReplica
    engines: tuple[PlacedEngine, ...]

    @property
    def key(self) -> ReplicaKey:
        """The replica's identity."""
        return self.replica.key


class _GoneError(Exception):
    """A replica cannot stay, with the reason."""

    def __init__(self, reason: DropCode, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


def retain(
    demand: Demand, replicas: Iterable[PlacedReplica], clusters: Mapping[str, Cluster], matcher: Matcher
) -> tuple[list[Retained], list[Dropped]]:
    """Split a deployment's own replicas into those that stay and those that go; the first of an identity counts.

    Where a device selector is invalid, all of them stay as they are.
    """
    kept: dict[ReplicaKey, Retained] = {}
    dropped: list[Dropped] = []
    for replica in sorted(replicas, key=lambda each: (each.name, each.key)):
        if replica.key in kept:
            message = f"replica {kept[replica.key].replica.name} has the same identity"
            dropped.append(Dropped(replica=replica, reason=DropCode.DUPLICATE, message=message))
            continue
        try:
            engines = replica.engines if demand.invalid_selector else _engines(demand, replica, clusters, matcher)
            kept[replica.key] = Retained(replica, engines)
        except _GoneError as gone:
            dropped.append(Dropped(replica=replica, reason=gone.reason, message=gone.message))
    return list(kept.values()), dropped


def scale_down(retained: Sequence[Retained], wanted: int) -> tuple[list[Retained], list[Dropped]]:
    """Drop what is too many: from the fullest cluster, then the later name, then the higher index."""
    kept = sorted(retained, key=lambda each: (each.key.cluster, each.key.index))
    load = Counter(each.key.cluster for each in kept)
    dropped: list[Dropped] = []
    while len(kept) > wanted:
        last = max(kept, key=lambda each: (load[each.key.cluster], each.key.cluster, each.key.index))
        kept.remove(last)
        load[last.key.cluster] -= 1
        message = f"{len(retained)} replicas run and {wanted} are wanted"
        dropped.append(Dropped(replica=last.replica, reason=DropCode.SCALED_DOWN, message=message))
    return kept, dropped


def _engines(
    demand: Demand, replica: PlacedReplica, clusters: Mapping[str, Cluster], matcher: Matcher
) -> tuple[PlacedEngine, ...]:
    cluster = clusters.get(replica.key.cluster)
    if cluster is None:
        raise _GoneError(DropCode.CLUSTER_GONE, f"cluster {replica.key.cluster} is not in the fleet")
    if not cluster.reachable and not replica.applied:
        raise _GoneError(DropCode.NEVER_APPLIED, f"{cluster.name} is unreachable and never had this replica")
    evicting = () if cluster.held else untolerated(cluster.taints, demand.tolerations, "NoExecute")
    if evicting:
        raise _GoneError(DropCode.TAINTED, f"{cluster.name} carries the NoExecute taint {evicting[0].key}")
    wanted = {engine.name: engine for engine in demand.engines}
    if len(replica.engines) != len(wanted) or any(engine.name not in wanted for engine in replica.engines):
        raise _GoneError(DropCode.ENGINES_CHANGED, "the deployment's engines are others now")
    return tuple(_engine(engine, wanted[engine.name], cluster, matcher) for engine in replica.engines)


def _engine(placed: PlacedEngine, wanted: EngineDemand, cluster: Cluster, matcher: Matcher) -> PlacedEngine:
    if [member.role for member in placed.members] != [member.role for member in wanted.members]:
        raise _GoneError(DropCode.ENGINES_CHANGED, f"the members of engine {wanted.name} are others now")
    pools = {pool.name: pool for pool in cluster.pools}
    members = tuple(
        _member(member, demand, cluster, pools.get(member.pool), matcher)
        for member, demand in zip(placed.members, wanted.members, strict=True)
    )
    if not any(member.requests for member in members):
        raise _GoneError(DropCode.SELECTOR_CHANGED, f"engine {wanted.name} claims no device any more")
    same = all(new is old for new, old in zip(members, placed.members, strict=True))
    if same and placed.copies == wanted.copies and placed.phase == wanted.phase:
        return placed
    return PlacedEngine(name=wanted.name, copies=wanted.copies, phase=wanted.phase, members=members)


def _member(
    placed: PlacedMember, wanted: MemberDemand, cluster: Cluster, pool: Pool | None, matcher: Matcher
) -> PlacedMember:
    if not cluster.held and (pool is None or pool.leaving):
        raise _GoneError(DropCode.POOL_GONE, f"pool {placed.pool} of {cluster.name} leaves the fleet")
    if pool is None and not placed.facts:
        return replace(placed, nodes=wanted.nodes)
    then = _kept_claims(placed, wanted, placed.facts, matcher)
    now = _kept_claims(placed, wanted, pool.devices, matcher) if pool else None
    if then is None and now is None:
        facts = Pool(name=placed.pool, nodes=0, devices=placed.facts or (pool.devices if pool else ()))
        detail = Explainer(matcher).misfit(wanted.requests, [facts])
        raise _GoneError(DropCode.SELECTOR_CHANGED, f"the pool it is on no longer passes: {detail}")
    requests = _claims(then, now)
    facts_now = pool.devices if pool and then is None else placed.facts
    if placed.nodes == wanted.nodes and placed.requests == requests and placed.facts is facts_now:
        return placed
    return replace(placed, nodes=wanted.nodes, requests=requests, facts=facts_now)


def _kept_claims(
    placed: PlacedMember, wanted: MemberDemand, devices: tuple[Device, ...], matcher: Matcher
) -> Claims | None:
    """Return what the member claims on these devices: if it can the same requests as before, else something."""
    greedy = matcher.fit(wanted.requests, devices)
    if greedy is not None and len(greedy) == len(placed.requests) and _names(greedy) == _names(placed.requests):
        return greedy
    best = matcher.fit(wanted.requests, devices, exhaustive=True)
    if greedy is None or best == greedy:
        return best
    # The greedy choice claims nothing here although another one does; what claimed before goes on claiming.
    return best if placed.requests else greedy


def _names(claims: Claims) -> list[str]:
    return [claim.name for claim in claims]


def _claims(then: Claims | None, now: Claims | None) -> Claims:
    """Claim as the facts of the placement say, through the device classes that the pool names today."""
    if then is None:
        return now or ()
    same = now is not None and _names(now) == _names(then)
    return now if same and now is not None else then
