"""Free nodes per pool, counted in whole nodes.

A pool has its published nodes less those of every active replica that claims devices there. A retained replica is
charged at the shape it is going to have, so that nobody else books what its growth needs. Free nodes may fall below
zero, because retaining asks for no room. Pools and clusters that are not in the snapshot are charged nothing.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from scheduler.plan import Overcommitted
from scheduler.snapshot import Cluster, PlacedEngine


class Ledger:
    """Free nodes of all clusters while a plan is made."""

    def __init__(self, clusters: Sequence[Cluster]) -> None:
        self._pools = {
            cluster.name: {pool.name: position for position, pool in enumerate(cluster.pools)} for cluster in clusters
        }
        self._nodes = {cluster.name: tuple(max(0, pool.nodes) for pool in cluster.pools) for cluster in clusters}
        self._free = {name: list(nodes) for name, nodes in self._nodes.items()}

    def free(self, cluster: str) -> Sequence[int]:
        """Return the free nodes of one cluster's pools, in published order."""
        return self._free.get(cluster, ())

    def row(self, cluster: str) -> Mapping[str, int]:
        """Return the free nodes of one cluster by pool."""
        return dict(zip(self._pools.get(cluster, {}), self.free(cluster), strict=True))

    def charge(self, cluster: str, engines: Iterable[PlacedEngine]) -> None:
        """Take the nodes of a replica."""
        pools = self._pools.get(cluster)
        if pools is None:
            return
        free = self._free[cluster]
        for engine in engines:
            for member in engine.members:
                if member.requests and member.pool in pools:
                    free[pools[member.pool]] -= member.nodes * engine.copies

    def overcommitted(self) -> dict[tuple[str, str], Overcommitted]:
        """Return the pools that are charged more nodes than they have, by cluster and pool."""
        return {
            (name, pool): Overcommitted(
                cluster=name, pool=pool, nodes=self._nodes[name][position], taken=self._nodes[name][position] - free
            )
            for name, row in self._free.items()
            if min(row, default=0) < 0
            for pool, position in self._pools[name].items()
            if (free := row[position]) < 0
        }


def node_costs(engines: Iterable[PlacedEngine]) -> Iterator[tuple[str, int]]:
    """Go through the pools of a replica and the nodes it takes there; members that claim nothing take none."""
    for engine in engines:
        for member in engine.members:
            if member.requests:
                yield member.pool, member.nodes * engine.copies
