"""Which caches are staged on which clusters, and which of those already are. Pure functions of plain data.

A cache belongs on every cluster that its selector matches and that can hold it, and stays wherever a replica of the
ledger names it, whatever its document says by now. What a cluster cannot hold is told by a reason.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from api.caches import HuggingFace, ModelCache, ModelCacheSpec
from api.documents import FleetDocuments
from api.fleets import FleetSpec
from components.cache_manifests import CacheSetting
from programs.outputs import CacheRefusal, CacheState, ClusterOutputs, Ledger, LedgerCache, LedgerReplica

Key = tuple[str, str]

FIXED_VOLUMES_GIB: Mapping[str, int] = {"Nebius": 1024}
"""GiB of the one file system that holds all caches of a cluster, by source; elsewhere each has a volume of its own."""
FIRST_PAUSE, LONGEST_PAUSE = 60, 1800
"""Seconds from the failure of a Job to the next attempt: twice as long each time, up to half an hour."""
WITHOUT_SHARED_STORAGE = frozenset({"Vultr"})


@dataclass(frozen=True, kw_only=True)
class Footprints:
    """Clusters of each cache, and why others that it asks for are left out."""

    clusters: Mapping[Key, frozenset[str]]
    refused: Mapping[Key, Mapping[str, CacheRefusal]]


def footprints(documents: FleetDocuments, outputs: Mapping[str, ClusterOutputs], last: Ledger) -> Footprints:
    """Where each cache can be. On a volume of fixed size, caches that are there already come first, then by name."""
    held = {(cache.namespace, cache.name): set(cache.clusters) for cache in last.caches}
    found: dict[Key, set[str]] = {key: set() for key in documents.caches}
    refused: dict[Key, dict[str, CacheRefusal]] = {key: {} for key in documents.caches}
    for cluster in sorted(documents.clusters):
        left = FIXED_VOLUMES_GIB.get(documents.clusters[cluster].spec.cluster.source)
        total = left
        wanting = [key for key in documents.caches if _selects(documents.caches[key], documents, cluster)]
        for key in sorted(wanting, key=lambda each: (cluster not in held.get(each, ()), each)):
            size = _size(documents.caches[key])
            if not _has_storage(documents, outputs, cluster):
                refused[key][cluster] = CacheRefusal(
                    reason="Unsupported", message=f"{cluster} has no storage that many nodes can mount (ReadWriteMany)"
                )
            elif left is not None and size > left:
                text = f"the volume of {cluster} has {left} of {total} GiB left, {key[0]}/{key[1]} needs {size}"
                refused[key][cluster] = CacheRefusal(reason="OutOfSpace", message=text)
            else:
                left = left - size if left is not None else None
                found[key].add(cluster)
    return Footprints(clusters={key: frozenset(each) for key, each in found.items()}, refused=refused)


def staged(
    documents: FleetDocuments, places: Footprints, last: Ledger, replicas: Iterable[LedgerReplica]
) -> tuple[LedgerCache, ...]:
    """The caches of the next ledger. One without a document goes when no replica names it any more."""
    before = {(cache.namespace, cache.name): cache for cache in last.caches}
    in_use: dict[Key, set[str]] = {}
    for entry in replicas:
        if entry.model_cache_ref:
            in_use.setdefault((entry.namespace, entry.model_cache_ref), set()).add(entry.cluster)
    found = []
    for key in sorted({*documents.caches, *(key for key in in_use if key in before)}):
        document = documents.caches.get(key)
        clusters = in_use.get(key, set()) | (places.clusters[key] if document else set())
        spec = _plain(document) if document else before[key].spec
        refused = {name: why for name, why in places.refused.get(key, {}).items() if name not in clusters}
        found.append(
            LedgerCache(namespace=key[0], name=key[1], spec=spec, clusters=tuple(sorted(clusters)), refused=refused)
        )
    return tuple(found)


def cache_setting(
    cache: LedgerCache, cluster: ClusterOutputs, settings: FleetSpec, *, labels: dict[str, str]
) -> CacheSetting:
    """What is rendered for a cache. A cluster that names no storage class any more keeps the volumes it has."""
    return CacheSetting(
        namespace=cache.namespace,
        name=cache.name,
        source=source_of(cache),
        storage_class=cluster.storage_class or "",
        hydration=settings.caches.hydration,
        image_mirror=settings.image_mirror,
        labels=labels,
    )


def source_of(cache: LedgerCache) -> HuggingFace:
    """Where the weights of a cache come from."""
    spec = ModelCacheSpec.model_validate(cache.spec, by_alias=True, by_name=False)
    if spec.hugging_face is None:
        raise ValueError(f"cache {cache.key} has no origin")
    return spec.hugging_face


def is_staged(state: CacheState | None, identity: str | None = None) -> bool:
    """Whether a volume holds what it should, as far as its stack last said; of any content where none is given."""
    return state is not None and state.phase == "Ready" and (identity is None or state.identity == identity)


def next_attempt(state: CacheState) -> str | None:
    """When a cache that failed is to be tried again, RFC 3339 in UTC; None for one that did not fail."""
    if state.phase != "Failed" or not isinstance(state.since, str):
        return None
    pause = min(FIRST_PAUSE * 2 ** min(state.attempt - 1, 16), LONGEST_PAUSE)
    at = datetime.fromisoformat(state.since) + timedelta(seconds=pause)
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def attempt(before: CacheState | None, identity: str, now: str, *, is_changed: bool) -> int:
    """Which Job is to stage a cache: the next one after a failure, once its pause is over or its input `is_changed`."""
    if before is None or before.phase == "Ready" or before.identity != identity:
        return 1
    after = next_attempt(before)
    is_due = after is not None and (is_changed or datetime.fromisoformat(after) <= datetime.fromisoformat(now))
    return before.attempt + 1 if is_due else before.attempt


def _selects(cache: ModelCache, documents: FleetDocuments, cluster: str) -> bool:
    wanted = cache.spec.cluster_selector.match_labels if cache.spec.cluster_selector else {}
    labels = documents.clusters[cluster].metadata.labels
    return all(labels.get(key) == value for key, value in wanted.items())


def _has_storage(documents: FleetDocuments, outputs: Mapping[str, ClusterOutputs], name: str) -> bool:
    """A managed cluster gets its storage when it is made; one that was handed over names a class, or has none."""
    source = documents.clusters[name].spec.cluster
    existing = source.existing
    if existing is None:
        return source.source not in WITHOUT_SHARED_STORAGE
    found = outputs.get(name)
    return bool(existing.cache and existing.cache.storage_class_name) or bool(found and found.storage_class)


def _size(cache: ModelCache) -> int:
    return cache.spec.hugging_face.size_gib if cache.spec.hugging_face else 0


def _plain(document: ModelCache) -> dict[str, Any]:
    return document.spec.model_dump(by_alias=True, exclude_none=True, mode="json")
