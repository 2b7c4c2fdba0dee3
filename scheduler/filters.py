"""The gates a cluster must pass to take something new, all but hardware and room."""

from collections.abc import Iterator, Mapping

from scheduler.demand import Demand
from scheduler.plan import Reason, ReasonCode
from scheduler.snapshot import CacheFootprint, Cluster
from scheduler.taints import untolerated


def failing_gates(demand: Demand, cluster: Cluster) -> Iterator[Reason]:
    """Go through the gates that a cluster fails for a deployment, most decisive first."""
    yield from selection_gates(demand, cluster)
    yield from condition_gates(demand, cluster)


def condition_gates(demand: Demand, cluster: Cluster) -> Iterator[Reason]:
    """Go through the failing gates that depend on neither name nor labels: state, taints and serving stack."""
    yield from _state(cluster)
    taints = untolerated(cluster.taints, demand.tolerations)
    if taints:
        keys = ", ".join(sorted({taint.key for taint in taints}))
        noun = "taint" if len(taints) == 1 else "taints"
        text = ", ".join(f"{taint.key}:{taint.effect}" for taint in taints)
        summary = f"untolerated {noun} {keys}"
        yield Reason(code=ReasonCode.TAINTED, message=f"carries the untolerated {noun} {text}", summary=summary)
    missing = _missing_capability(demand, cluster)
    if missing:
        summary = "incompatible serving stack"
        yield Reason(code=ReasonCode.STACK_INCOMPATIBLE, message=missing, summary=summary)


def selection_gates(demand: Demand, cluster: Cluster) -> Iterator[Reason]:
    """Go through the failing gates of the cluster selectors: the deployment's own and its cache's."""
    if demand.conflict is not None:
        text = f"the deployment and cache {demand.cache} want different values of label {demand.conflict}"
        yield Reason(code=ReasonCode.SELECTORS_CONFLICT, message=text, summary="conflicting cluster selectors")
    if demand.cache is not None and demand.footprint is None:
        text = f"cache {demand.cache} not found"
        yield Reason(code=ReasonCode.CACHE_NOT_FOUND, message=text, summary=text)
    wrong = _wrong_label(demand.labels, cluster)
    if wrong:
        yield Reason(code=ReasonCode.LABEL_MISMATCH, message=wrong, summary="not matching the cluster selector")
    if demand.footprint is None:
        return
    outside = _outside(demand.footprint, cluster)
    if outside:
        text = f"outside cache {demand.cache}'s clusters"
        yield Reason(code=ReasonCode.OUTSIDE_CACHE_CLUSTERS, message=f"is {text}: {outside}", summary=text)


def _outside(footprint: CacheFootprint, cluster: Cluster) -> str:
    wrong = _wrong_label(footprint.match_labels, cluster)
    if wrong:
        return f"it {wrong}"
    if footprint.clusters is None or cluster.name in footprint.clusters:
        return ""
    return footprint.refused.get(cluster.name, "it has no storage that many nodes can mount (ReadWriteMany)")


def _state(cluster: Cluster) -> Iterator[Reason]:
    if cluster.held:
        text = "is held: its document is gone"
        yield Reason(code=ReasonCode.HELD, message=text, summary="held without a document")
    if not cluster.reachable:
        yield Reason(code=ReasonCode.UNREACHABLE, message="is unreachable", summary="unreachable")
    elif not cluster.ready:
        yield Reason(code=ReasonCode.NOT_READY, message="is not ready", summary="not ready")
    elif not cluster.gateway_address:
        yield Reason(code=ReasonCode.NOT_READY, message="has no gateway address yet", summary="not ready")


def _wrong_label(labels: Mapping[str, str], cluster: Cluster) -> str:
    for key in sorted(labels):
        if key not in cluster.labels:
            return f"lacks the label {key}={labels[key]}"
        if cluster.labels[key] != labels[key]:
            return f"has the label {key}={cluster.labels[key]}, not {labels[key]}"
    return ""


def _missing_capability(demand: Demand, cluster: Cluster) -> str:
    able = cluster.capabilities
    if demand.prefill_decode and not able.inference_pools:
        return "has no inference pools, which PrefillDecode needs"
    if demand.gang and not able.gangs:
        return "runs no gangs, which an engine with Leader and Worker needs"
    if demand.reads_rank and not able.rank:
        return f"runs the {cluster.stack} stack, which sets no MODELPLANE_RANK"
    return ""
