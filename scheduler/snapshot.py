"""What the scheduler decides from: a frozen view of clusters, deployments and replicas at one moment."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from api.classes import Device
from api.deployments import ModelDeployment
from api.terms import ClaimRequest, Phase, Role, Stack, Taint

DeploymentKey = tuple[str, str]
"""Namespace and name of a deployment."""


@dataclass(frozen=True, kw_only=True)
class Pool:
    """A node pool: how many nodes may be counted on, and the devices that each of them has."""

    name: str
    nodes: int
    devices: tuple[Device, ...]
    leaving: bool = False
    """The documents no longer have it: what is pinned to it leaves, and nothing new comes."""


@dataclass(frozen=True, kw_only=True)
class Capabilities:
    """What the serving stack of a cluster can do."""

    inference_pools: bool = True
    gangs: bool = True
    rank: bool = True
    """Pods of a gang find their number in MODELPLANE_RANK."""


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """A cluster as it is declared and as it was last seen. Pools are in published order, which decides ties."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    ready: bool
    reachable: bool = True
    gateway_address: str | None
    stack: Stack = "Standard"
    capabilities: Capabilities = Capabilities()
    pools: tuple[Pool, ...]
    held: bool = False
    """The documents no longer have it: it takes nothing new and loses nothing."""


@dataclass(frozen=True, order=True, kw_only=True)
class ReplicaKey:
    """The identity of a replica; it never changes cluster, and its index is unique there within the deployment."""

    namespace: str
    deployment: str
    cluster: str
    index: int


@dataclass(frozen=True, kw_only=True)
class PlacedMember:
    """Where the pods of one member run, what each of them claims, and the facts it was matched on."""

    role: Role
    pool: str
    nodes: int
    """Pods of one copy, each on a node of its own."""
    requests: tuple[ClaimRequest, ...]
    facts: tuple[Device, ...]


@dataclass(frozen=True, kw_only=True)
class PlacedEngine:
    """One engine of a placed replica."""

    name: str
    copies: int
    phase: Phase | None
    members: tuple[PlacedMember, ...]


@dataclass(frozen=True, kw_only=True)
class PlacedReplica:
    """A replica of the ledger. `applied` is false until its cluster has it at this place."""

    key: ReplicaKey
    name: str
    engines: tuple[PlacedEngine, ...]
    applied: bool = True


@dataclass(frozen=True, kw_only=True)
class CacheFootprint:
    """Where a cache can be: on clusters that can hold it and carry the labels it asks for.

    `clusters` are those with storage that many nodes can mount (ReadWriteMany) and room for it; None where all can.
    `refused` says of others in words why they cannot hold it.
    """

    clusters: frozenset[str] | None
    match_labels: Mapping[str, str] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """Everything one decision is made from; the order of clusters, deployments and replicas does not matter.

    `replicas` are the active ones of all deployments, also of deployments that are gone; `retiring` are those that
    an earlier decision dropped and that still occupy their nodes. Only caches that exist are in `caches`.
    """

    clusters: tuple[Cluster, ...]
    deployments: tuple[ModelDeployment, ...]
    replicas: tuple[PlacedReplica, ...] = ()
    retiring: tuple[PlacedReplica, ...] = ()
    caches: Mapping[DeploymentKey, CacheFootprint] = field(default_factory=dict)
