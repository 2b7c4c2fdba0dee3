"""Pools that wait to be empty before they go, or are made anew, and are now."""

from collections.abc import Collection

from programs.outputs import ClusterOutputs, WorkloadsOutputs


def emptied(outputs: ClusterOutputs, declared: Collection[str], workloads: WorkloadsOutputs | None) -> frozenset[str]:
    """Pools of one cluster that its next update takes away or replaces: no replica is on them any more."""
    in_use = set(workloads.pools) if workloads else set()
    going = {pool.name for pool in outputs.pools if pool.replacing or pool.name not in declared}
    return frozenset(going - in_use)
