"""Why each cluster takes no further replica of a deployment, and the one line that sums it up."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from scheduler.demand import Demand, EngineDemand, MemberDemand
from scheduler.explain import Explainer
from scheduler.fill import Places
from scheduler.gates import GateKey, gate_key
from scheduler.hardware import Option
from scheduler.matcher import Matcher
from scheduler.plan import Reason, ReasonCode, Verdict
from scheduler.snapshot import Cluster, Pool

_TOO_FEW = "too few nodes"
_SHOWN = 5


_ALONE = {
    ReasonCode.LABEL_MISMATCH: "NoClusters",
    ReasonCode.NOT_READY: "ClustersNotReady",
    ReasonCode.UNREACHABLE: "ClustersNotReady",
}
"""Condition reasons for one cause on every cluster, where they are not called like the cause."""


@dataclass(frozen=True, slots=True)
class Shortfall:
    """Why a deployment has fewer replicas than it wants."""

    verdicts: tuple[Verdict, ...]
    """By cluster."""
    summary: str
    """All of them in one line."""
    cause: str
    """The reason to give where nothing at all is placed."""


class Judge:
    """Gives the verdicts of one run, once its ledger is final; deployments that ask the same share theirs."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._explainer = Explainer(places.hardware.matcher)
        self._found: dict[tuple[GateKey, tuple[EngineDemand, ...]], Shortfall] = {}
        self._looks: list[object] | None = None

    def shortfall(self, demand: Demand) -> Shortfall:
        """Return every failing gate of every cluster, in order of their names, and what they come to."""
        key = (gate_key(demand), demand.engines)
        found = self._found.get(key)
        if found is None:
            profile = self._places.hardware.profile(demand.engines)
            gates, names = self._places.gates, [cluster.name for cluster in self._places.clusters]
            verdicts = tuple(
                Verdict(cluster=names[position], reasons=gates.failing(demand, position) + room)
                for position, room in enumerate(self._room(demand, profile))
            )
            found = self._found[key] = Shortfall(verdicts, summary(verdicts), cause(verdicts))
        return found

    def _room(self, demand: Demand, profile: int) -> list[tuple[Reason, ...]]:
        """Return, by position, what is missing of hardware and nodes; clusters that look alike are asked once."""
        if self._looks is None:
            self._looks = [self._look(position) for position in range(len(self._places.clusters))]
        known: dict[object, tuple[Reason, ...]] = {}
        found = []
        for position, look in enumerate(self._looks):
            reasons = known.get(look)
            if reasons is None:
                reasons = known[look] = self._no_room(demand, profile, position)
            found.append(reasons)
        return found

    def _no_room(self, demand: Demand, profile: int, position: int) -> tuple[Reason, ...]:
        """Return a reason for each engine whose hardware or nodes a cluster lacks; none where a replica fits."""
        if self._places.exhaustive(profile, position) is not None:
            return ()
        cluster = self._places.clusters[position]
        options = self._places.hardware.options(profile, self._places.hardware.shapes[position], exhaustive=True)
        left = list(self._places.ledger.free(cluster.name))
        several = len(demand.engines) > 1
        reasons = []
        for engine, pools in zip(demand.engines, options, strict=True):
            fitting = next((option for option in pools if option.cost <= left[option.pool]), None)
            if fitting is not None:
                left[fitting.pool] -= fitting.cost
                continue
            found = (
                _too_few(pools, cluster, left)
                if pools
                else _unfit(engine, cluster, self._places.hardware.matcher, self._explainer)
            )
            text = f"engine {engine.name}: {found.message}" if several else found.message
            reasons.append(Reason(code=found.code, message=text, summary=found.summary, short=found.short))
        if all(options) and self._places.cut_off(profile, position):
            text = "the search for other pools was given up, there are too many choices"
            reasons.append(Reason(code=ReasonCode.INSUFFICIENT_NODES, message=text, summary=_TOO_FEW))
        return tuple(sorted(reasons, key=lambda reason: reason.code == ReasonCode.INSUFFICIENT_NODES))

    def _look(self, position: int) -> object:
        cluster = self._places.clusters[position]
        pools = tuple((pool.name, pool.nodes) for pool in cluster.pools)
        return (self._places.hardware.shapes[position], pools, tuple(self._places.ledger.free(cluster.name)))


