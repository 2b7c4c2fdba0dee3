"""Which pools of a cluster the engines of a deployment can use, were they empty.

Only the hardware counts here, so all clusters whose pools look alike have one answer, and so have all deployments
whose members fit the same device lists at the same cost. Clusters are told apart by their shape and deployments by
their profile; both are small numbers, so that whoever searches can remember by them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from api.classes import Device
from scheduler.demand import EngineDemand, MemberDemand
from scheduler.matcher import Matcher
from scheduler.snapshot import Cluster

_LEAVING = -1

Fits = tuple[bool | None, bool | None]
"""How a member fits a node, greedily and at best: not at all (None), without a claim, or with one."""
Options = tuple[tuple["Option", ...], ...]
"""For each engine the pools it can use, in published order."""


@dataclass(frozen=True, slots=True)
class Option:
    """A pool that an engine fits, by its position in the cluster, and the nodes it takes there."""

    pool: int
    cost: int
    exhaustive: bool
    """Its members take their devices by exhaustive choice."""


@dataclass(frozen=True, slots=True)
class _EngineProfile:
    copies: int
    nodes: tuple[int, ...]
    """By member."""
    fits: tuple[tuple[Fits, ...], ...]
    """By member and device list."""


class Hardware:
    """Shapes of the clusters, by position, and profiles of the deployments of one run."""

    def __init__(self, clusters: Sequence[Cluster], matcher: Matcher) -> None:
        self.matcher = matcher
        numbers: dict[int, int] = {}
        self._lists: list[tuple[Device, ...]] = []
        shapes: dict[tuple[int, ...], int] = {}
        self.shapes: list[int] = []
        for cluster in clusters:
            shape: list[int] = []
            for pool in cluster.pools:
                number = matcher.devices_number(pool.devices)
                if number not in numbers:
                    numbers[number] = len(numbers)
                    self._lists.append(pool.devices)
                shape.append(_LEAVING if pool.leaving else numbers[number])
            self.shapes.append(shapes.setdefault(tuple(shape), len(shapes)))
        self._shapes = list(shapes)
        self._profiles: list[tuple[_EngineProfile, ...]] = []
        self._profile_numbers: dict[tuple[_EngineProfile, ...], int] = {}
        self._profile_of: dict[tuple[EngineDemand, ...], int] = {}
        self._options: dict[tuple[int, int, bool], Options] = {}

    def profile(self, engines: tuple[EngineDemand, ...]) -> int:
        """Number a deployment's engines by the way they fit the pools of this fleet."""
        number = self._profile_of.get(engines)
        if number is None:
            key = tuple(self._engine_profile(engine) for engine in engines)
            if key not in self._profile_numbers:
                self._profile_numbers[key] = len(self._profiles)
                self._profiles.append(key)
            number = self._profile_of[engines] = self._profile_numbers[key]
        return number

    def options(self, profile: int, shape: int, *, exhaustive: bool) -> Options:
        """Return, for each engine, the pools of a cluster it could use if they were empty.

        The exhaustive ones contain the greedy ones.
        """
        key = (profile, shape, exhaustive)
        found = self._options.get(key)
        if found is None:
            pools = self._shapes[shape]
            engines = self._profiles[profile]
            found = tuple(_options(engine, pools, exhaustive=False) for engine in engines)
            if exhaustive:
                wider = (_options(engine, pools, exhaustive=True) for engine in engines)
                found = tuple(_merged(*both) for both in zip(found, wider, strict=True))
            self._options[key] = found
        return found

    def _engine_profile(self, engine: EngineDemand) -> _EngineProfile:
        nodes = tuple(member.nodes for member in engine.members)
        fits = tuple(tuple(self._fits(member, devices) for devices in self._lists) for member in engine.members)
        return _EngineProfile(engine.copies, nodes, fits)

    def _fits(self, member: MemberDemand, devices: tuple[Device, ...]) -> Fits:
        greedy = self.matcher.fit(member.requests, devices)
        best = self.matcher.fit(member.requests, devices, exhaustive=True)
        return (None if greedy is None else bool(greedy), None if best is None else bool(best))


def _options(engine: _EngineProfile, pools: Sequence[int], *, exhaustive: bool) -> tuple[Option, ...]:
    fits = [[None if number == _LEAVING else fits[number][exhaustive] for number in pools] for fits in engine.fits]
    claimable = [any(each) for each in fits]
    if not any(claimable):
        return ()
    options = []
    for position in range(len(pools)):
        here = [each[position] for each in fits]
        # A member that can claim on some pool is never put where it only matches.
        if all(fit if able else fit is not None for able, fit in zip(claimable, here, strict=True)):
            nodes = sum(nodes for nodes, fit in zip(engine.nodes, here, strict=True) if fit)
            options.append(Option(position, nodes * engine.copies, exhaustive))
    return tuple(options)


def _merged(greedy: tuple[Option, ...], exhaustive: tuple[Option, ...]) -> tuple[Option, ...]:
    """Put the two lists together in order of pools; where both take the same nodes of a pool, the greedy way."""
    known = {(option.pool, option.cost) for option in greedy}
    further = [option for option in exhaustive if (option.pool, option.cost) not in known]
    return tuple(sorted([*greedy, *further], key=lambda option: (option.pool, option.exhaustive)))
