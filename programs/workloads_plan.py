"""Which replicas of the ledger one cluster renders now. A pure function of three stacks' outputs.

A retiring replica stays while routing lists its endpoint. A new replica is rendered in the very run that stops
rendering what it waits for, so that two replicas never hold the same nodes (design, "Retiring"). One with a cache is
rendered once that is staged on the cluster; what runs already stays, also while another revision is staged.
"""

from collections.abc import Container
from dataclasses import dataclass

from api.errors import DeletionRefused
from programs.cache_plan import is_staged
from programs.outputs import Ledger, LedgerCache, LedgerReplica, PlacementOutputs, RoutingOutputs, WorkloadsOutputs


@dataclass(frozen=True, kw_only=True)
class Rendering:
    """Replicas and caches to render, and replicas that wait for nodes of others or for their cache."""

    replicas: tuple[LedgerReplica, ...]
    waiting: tuple[LedgerReplica, ...]
    caches: tuple[LedgerCache, ...] = ()


def plan_workloads(
    cluster: str,
    ledger: Ledger,
    routing: RoutingOutputs | None,
    last: WorkloadsOutputs | None,
    *,
    assume_staged: bool = False,
) -> Rendering:
    """The replicas and caches of `cluster` to render; a preview of the whole fleet takes caches for staged."""
    in_use: Container[str] = routing.endpoints if routing else ()
    listed: Container[str] = last.replicas if last else ()
    here = [entry for entry in ledger.replicas if entry.cluster == cluster]
    kept = [entry for entry in here if entry.state == "retiring" and entry.key in in_use and entry.key in listed]
    blocking = {entry.key for entry in kept}
    active = [entry for entry in here if entry.state == "active"]
    rendered = [
        entry
        for entry in active
        if entry.key in listed
        or (not blocking.intersection(entry.waits_for) and (assume_staged or not waits_for_cache(entry, last)))
    ]
    waiting = [entry for entry in active if entry not in rendered]
    caches = tuple(cache for cache in ledger.caches if cluster in cache.clusters)
    return Rendering(replicas=(*rendered, *kept), waiting=tuple(waiting), caches=caches)


def waits_for_cache(entry: LedgerReplica, last: WorkloadsOutputs | None) -> bool:
    """Whether a replica that is not rendered yet waits until its cache is staged on its cluster."""
    if entry.model_cache_ref is None or entry.starts_early:
        return False
    return not is_staged(last.caches.get(f"{entry.namespace}/{entry.model_cache_ref}") if last else None)


def ledger_or_refuse(placement: PlacementOutputs | None, *, lists_anything: bool, stack: str) -> Ledger:
    """The ledger; a missing or empty one is never taken for "nothing is wanted" while the stack holds something.

    Raises:
        DeletionRefused: placement exports no ledger and the stack's own last outputs list replicas or endpoints.

    """
    if placement is not None and (placement.ledger.replicas or not lists_anything):
        return placement.ledger
    if lists_anything:
        raise DeletionRefused(
            f"stack {stack} holds replicas or endpoints, and the placement stack exports no ledger",
            hint="bring the placement stack up first; nothing was deleted",
            code="MP327",
        )
    return Ledger()
