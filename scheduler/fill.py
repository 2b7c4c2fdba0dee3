"""Where new replicas go: spread over the emptiest clusters, each engine on one pool, one by one.

A replica goes to the eligible cluster with the fewest replicas of its deployment, then the first by name. Each engine
takes the first pool, in published order, that all its members fit and that has room. Only where no cluster takes a
replica that way are the other choices of pools and devices tried (design, section 6).
"""

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from scheduler.demand import Demand, EngineDemand
from scheduler.ledger import Ledger
from scheduler.match import Claims, Matcher
from scheduler.snapshot import Cluster, PlacedEngine, PlacedMember, Pool, ReplicaKey


@dataclass(frozen=True)
class Option:
    """A pool that an engine fits, what its members claim there, and the nodes it takes."""

    pool: Pool
    claims: tuple[Claims, ...]
    cost: int


@dataclass(frozen=True)
class Filled:
    """A new replica and its place."""

    key: ReplicaKey
    engines: tuple[PlacedEngine, ...]


class Fitter:
    """Fits the engines of one deployment to clusters; remembers the pools that each engine can use."""

    def __init__(self, demand: Demand, matcher: Matcher) -> None:
        self.demand = demand
        self.matcher = matcher
        self._options: dict[tuple[str, bool], tuple[tuple[Option, ...], ...]] = {}

    def options(self, cluster: Cluster, *, exhaustive: bool) -> tuple[tuple[Option, ...], ...]:
        """Return, for each engine, the pools of a cluster that it could use if they were empty."""
        key = (cluster.name, exhaustive)
        if key not in self._options:
            self._options[key] = tuple(
                _engine_options(engine, cluster, self.matcher, exhaustive=exhaustive) for engine in self.demand.engines
            )
        return self._options[key]

    def fit(self, cluster: Cluster, free: Mapping[str, int], *, exhaustive: bool) -> tuple[PlacedEngine, ...] | None:
        """Place all engines of one replica on a cluster with so many free nodes by pool; None where they do not fit."""
        options = self.options(cluster, exhaustive=exhaustive)
        chosen = choose_pools(options, free, exhaustive=exhaustive)
        if chosen is None:
            return None
        return tuple(_placed(engine, option) for engine, option in zip(self.demand.engines, chosen, strict=True))


def fill(
    fitter: Fitter, missing: int, occupied: Iterable[ReplicaKey], clusters: Sequence[Cluster], ledger: Ledger
) -> list[Filled]:
    """Place up to `missing` replicas on clusters that passed the gates, and charge them to the ledger.

    `occupied` are the identities of the deployment's retained replicas.
    """
    by_name = {cluster.name: cluster for cluster in clusters}
    used: defaultdict[str, set[int]] = defaultdict(set)
    for key in occupied:
        used[key.cluster].add(key.index)
    load = Counter({name: len(used[name]) for name in by_name})
    ready = [(load[name], name) for name in by_name]
    heapq.heapify(ready)
    refused: list[tuple[int, str]] = []
    filled: list[Filled] = []
    while len(filled) < missing:
        found = _next(fitter, ready, by_name, ledger, refused=refused)
        if found is None:
            break
        name, engines = found
        index = next(index for index in range(len(used[name]) + 1) if index not in used[name])
        namespace, deployment = fitter.demand.key
        filled.append(
            Filled(ReplicaKey(namespace=namespace, deployment=deployment, cluster=name, index=index), engines)
        )
        used[name].add(index)
        ledger.charge(name, engines)
        heapq.heappush(ready, (len(used[name]), name))
    return filled


def choose_pools(
    options: Sequence[Sequence[Option]], free: Mapping[str, int], *, exhaustive: bool
) -> tuple[Option, ...] | None:
    """Choose a pool for each engine. The first path tried is the greedy one; without `exhaustive`, the only one."""
    dead_ends: set[tuple[int, tuple[tuple[str, int], ...]]] = set()

    def choose(position: int, taken: dict[str, int]) -> tuple[Option, ...] | None:
        if position == len(options):
            return ()
        state = (position, tuple(sorted(taken.items())))
        if state in dead_ends:
            return None
        for option in options[position]:
            pool = option.pool.name
            if option.cost > free.get(pool, 0) - taken.get(pool, 0):
                continue
            rest = choose(position + 1, {**taken, pool: taken.get(pool, 0) + option.cost})
            if rest is not None:
                return (option, *rest)
            if not exhaustive:
                break
        dead_ends.add(state)
        return None

    return choose(0, {})


def _next(
    fitter: Fitter,
    ready: list[tuple[int, str]],
    clusters: Mapping[str, Cluster],
    ledger: Ledger,
    *,
    refused: list[tuple[int, str]],
) -> tuple[str, tuple[PlacedEngine, ...]] | None:
    """Take the best cluster that has a place off its heap. One that refuses greedily waits for the exhaustive look."""
    for heap, exhaustive in ((ready, False), (refused, True)):
        while heap:
            load, name = heapq.heappop(heap)
            engines = fitter.fit(clusters[name], ledger.row(name), exhaustive=exhaustive)
            if engines is not None:
                return name, engines
            if not exhaustive:
                heapq.heappush(refused, (load, name))
    return None


def _engine_options(
    engine: EngineDemand, cluster: Cluster, matcher: Matcher, *, exhaustive: bool
) -> tuple[Option, ...]:
    pools = [pool for pool in cluster.pools if not pool.leaving]
    fits = [
        [matcher.fit(member.requests, pool.devices, exhaustive=exhaustive) for pool in pools]
        for member in engine.members
    ]
    claimable = [any(fit) for fit in fits]
    if not any(claimable):
        return ()
    options = []
    for position, pool in enumerate(pools):
        here = [fit[position] for fit in fits]
        claims = tuple(fit for fit in here if fit is not None)
        if len(claims) < len(here) or any(able and not fit for able, fit in zip(claimable, claims, strict=True)):
            continue
        nodes = sum(member.nodes for member, fit in zip(engine.members, claims, strict=True) if fit)
        options.append(Option(pool, claims, nodes * engine.copies))
    return tuple(options)


def _placed(engine: EngineDemand, option: Option) -> PlacedEngine:
    members = tuple(
        PlacedMember(
            role=member.role, pool=option.pool.name, nodes=member.nodes, requests=claims, facts=option.pool.devices
        )
        for member, claims in zip(engine.members, option.claims, strict=True)
    )
    return PlacedEngine(name=engine.name, copies=engine.copies, phase=engine.phase, members=members)
