"""What a replica's objects depend on, and the metadata they have in common. Plain data and plain functions."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from api import names
from api.replicas import ModelReplica, ReplicaEngine, ReplicaMember
from api.terms import Stack
from components.kubernetes_objects import SKIP_AWAIT

ENGINE_PORT = 8000
"""Port on which a replica's pods answer requests, whoever listens behind it."""

Plain = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One replica and the cluster it is rendered for; `labels` are on every object."""

    replica: ModelReplica
    stack: Stack = "Standard"
    inference_pools: bool = False
    """The cluster routes to InferencePools; where it does not, Unified replicas have a Service."""
    fast_pools: frozenset[str] = frozenset()
    """Node pools with a fabric of their own."""
    image_mirror: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_split(self) -> bool:
        """Whether one engine prefills and another decodes."""
        serving = self.replica.spec.serving
        return serving is not None and serving.mode == "PrefillDecode"

    @property
    def cache_claim(self) -> str | None:
        """Volume claim of the replica's cache, None where it has none."""
        reference = self.replica.spec.model_cache_ref
        return names.cache_claim(self.replica.namespace, reference.name) if reference else None


def is_gang(engine: ReplicaEngine) -> bool:
    """Whether an engine is a Leader with Workers."""
    return len(engine.members) > 1


def member_of(engine: ReplicaEngine, *, worker: bool = False) -> ReplicaMember:
    """The Worker, or the member that answers requests: a Standalone or a Leader."""
    return next(member for member in engine.members if (member.role == "Worker") is worker)


def object_metadata(setting: Setting, name: str) -> Plain:
    """Metadata of one of the replica's objects, none of which an update waits for."""
    own = {names.LABEL_DEPLOYMENT: setting.replica.metadata.labels[names.LABEL_DEPLOYMENT]}
    return {
        "name": name,
        "namespace": setting.replica.namespace,
        "labels": {**setting.labels, **own},
        "annotations": {SKIP_AWAIT: "true"},
    }
