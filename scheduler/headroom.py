"""How much more fits, and what a fleet can lose.

Head-room is asked of the scheduler itself: what `schedule` would place, were there no end to the replicas wanted. So it
says what will happen, and not what a better packing of several engines could do.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from math import comb

from api.deployments import ModelDeployment
from api.errors import InvocationError
from scheduler.decide import schedule
from scheduler.plan import Plan, Verdict
from scheduler.snapshot import DeploymentKey, PlacedReplica, Snapshot

MOST_LOSSES = 20_000
"""How many losses one question may be about; each takes a run of the scheduler."""


@dataclass(frozen=True, kw_only=True)
class Headroom:
    """How many more replicas of one deployment fit, when nothing else is placed before them."""

    key: DeploymentKey
    wanted: int
    placed: int
    clusters: Mapping[str, int]
    """More replicas by cluster, every cluster of the fleet; all of them fit together."""
    verdicts: Mapping[str, Verdict]
    """Why each cluster takes no further one after those."""
    invalid_selector: str | None = None
    """Nothing is placed while a device selector cannot be used."""

    @property
    def total(self) -> int:
        """More replicas in the whole fleet."""
        return sum(self.clusters.values())


@dataclass(frozen=True, kw_only=True)
class Short:
    """A deployment that a loss leaves with fewer replicas than it had."""

    key: DeploymentKey
    wanted: int
    before: int
    placed: int


@dataclass(frozen=True, kw_only=True)
class Loss:
    """Clusters that are lost together, and whom that leaves short although losing fewer of them would not."""

    clusters: tuple[str, ...]
    short: tuple[Short, ...]


@dataclass(frozen=True, kw_only=True)
class Survival:
    """What the loss of up to `losses` clusters at once comes to."""

    losses: int
    checked: int
    """How many losses were tried."""
    hurting: tuple[Loss, ...]
    """In order of size and names; empty where every such loss is survived."""


def settled(snapshot: Snapshot, plan: Plan) -> Snapshot:
    """The snapshot in which a plan has come true: what it places is there, and what it drops is gone."""
    replicas = tuple(
        PlacedReplica(key=each.key, name=each.name, engines=each.engines)
        for deployment in plan.deployments.values()
        for each in deployment.placements
    )
    return replace(snapshot, replicas=replicas, retiring=())


def wanting(snapshot: Snapshot, key: DeploymentKey, replicas: int) -> Snapshot:
    """The snapshot in which one deployment wants so many replicas, whatever a fleet's limit says."""
    return replace(
        snapshot,
        deployments=tuple(
            scaled(each, replicas) if (each.namespace, each.name) == key else each for each in snapshot.deployments
        ),
    )


def scaled(deployment: ModelDeployment, replicas: int) -> ModelDeployment:
    """A deployment that wants so many replicas, whatever a fleet's limit says."""
    spec = deployment.spec.model_copy(update={"replicas": replicas})
    return deployment.model_copy(update={"spec": spec})


def headroom(snapshot: Snapshot, key: DeploymentKey, plan: Plan | None = None) -> Headroom:
    """How many more replicas of a deployment fit on each cluster, after those that are wanted.

    `plan` is that of the snapshot where it is known already.

    Raises:
        KeyError: the deployment is not in the snapshot.

    """
    plan = plan or schedule(snapshot)
    now = plan.deployments[key]
    # Every replica takes a node at least, so this is more than can fit.
    most = len(now.placements) + sum(max(0, pool.nodes) for each in snapshot.clusters for pool in each.pools) + 1
    full = schedule(wanting(settled(snapshot, plan), key, most)).deployments[key]
    counts = Counter(placement.key.cluster for placement in full.placements if not placement.retained)
    return Headroom(
        key=key,
        wanted=now.wanted,
        placed=len(now.placements),
        clusters={name: counts[name] for name in sorted(each.name for each in snapshot.clusters)},
        verdicts={verdict.cluster: verdict for verdict in full.verdicts},
        invalid_selector=now.invalid_selector,
    )


def only_on(snapshot: Snapshot, key: DeploymentKey, cluster: str, plan: Plan) -> Snapshot:
    """The snapshot in which a plan has come true, and one replica more is wanted that can only go to one cluster."""
    there = wanting(settled(snapshot, plan), key, len(plan.deployments[key].placements) + 1)
    closed = tuple(each if each.name == cluster else replace(each, held=True) for each in there.clusters)
    return replace(there, clusters=closed)


def survive(snapshot: Snapshot, losses: int) -> Survival:
    """Which losses of up to `losses` clusters leave which deployments with fewer replicas than they have.

    A lost cluster is gone with its replicas, which go elsewhere as far as there is room. A loss is listed for those
    that no part of it leaves short, so that one weak cluster is one line and not one for each pair it is in.

    Raises:
        InvocationError: MP202, that many clusters can be lost in too many ways to try them all.

    """
    names = sorted(each.name for each in snapshot.clusters)
    sizes = range(1, min(losses, len(names)) + 1)
    ways = sum(comb(len(names), size) for size in sizes)
    if ways > MOST_LOSSES:
        raise InvocationError(
            f"{losses} of {len(names)} clusters can be lost in {ways} ways, more than the {MOST_LOSSES} that are tried",
            hint="ask for fewer losses",
            code="MP202",
        )
    plan = schedule(snapshot)
    base = settled(snapshot, plan)
    holding = {each.key.cluster for each in base.replicas}
    found: list[Loss] = []
    checked = 0
    for lost in (frozenset(each) for size in sizes for each in combinations(names, size)):
        checked += 1
        if lost & holding:  # who holds nothing is missed by nobody
            told = {each.key for loss in found if lost > set(loss.clusters) for each in loss.short}
            short = tuple(each for each in _short(base, lost, plan) if each.key not in told)
            if short:
                found.append(Loss(clusters=tuple(sorted(lost)), short=short))
    return Survival(losses=losses, checked=checked, hurting=tuple(found))


def _short(base: Snapshot, lost: frozenset[str], before: Plan) -> Iterator[Short]:
    left = replace(base, clusters=tuple(each for each in base.clusters if each.name not in lost))
    after = schedule(left).deployments
    for key, was in before.deployments.items():
        had = min(was.wanted, len(was.placements))
        placed = len(after[key].placements) if key in after else 0
        if placed < had:
            yield Short(key=key, wanted=was.wanted, before=had, placed=placed)
