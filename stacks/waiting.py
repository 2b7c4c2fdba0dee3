"""What a pass waits for on a cluster: workloads of a replica, the Job of a cache; and how that is put in words."""

from collections.abc import Collection

from api import names
from api.terms import Stack
from programs.outputs import CacheState, LedgerReplica
from programs.replica_state import workload_name
from stacks.live import Waiting

_CACHE = "cache "


def waiting_for_replica(entry: LedgerReplica, stack: Stack, *, has_picker: bool) -> Waiting:
    """All workloads of a replica, and its endpoint picker where it has one."""
    found = ["/".join(workload_name(entry.name, engine, stack)) for engine in entry.engines]
    pickers = [f"Picker/{names.endpoint_picker(entry.name)}"] if has_picker else []
    return Waiting(key=entry.key, namespace=entry.namespace, workloads=(*found, *pickers))


def waiting_for_cache(key: str) -> Waiting:
    """The Job that stages a cache, whichever way it ends."""
    namespace, _, name = key.partition("/")
    return Waiting(key=f"{_CACHE}{key}", namespace=namespace, workloads=(f"Job/{names.cache_job(namespace, name)}",))


def is_under_way(state: CacheState) -> bool:
    """Whether something stages the cache that will end: not where it failed, and not where its token is missing."""
    return state.phase in ("Pending", "Hydrating") and state.reason != "AuthSecretMissing"


def counted_text(waited: Collection[Waiting]) -> str:
    """How many replicas and caches, in words."""
    caches = sum(waiting.key.startswith(_CACHE) for waiting in waited)
    counts = (("replica", len(waited) - caches), ("cache", caches))
    return " and ".join(f"{count} {noun}{'s' if count > 1 else ''}" for noun, count in counts if count)
