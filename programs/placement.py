"""The `placement` stack: no resources, only outputs. The ledger it exports is what every cluster works from."""

from collections.abc import Collection
from dataclasses import replace

import pulumi

from api.errors import DeletionRefused
from programs.context import Context, Permissions
from programs.deployed import refuse_changed_caches, refuse_moved_replicas
from programs.guard import guard
from programs.ledger import merged
from programs.outputs import ClusterOutputs, PlacementOutputs, ServingOutputs, WorkloadsOutputs
from programs.placement_plan import Observed, plan_placement


def program(context: Context) -> None:
    """Decide where replicas go and export the ledger.

    Raises:
        DeletionRefused: as `decide` does.

    """
    for key, value in decide(context).plain().items():
        pulumi.export(key, value)


def decide(context: Context) -> PlacementOutputs:
    """What the stack exports. Nothing is registered.

    Raises:
        DeletionRefused: there is no ledger while a workloads stack lists replicas, or more would go than one run may
            delete.
        InvocationError: a field of a cache was edited that cannot change once it is staged.

    """
    last = context.last(PlacementOutputs)
    refuse_changed_caches(context.documents, last)
    clusters = set(context.documents.clusters)
    if last is not None:
        clusters |= {entry.cluster for entry in last.ledger.replicas}
    observed = Observed(
        clusters=context.read_all(ClusterOutputs, "cluster", clusters),
        serving=context.read_all(ServingOutputs, "serving", clusters),
        workloads=context.read_all(WorkloadsOutputs, "workloads", clusters),
        last=last,
    )
    observed = with_ledger(observed, context.permissions)
    outputs = plan_placement(
        context.documents,
        observed,
        now=context.now,
        preview=context.preview,
        leaving=context.permissions.leaving,
    )
    refuse_moved_replicas(observed.last, outputs)
    refuse_deletions(context, observed.last, outputs)
    return outputs


def with_ledger(observed: Observed, permissions: Permissions) -> Observed:
    """The same with a ledger: one that is missing while replicas run is rebuilt where that is allowed, else refused.

    Raises:
        DeletionRefused: replicas run, there is no ledger, and rebuilding it is not allowed.

    """
    holding = {name: workloads for name, workloads in observed.workloads.items() if workloads.replicas}
    if not holding or (observed.last is not None and observed.last.ledger.replicas):
        return observed
    if not permissions.rebuild_ledger:
        raise DeletionRefused(
            f"there is no ledger, and replicas run on {', '.join(holding)}",
            hint="`modelplane up --rebuild-ledger` takes it from what the clusters hold; nothing was deleted",
            code="MP328",
        )
    ledger = merged(workloads.ledger for workloads in holding.values())
    return replace(observed, last=PlacementOutputs(ledger=ledger))


def refuse_deletions(context: Context, last: PlacementOutputs | None, outputs: PlacementOutputs) -> None:
    """Check what leaves the ledger's active replicas; those of clusters that are to lose theirs do not count.

    Raises:
        DeletionRefused: too many.

    """
    active = sum(entry.state == "active" for entry in (last.ledger.replicas if last else ()))
    share = context.fleet.spec.deletion.share
    going = replicas_going(last, outputs, context.permissions.leaving)
    guard("replicas", going, active, share, context.permissions.deletions)


def replicas_going(
    last: PlacementOutputs | None, outputs: PlacementOutputs, leaving: Collection[str] = ()
) -> list[str]:
    """Active replicas of the last ledger that the next one has not, one line each as the guard tells them."""
    active = {entry.key: entry for entry in (last.ledger.replicas if last else ()) if entry.state == "active"}
    stays = {entry.key for entry in outputs.ledger.replicas if entry.state == "active"}
    return [
        f"replica {key} on {entry.cluster}"
        for key, entry in active.items()
        if key not in stays and entry.cluster not in leaving
    ]
