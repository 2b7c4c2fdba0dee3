"""Where new replicas go: spread over the emptiest clusters, each engine on one pool, one by one.

A replica goes to the eligible cluster with the fewest replicas of its deployment, then the first by name. Each engine
takes the first pool, in published order, that all its members fit and that has room. Only where no cluster takes a
replica that way are the other choices of pools and devices tried (design, section 6), `STEPS_MAX` of them a cluster.

While places are filled nodes only become fewer, so a cluster that takes a replica by no choice will take no other one
of that kind. Such clusters leave the line of their kind for good, and nobody looks at them twice.
"""

import heapq
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from scheduler.demand import Demand, EngineDemand
from scheduler.gates import GateKey, Gates, gate_key
from scheduler.hardware import Hardware, Option, Options
from scheduler.ledger import Ledger
from scheduler.snapshot import Cluster, PlacedEngine, PlacedMember, ReplicaKey

STEPS_MAX = 2_000
"""Choices of pools tried for one replica on one cluster; a search that is cut off counts as no place."""

Choice = tuple[Option, ...]
"""A pool for each engine."""


@dataclass(frozen=True)
class Filled:
    """A new replica and its place."""

    key: ReplicaKey
    engines: tuple[PlacedEngine, ...]


class Line:
    """Clusters that may still take a replica of one kind, by position in order of name; leaving it costs one step."""

    def __init__(self, positions: Sequence[int]) -> None:
        self._positions = positions
        # Neighbours by place in line; the last place belongs to nobody and closes the ring.
        self._after = [*range(1, len(positions) + 1), 0]
        self._before = [len(positions), *range(len(positions))]
        self._gone = bytearray(len(positions))

    def __contains__(self, position: int) -> bool:
        place = bisect_left(self._positions, position)
        return place < len(self._positions) and self._positions[place] == position and not self._gone[place]

    def __iter__(self) -> Iterator[int]:
        """Go through those that are left; the one just met may leave meanwhile."""
        end = len(self._positions)
        place = self._after[end]
        while place != end:
            yield self._positions[place]
            place = self._after[place]

    def leave(self, position: int) -> None:
        """Take a cluster out."""
        place = bisect_left(self._positions, position)
        before, after = self._before[place], self._after[place]
        self._after[before], self._before[after] = after, before
        self._gone[place] = True


class Places:
    """The clusters of one run with their free nodes, and what was found out about them."""

    def __init__(self, clusters: Sequence[Cluster], gates: Gates, hardware: Hardware, ledger: Ledger) -> None:
        self.clusters = clusters
        self.gates = gates
        self.hardware = hardware
        self.ledger = ledger
        self._positions = {cluster.name: position for position, cluster in enumerate(clusters)}
        self._lines: dict[tuple[GateKey, int], Line] = {}
        self._choices: dict[tuple[int, int, tuple[int, ...]], Choice | None] = {}

    def fill(self, demand: Demand, missing: int, occupied: Iterable[ReplicaKey]) -> list[Filled]:
        """Place up to `missing` replicas on clusters that pass the gates, and charge them to the ledger.

        `occupied` are the identities of the deployment's retained replicas.
        """
        used: defaultdict[str, set[int]] = defaultdict(set)
        for key in occupied:
            used[key.cluster].add(key.index)
        line = self._line(demand)
        loads = {self._positions[name]: len(used[name]) for name in used if name in self._positions}
        turn = _Turn(self, self.hardware.profile(demand.engines), line, loads)
        filled: list[Filled] = []
        while len(filled) < missing and (found := turn.next()) is not None:
            position, choice = found
            cluster = self.clusters[position]
            index = next(index for index in range(len(used[cluster.name]) + 1) if index not in used[cluster.name])
            namespace, deployment = demand.key
            key = ReplicaKey(namespace=namespace, deployment=deployment, cluster=cluster.name, index=index)
            engines = self._placed(demand.engines, choice, cluster)
            filled.append(Filled(key, engines))
            used[cluster.name].add(index)
            self.ledger.charge(cluster.name, engines)
            turn.took(position)
        return filled

    def greedy(self, profile: int, position: int) -> Choice | None:
        """Return the first pool with room for each engine in turn; None where one finds none."""
        options = self.hardware.options(profile, self.hardware.shapes[position], exhaustive=False)
        free = self.ledger.free(self.clusters[position].name)
        if len(options) == 1:
            return next(((option,) for option in options[0] if option.cost <= free[option.pool]), None)
        left, chosen = list(free), []
        for engine in options:
            option = next((option for option in engine if option.cost <= left[option.pool]), None)
            if option is None:
                return None
            left[option.pool] -= option.cost
            chosen.append(option)
        return tuple(chosen)

    def exhaustive(self, profile: int, position: int) -> Choice | None:
        """Return the first of all choices of pools with room for all engines together; None where there is none."""
        shape = self.hardware.shapes[position]
        options = self.hardware.options(profile, shape, exhaustive=True)
        free = tuple(self.ledger.free(self.clusters[position].name))
        if len(options) == 1:
            return next(((option,) for option in options[0] if option.cost <= free[option.pool]), None)
        key = (profile, shape, free)
        if key not in self._choices:
            self._choices[key] = _Search(options, free).run()
        return self._choices[key]

    def cut_off(self, profile: int, position: int) -> bool:
        """Whether the search for a choice of pools on a cluster as it is now was given up."""
        options = self.hardware.options(profile, self.hardware.shapes[position], exhaustive=True)
        search = _Search(options, tuple(self.ledger.free(self.clusters[position].name)))
        return search.run() is None and search.cut_off

    def _line(self, demand: Demand) -> Line:
        key = (gate_key(demand), self.hardware.profile(demand.engines))
        if key not in self._lines:
            self._lines[key] = Line(self.gates.passing(demand))
        return self._lines[key]

    def _placed(self, engines: Sequence[EngineDemand], choice: Choice, cluster: Cluster) -> tuple[PlacedEngine, ...]:
        return tuple(self._engine(engine, option, cluster) for engine, option in zip(engines, choice, strict=True))

    def _engine(self, engine: EngineDemand, option: Option, cluster: Cluster) -> PlacedEngine:
        pool = cluster.pools[option.pool]
        members = tuple(
            PlacedMember(
                role=member.role,
                pool=pool.name,
                nodes=member.nodes,
                requests=self.hardware.matcher.fit(member.requests, pool.devices, exhaustive=option.exhaustive) or (),
                facts=pool.devices,
            )
            for member in engine.members
        )
        return PlacedEngine(name=engine.name, copies=engine.copies, phase=engine.phase, members=members)


