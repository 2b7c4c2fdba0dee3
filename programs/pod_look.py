"""A look at the pods of one cluster before its workloads are registered: for reasons, never for what is desired.

It never raises. Where nobody answers nothing is said, and readiness follows the workload objects alone.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx2
from lightkube import ApiError, Client
from lightkube.resources.core_v1 import Pod
from lightkube.resources.resource_v1 import ResourceClaim

from api import names
from components.pod_reasons import Trouble, is_ready, last_words, worst
from programs.kubernetes_access import BadKubeconfig, connect

Plain = dict[str, Any]
Key = tuple[str, str]

_UNREADABLE = (ApiError, BadKubeconfig, httpx2.HTTPError, OSError, ValueError)


@dataclass(frozen=True, kw_only=True)
class PodLook:
    """Pods by namespace and workload, and by namespace and cache; `answered` is false where nobody did."""

    answered: bool = False
    workloads: Mapping[Key, tuple[Plain, ...]] = field(default_factory=dict)
    caches: Mapping[Key, tuple[Plain, ...]] = field(default_factory=dict)
    unallocated: frozenset[Key] = frozenset()

    def trouble(self, namespace: str, workload: str) -> Trouble | None:
        """The worst trouble of a workload's pods."""
        return worst(self.workloads.get((namespace, workload), ()), self.unallocated)

    def ready(self, namespace: str, workload: str) -> int | None:
        """How many pods of a workload that answer requests are ready; None where nobody was asked."""
        if not self.answered:
            return None
        pods = self.workloads.get((namespace, workload), ())
        return sum(is_ready(pod) for pod in pods if names.LABEL_SERVING in (pod["metadata"].get("labels") or {}))

    def cache_words(self, namespace: str, cache: str) -> str:
        """What the last pod that staged a cache said at its end."""
        pods = self.caches.get((namespace, cache), ())
        newest = sorted(pods, key=lambda pod: str(pod["metadata"].get("creationTimestamp")))
        return next((words for pod in reversed(newest) if (words := last_words(pod, "hydrate"))), "")

    def cache_trouble(self, namespace: str, cache: str) -> Trouble | None:
        """The worst trouble of the pods that stage a cache."""
        return worst(self.caches.get((namespace, cache), ()), self.unallocated)


def look(kubeconfig: str, namespaces: Iterable[str]) -> PodLook:
    """Read the pods and claims of these namespaces."""
    try:
        with connect(kubeconfig) as client:
            return _look(client, sorted(set(namespaces)))
    except _UNREADABLE:
        return PodLook()


def _look(client: Client, namespaces: list[str]) -> PodLook:
    workloads: dict[Key, list[Plain]] = {}
    caches: dict[Key, list[Plain]] = {}
    unallocated: set[Key] = set()
    for namespace in namespaces:
        for pod in client.list(Pod, namespace=namespace):
            plain = pod.to_dict()
            labels = plain["metadata"].get("labels") or {}
            for label, found in ((names.LABEL_WORKLOAD, workloads), (names.LABEL_MODEL_CACHE, caches)):
                if label in labels:
                    found.setdefault((namespace, labels[label]), []).append(plain)
        unallocated |= {
            (namespace, str(plain["metadata"]["name"]))
            for claim in client.list(ResourceClaim, namespace=namespace)
            if not ((plain := claim.to_dict()).get("status") or {}).get("allocation")
        }
    return PodLook(
        answered=True,
        workloads={key: tuple(pods) for key, pods in workloads.items()},
        caches={key: tuple(pods) for key, pods in caches.items()},
        unallocated=frozenset(unallocated),
    )
