"""The `placement` stack: no resources, only outputs. The ledger it exports is what every cluster works from."""

import pulumi

from api.errors import DeletionRefused
from programs.context import Context
from programs.outputs import ClusterOutputs, PlacementOutputs, ServingOutputs, WorkloadsOutputs
from programs.placement_plan import Observed, plan_placement


def program(context: Context) -> None:
    """Decide where replicas go and export the ledger.

    Raises:
        DeletionRefused: this stack has exported no ledger and a workloads stack lists replicas.

    """
    last = context.last(PlacementOutputs)
    clusters = set(context.documents.clusters)
    if last is not None:
        clusters |= {entry.cluster for entry in last.ledger.replicas}
    observed = Observed(
        clusters=context.read_all(ClusterOutputs, "cluster", clusters),
        serving=context.read_all(ServingOutputs, "serving", clusters),
        workloads=context.read_all(WorkloadsOutputs, "workloads", clusters),
        last=last,
    )
    holding = [name for name, workloads in observed.workloads.items() if workloads.replicas]
    if last is None and holding:
        raise DeletionRefused(
            f"there is no ledger, and replicas run on {', '.join(holding)}",
            hint="restore the placement stack from a backup; nothing was deleted",
            code="MP328",
        )
    outputs = plan_placement(context.documents, observed, now=context.now, preview=context.preview)
    for key, value in outputs.plain().items():
        pulumi.export(key, value)
