"""Free nodes per pool, counted in whole nodes.

A pool has its published nodes less those of every active replica that claims devices there. A retained replica is
charged at the shape it is going to have, so that nobody else books what its growth needs. Free nodes may fall below
zero, because retaining asks for no room. Pools and clusters that are not in the snapshot are charged nothing.
"""

from collections.abc import Iterable, Iterator, Mapping

from scheduler.snapshot import Cluster, PlacedEngine

Row = dict[str, int]
"""Free nodes of one cluster by pool."""


class Ledger:
    """Free nodes of all clusters while a plan is made."""

    def __init__(self, clusters: Iterable[Cluster]) -> None:
        self._rows: dict[str, Row] = {
            cluster.name: {pool.name: max(0, pool.nodes) for pool in cluster.pools} for cluster in clusters
        }

    def row(self, cluster: str) -> Mapping[str, int]:
        """Return the free nodes of one cluster by pool."""
        return self._rows.get(cluster, {})

    def charge(self, cluster: str, engines: Iterable[PlacedEngine]) -> None:
        """Take the nodes of a replica."""
        row = self._rows.get(cluster, {})
        for pool, nodes in node_costs(engines):
            if pool in row:
                row[pool] -= nodes


def node_costs(engines: Iterable[PlacedEngine]) -> Iterator[tuple[str, int]]:
    """Go through the pools of a replica and the nodes it takes there; members that claim nothing take none."""
    for engine in engines:
        for member in engine.members:
            if member.requests:
                yield member.pool, member.nodes * engine.copies
