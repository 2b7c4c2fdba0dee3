"""ModelReplica: one complete serving instance, pinned to a cluster and its pools by the placement."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from api.base import API_VERSION, Fault, Kind, Model, repeated
from api.engines import engine_faults, member_faults
from api.grammar import DnsLabel, Integer, Text
from api.pods import PodTemplate
from api.terms import CacheRef, ClaimRequest, Phase, Role, Serving, Worker, named


class ReplicaMember(Model):
    """A member with the pool it was given and the claims resolved from that pool; absent, never empty."""

    role: Role = "Standalone"
    """Standalone, or Leader or Worker of a gang."""
    node_pool_name: Text
    """Pool of the cluster that the member runs on."""
    device_requests: Annotated[tuple[ClaimRequest, ...] | None, Field(min_length=1, max_length=16)] = None
    """Claims for each pod, as resolved against the pool; absent where the member claims nothing."""
    worker: Worker | None = None
    """Size of a gang; for Workers only."""
    template: PodTemplate
    """Pod template of the member."""

    @property
    def nodes(self) -> int:
        """Pods, and so nodes, of one copy: a Worker without `worker` counts as one."""
        return self.worker.nodes if self.worker else 1

    def faults(self) -> Iterator[Fault]:
        """Request names are unique (schema)."""
        yield from repeated(named(self.device_requests or ()), "schema", ("deviceRequests",), "name")


class ReplicaEngine(Model):
    """An engine of a replica."""

    name: DnsLabel
    """Name of the engine."""
    copies: Annotated[Integer, Field(ge=1, le=64)] = 1
    """Copies of the engine in this replica."""
    phase: Phase | None = None
    """The phase it serves, with mode PrefillDecode."""
    members: Annotated[tuple[ReplicaMember, ...], Field(min_length=1, max_length=2)]
    """One Standalone, or one Leader and one Worker."""

    def faults(self) -> Iterator[Fault]:
        """MR-V5, MR-V6 and MR-V7."""
        yield from member_faults(self.members)
        if all(member.device_requests is None for member in self.members):
            message = "some member must carry deviceRequests, or no pod gets a device"
            yield Fault("MR-V6", ("members",), message, "add deviceRequests with at least one request")


class ModelReplicaSpec(Model):
    """A deployment's engines with the placement filled in."""

    cluster_name: Text
    """InferenceCluster that the replica runs on; a replica never moves."""
    model_cache_ref: CacheRef | None = None
    """ModelCache of the same namespace that its pods mount."""
    serving: Serving | None = None
    """How requests reach the engines."""
    engines: Annotated[tuple[ReplicaEngine, ...], Field(min_length=1, max_length=8)]
    """The deployment's engines with pools and claims."""

    def faults(self) -> Iterator[Fault]:
        """MR-V1 to MR-V4."""
        yield from engine_faults(self.serving, self.engines)


class ModelReplica(Kind):
    """A document of kind ModelReplica."""

    api_version: Literal["modelplane.ai/v1alpha1"] = API_VERSION
    """Group and version of the kind."""
    kind: Literal["ModelReplica"] = "ModelReplica"
    """The kind of the document."""
    spec: ModelReplicaSpec
    """The serving instance."""
