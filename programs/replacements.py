"""Which pods an edit replaces, and whether the nodes for that are free. Pure functions of ledgers and pools.

A gang's size cannot change on a set that exists: its pods go, and then a new set comes. A pod's claim cannot change
either: pods with another claim take the place of those that are there, one after the other. All other edits change what
runs in place.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from programs.outputs import ClusterOutputs, Ledger, LedgerEngine, LedgerReplica


@dataclass(frozen=True, kw_only=True)
class Replacement:
    """One engine whose pods are deleted and made anew, with the nodes they take of each pool."""

    replica: str
    cluster: str
    engine: str
    what: str
    why: str
    held: Mapping[str, int]
    needed: Mapping[str, int]
    free: Mapping[str, int]

    @property
    def is_enough(self) -> bool:
        """Whether every pool has the nodes that are needed besides those that are held."""
        return all(self._more(pool) <= max(0, self.free.get(pool, 0)) for pool in self.needed)

    def plain(self) -> dict[str, Any]:
        """For programs; nodes by pool."""
        nodes = {
            pool: {"held": self.held.get(pool, 0), "needed": needed, "free": max(0, self.free.get(pool, 0))}
            for pool, needed in sorted(self.needed.items())
        }
        shown = {"replica": self.replica, "cluster": self.cluster, "engine": self.engine, "message": str(self)}
        return {**shown, "nodes": nodes, "enough": self.is_enough}

    def __str__(self) -> str:
        """A sentence for people."""
        parts = []
        for pool, needed in sorted(self.needed.items()):
            more, free = self._more(pool), max(0, self.free.get(pool, 0))
            text = f"{needed} nodes of pool {pool}, of which it holds {self.held.get(pool, 0)}"
            if more > free:
                text += f"; {more} more are needed and {free} are free: gangs wait until there are more"
            elif more > 0:
                text += f"; the {more} more are free"
            parts.append(text)
        takes = f"; it takes {' and '.join(parts)}" if parts else ""
        return (
            f"replica {self.replica}: the {self.what} of engine {self.engine} are replaced, because {self.why}{takes}"
        )

    def _more(self, pool: str) -> int:
        return self.needed[pool] - self.held.get(pool, 0)


def replacements(
    cluster: ClusterOutputs, ledger: Ledger, before: Ledger, rendered: Iterable[LedgerReplica]
) -> Iterator[Replacement]:
    """The engines among what is rendered whose pods cannot become what they are to be."""
    last = {entry.key: entry for entry in before.replicas}
    free = _free(cluster, ledger, last)
    for entry in rendered:
        engines = {engine.name: engine for engine in last[entry.key].engines} if entry.key in last else {}
        for engine in entry.engines:
            old = engines.get(engine.name)
            found = _reason(old, engine) if old is not None else None
            if old is not None and found is not None:
                yield Replacement(
                    replica=entry.key,
                    cluster=cluster.cluster,
                    engine=engine.name,
                    what=found[0],
                    why=found[1],
                    held=_nodes(old),
                    needed=_nodes(engine),
                    free=free,
                )


def _reason(old: LedgerEngine, new: LedgerEngine) -> tuple[str, str] | None:
    """What is replaced and why; None where everything changes in place."""
    if len(new.members) != len(old.members):
        return "pods", "it has other members"
    if len(new.members) > 1 and _size(old) != _size(new):
        return "gangs", f"their size changes from {_size(old)} to {_size(new)} pods"
    if [member.device_requests for member in old.members] != [member.device_requests for member in new.members]:
        return "pods", "their claims change"
    return None


def _size(engine: LedgerEngine) -> int:
    return sum(member.nodes for member in engine.members)


def _nodes(engine: LedgerEngine) -> Counter[str]:
    """Nodes by pool; a member that claims nothing takes none."""
    found: Counter[str] = Counter()
    for member in engine.members:
        if member.device_requests:
            found[member.node_pool_name] += member.nodes * engine.copies
    return found


def _free(cluster: ClusterOutputs, ledger: Ledger, last: Mapping[str, LedgerReplica]) -> Counter[str]:
    """Nodes of each pool that nobody holds, before the edit."""
    free = Counter({pool.name: pool.nodes.configured for pool in cluster.pools})
    for entry in ledger.replicas:
        if entry.cluster == cluster.cluster:
            for engine in last.get(entry.key, entry).engines:
                free.subtract(_nodes(engine))
    return free
