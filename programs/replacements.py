"""Which gangs an edit replaces, and whether the nodes for that are free. Pure functions of ledgers and pools.

A gang's size cannot change on a set that exists: its pods go, and then a new set comes. All other edits change what
runs in place.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from programs.outputs import ClusterOutputs, Ledger, LedgerEngine, LedgerReplica


@dataclass(frozen=True, kw_only=True)
class Replacement:
    """One engine whose set is deleted and made anew, with the nodes it takes of each pool."""

    replica: str
    engine: str
    before: int
    after: int
    """Pods of one copy."""
    held: Mapping[str, int]
    needed: Mapping[str, int]
    free: Mapping[str, int]

    def __str__(self) -> str:
        """A sentence for people."""
        parts = []
        for pool, needed in sorted(self.needed.items()):
            more, free = needed - self.held.get(pool, 0), max(0, self.free.get(pool, 0))
            text = f"{needed} nodes of pool {pool}, of which it holds {self.held.get(pool, 0)}"
            if more > free:
                text += f"; {more} more are needed and {free} are free: gangs wait until there are more"
            elif more > 0:
                text += f"; the {more} more are free"
            parts.append(text)
        return (
            f"replica {self.replica}: the gangs of engine {self.engine} are replaced, because their size changes from "
            f"{self.before} to {self.after} pods; it takes {' and '.join(parts)}"
        )


def replacements(
    cluster: ClusterOutputs, ledger: Ledger, before: Ledger, rendered: Iterable[LedgerReplica]
) -> Iterator[Replacement]:
    """The gangs among what is rendered whose size differs from what the stack rendered last."""
    last = {entry.key: entry for entry in before.replicas}
    free = _free(cluster, ledger, last)
    for entry in rendered:
        engines = {engine.name: engine for engine in last[entry.key].engines} if entry.key in last else {}
        for engine in entry.engines:
            old = engines.get(engine.name)
            if old is not None and len(engine.members) > 1 and _size(old) != _size(engine):
                yield Replacement(
                    replica=entry.key,
                    engine=engine.name,
                    before=_size(old),
                    after=_size(engine),
                    held=_nodes(old),
                    needed=_nodes(engine),
                    free=free,
                )


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