def summary(all_verdicts: Sequence[Verdict]) -> str:
    """Sum verdicts up: `0/2 clusters: 2 too few nodes (short 1)`, then the nearest cluster in its own words."""
    if not all_verdicts:
        return "the fleet has no clusters"
    decisive = [verdict.reasons[0] for verdict in all_verdicts if verdict.reasons]
    groups = Counter(reason.summary for reason in decisive)
    parts = [
        f"{count} {text}" + (f" (short {_listed(decisive)})" if text == _TOO_FEW else "")
        for text, count in sorted(groups.items(), key=lambda group: (-group[1], group[0]))
    ]
    nearest = _nearest(all_verdicts)
    return f"0/{len(all_verdicts)} clusters: {', '.join(parts)}" + (f"; {nearest}" if nearest else "")


def cause(all_verdicts: Sequence[Verdict]) -> str:
    """Name the cause where it is the same on every cluster that the labels select."""
    first = Counter(verdict.reasons[0].code for verdict in all_verdicts if verdict.reasons)
    first.pop(ReasonCode.LABEL_MISMATCH, None)
    if not first:
        return "NoClusters"
    reasons = {_ALONE.get(code, str(code)) for code in first}
    if len(reasons) == 1 and reasons != {ReasonCode.INSUFFICIENT_NODES}:
        return reasons.pop()
    return "InsufficientCapacity"


def _listed(reasons: Sequence[Reason]) -> str:
    """List how many nodes are missing, each number once, the smallest first."""
    short = sorted({reason.short for reason in reasons if reason.short})
    shown = ", ".join(map(str, short[:_SHOWN]))
    return shown if len(short) <= _SHOWN else f"{shown} … {short[-1]}"


def _nearest(all_verdicts: Sequence[Verdict]) -> str:
    """Return the cluster that misses the least: only room, else only hardware."""
    for code in (ReasonCode.INSUFFICIENT_NODES, ReasonCode.NO_MATCHING_HARDWARE):
        only = [verdict for verdict in all_verdicts if verdict.reasons and verdict.reasons[0].code == code]
        only = [verdict for verdict in only if all(reason.code == code for reason in verdict.reasons)]
        if only:
            best = min(only, key=lambda verdict: (sum(reason.short for reason in verdict.reasons), verdict.cluster))
            return f"{best.cluster}: {'; '.join(reason.message for reason in best.reasons)}"
    return ""


def _too_few(pools: Sequence[Option], cluster: Cluster, left: Sequence[int]) -> Reason:
    best = min(pools, key=lambda option: option.cost - left[option.pool])
    pool, free = cluster.pools[best.pool], left[best.pool]
    text = f"pool {pool.name} has {max(0, free)} of {max(0, pool.nodes)} nodes free, needs {best.cost}"
    short = best.cost - free
    return Reason(code=ReasonCode.INSUFFICIENT_NODES, message=text, summary=_TOO_FEW, short=short)


def _unfit(engine: EngineDemand, cluster: Cluster, matcher: Matcher, explainer: Explainer) -> Reason:
    pools = [pool for pool in cluster.pools if not pool.leaving]
    fits = [
        [matcher.fit(member.requests, pool.devices, exhaustive=True) for pool in pools] for member in engine.members
    ]
    several = len(engine.members) > 1
    texts = [
        (f"{member.role} " if several else "")
        + explainer.misfit(member.requests, pools)
        + _given_up(member, pools, matcher)
        for member, each in zip(engine.members, fits, strict=True)
        if all(fit is None for fit in each)
    ]
    if not texts and not any(fit for each in fits for fit in each):
        texts = ["what matches can only be matched, not claimed (claim: Synthetic)"]
    text = "; ".join(texts) or "no single pool fits all members of the engine"
    return Reason(code=ReasonCode.NO_MATCHING_HARDWARE, message=text, summary="no matching hardware")


def _given_up(member: MemberDemand, pools: Sequence[Pool], matcher: Matcher) -> str:
    if any(matcher.cut_off(member.requests, pool.devices) for pool in pools):
        return " (the search for other devices was given up, there are too many choices)"
    return ""