class _Turn:
    """The search for the places of one deployment: the emptiest cluster first, greedily before exhaustively."""

    def __init__(self, places: Places, profile: int, line: Line, loads: dict[int, int]) -> None:
        self._places = places
        self._profile = profile
        self._line = line
        self._loads = loads
        self._empty = _without(line, frozenset(loads))
        self._loaded = [(load, position) for position, load in loads.items() if position in line]
        heapq.heapify(self._loaded)
        self._refused: list[tuple[int, int, Choice]] = []

    def next(self) -> tuple[int, Choice] | None:
        """Return the best cluster that has a place, and the pools there; None where there is none left."""
        while (position := self._emptiest()) is not None:
            choice = self._places.greedy(self._profile, position)
            if choice is not None:
                return position, choice
            other = self._places.exhaustive(self._profile, position)
            if other is None:
                self._line.leave(position)
            else:
                heapq.heappush(self._refused, (self._loads.get(position, 0), position, other))
        if not self._refused:
            return None
        _, position, choice = heapq.heappop(self._refused)
        return position, choice

    def took(self, position: int) -> None:
        """Count a replica on the cluster that `next` returned."""
        self._loads[position] = self._loads.get(position, 0) + 1
        heapq.heappush(self._loaded, (self._loads[position], position))

    def _emptiest(self) -> int | None:
        position = next(self._empty, None)
        if position is None and self._loaded:
            _, position = heapq.heappop(self._loaded)
        return position


def _without(line: Iterable[int], others: Collection[int]) -> Iterator[int]:
    return (position for position in line if position not in others)


class _Search:
    """A search through all choices of pools for the engines of a replica, the first pools first."""

    def __init__(self, options: Options, free: Sequence[int]) -> None:
        self.cut_off = False
        self._steps = 0
        self._options = options
        self._free = tuple(free)
        least = [min((option.cost for option in engine), default=0) for engine in options]
        self._needed = [sum(least[position:]) for position in range(len(least))]
        self._dead_ends: set[tuple[int, int, tuple[int, ...]]] = set()

    def run(self) -> Choice | None:
        """Return the first choice that fits; None where none does."""
        return self._choose(0, 0, self._free) if all(self._options) else None

    def _choose(self, position: int, first: int, free: tuple[int, ...]) -> Choice | None:
        """Choose for the engines from `position` on, the next of them not before the option `first`."""
        if position == len(self._options):
            return ()
        if self._steps >= STEPS_MAX:
            self.cut_off = True
            return None
        self._steps += 1
        state = (position, first, free)
        if state in self._dead_ends or self._needed[position] > sum(left for left in free if left > 0):
            return None
        engine = self._options[position]
        # Engines alike may change places, so the later one need not look before the earlier one's pool.
        alike = position + 1 < len(self._options) and self._options[position + 1] == engine
        for number in range(first, len(engine)):
            option = engine[number]
            if option.cost > free[option.pool]:
                continue
            left = (*free[: option.pool], free[option.pool] - option.cost, *free[option.pool + 1 :])
            rest = self._choose(position + 1, number if alike else 0, left)
            if rest is not None:
                return (option, *rest)
        self._dead_ends.add(state)
        return None
