"""Which replicas of one deployment take a changed template now. Pure.

Replicas that are not ready take it first, all at once: nothing is lost with them, and the fix of a bad template
reaches the broken one before the others. Ready ones take it one at a time, and only while every other reachable
replica of the deployment is ready with what it has. Replicas of unreachable clusters keep theirs and follow later.
"""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Rollable:
    """One placed replica as far as rolling is concerned."""

    key: str
    changes: bool
    """The documents want something else of its pods than the ledger says."""
    reachable: bool
    ready: bool
    """Ready, and with exactly what the ledger says."""


def take_change_now(replicas: Iterable[Rollable]) -> set[str]:
    """Keys of the replicas whose ledger entry is changed in this run."""
    reachable = sorted((replica for replica in replicas if replica.reachable), key=lambda replica: replica.key)
    broken = [replica for replica in reachable if not replica.ready]
    if broken:
        return {replica.key for replica in broken if replica.changes}
    return {replica.key for replica in reachable if replica.changes and _is_first(replica, reachable)}


def _is_first(replica: Rollable, reachable: Iterable[Rollable]) -> bool:
    return replica.key == next(other.key for other in reachable if other.changes)
