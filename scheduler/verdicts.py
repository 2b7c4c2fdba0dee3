"""Why each cluster takes no further replica of a deployment, and the one line that sums it up."""

from collections import Counter
from collections.abc import Sequence

from scheduler.demand import EngineDemand
from scheduler.explain import misfit
from scheduler.fill import Fitter, Option, choose_pools
from scheduler.filters import failing_gates
from scheduler.ledger import Ledger
from scheduler.match import Matcher
from scheduler.plan import Reason, ReasonCode, Verdict
from scheduler.snapshot import Cluster


def verdicts(fitter: Fitter, clusters: Sequence[Cluster], ledger: Ledger) -> tuple[Verdict, ...]:
    """Return every failing gate of every cluster, with the ledger as the last attempt left it."""
    return tuple(
        Verdict(
            cluster=cluster.name, reasons=(*failing_gates(fitter.demand, cluster), *_no_room(fitter, cluster, ledger))
        )
        for cluster in clusters
    )


def summary(all_verdicts: Sequence[Verdict]) -> str:
    """Sum verdicts up: `0/2 clusters: 2 too few nodes (short 1)`, then the nearest cluster in its own words."""
    decisive = [verdict.reasons[0] for verdict in all_verdicts if verdict.reasons]
    groups = Counter(reason.summary for reason in decisive)
    short = sorted({reason.short for reason in decisive if reason.short})
    parts = [
        f"{count} {text}" + (f" (short {', '.join(map(str, short))})" if text == _TOO_FEW else "")
        for text, count in sorted(groups.items(), key=lambda group: (-group[1], group[0]))
    ]
    nearest = _nearest(all_verdicts)
    return f"0/{len(all_verdicts)} clusters: {', '.join(parts)}" + (f"; {nearest}" if nearest else "")


_TOO_FEW = "too few nodes"


def _nearest(all_verdicts: Sequence[Verdict]) -> str:
    """Return the cluster that misses the least: only room, else only hardware."""
    for code in (ReasonCode.INSUFFICIENT_NODES, ReasonCode.NO_MATCHING_HARDWARE):
        only = [verdict for verdict in all_verdicts if [reason.code for reason in verdict.reasons] == [code]]
        if only:
            best = min(only, key=lambda verdict: (verdict.reasons[0].short, verdict.cluster))
            return f"{best.cluster}: {best.reasons[0].message}"
    return ""


def _no_room(fitter: Fitter, cluster: Cluster, ledger: Ledger) -> tuple[Reason, ...]:
    options = fitter.options(cluster, exhaustive=True)
    engines = fitter.demand.engines
    for engine, pools in zip(engines, options, strict=True):
        if not pools:
            text = _named(engine, len(engines), _misfit(engine, cluster, fitter.matcher))
            return (Reason(code=ReasonCode.NO_MATCHING_HARDWARE, message=text, summary="no matching hardware"),)
    free = dict(ledger.row(cluster.name))
    if choose_pools(options, free, exhaustive=True) is not None:
        return ()
    for engine, pools in zip(engines, options, strict=True):
        fitting = next((option for option in pools if option.cost <= free[option.pool.name]), None)
        if fitting is None:
            return (_too_few(engine, pools, free, len(engines)),)
        free[fitting.pool.name] -= fitting.cost
    raise AssertionError("engines that fit one by one fit together")


def _too_few(engine: EngineDemand, pools: Sequence[Option], free: dict[str, int], engines: int) -> Reason:
    best = min(pools, key=lambda option: option.cost - free[option.pool.name])
    left = free[best.pool.name]
    text = f"pool {best.pool.name} has {max(0, left)} of {max(0, best.pool.nodes)} nodes free, needs {best.cost}"
    return Reason(
        code=ReasonCode.INSUFFICIENT_NODES,
        message=_named(engine, engines, text),
        summary=_TOO_FEW,
        short=best.cost - left,
    )


def _misfit(engine: EngineDemand, cluster: Cluster, matcher: Matcher) -> str:
    pools = [pool for pool in cluster.pools if not pool.leaving]
    fits = [
        [matcher.fit(member.requests, pool.devices, exhaustive=True) for pool in pools] for member in engine.members
    ]
    for member, each in zip(engine.members, fits, strict=True):
        if all(fit is None for fit in each):
            return misfit(member.requests, pools, matcher)
    if not any(fit for each in fits for fit in each):
        return "what matches can only be matched, not claimed (claim: Synthetic)"
    return "no single pool fits all members of the engine"


def _named(engine: EngineDemand, engines: int, text: str) -> str:
    return text if engines == 1 else f"engine {engine.name}: {text}"
