"""What is observed of each kind: the fields of `status`, and the conditions with their reasons.

Documents never hold it (one that does was exported, and it is ignored); `status -o yaml` prints it beside the spec.
The reasons are those that upstream's users know; the few that differ say more (traps B1 to B6 of the contract).
"""

from collections.abc import Mapping
from typing import Annotated, Final, Literal

from pydantic import Field

from api.base import Condition, Model
from api.classes import Device

ConditionStatus = Literal["True", "False", "Unknown"]
Conditions = tuple[Condition, ...]
CachePhase = Literal["Pending", "Hydrating", "Ready", "Failed", "Unsupported"]


class Status(Model):
    """What every kind has."""

    conditions: Conditions = ()
    """What is true of the object, one entry for each type."""


class InferenceGatewayStatus(Status):
    """The front door as it is."""

    address: str | None = None
    """First address of the Gateway that clients meet."""


class InferenceClassStatus(Status):
    """A class is data, so there is little to observe."""


class NamedStatus(Model):
    """A reference to something by its name."""

    name: str
    """Its name."""


class AddressStatus(Model):
    """Something that can be reached."""

    address: str | None = None
    """Its address."""


class CacheStorageStatus(Model):
    """Storage for caches on a cluster."""

    storage_class_name: Annotated[str, Field(max_length=253)] | None = None
    """StorageClass that caches use there; absent where none can stage."""


class GpuPoolStatus(Model):
    """A pool as the scheduler matches it."""

    name: str
    """Name of the pool."""
    nodes: int | None = None
    """Nodes that count for placement."""
    nodes_present: int | None = None
    """Nodes that are there; absent where the cluster was not asked."""
    devices: Annotated[tuple[Device, ...], Field(max_length=16)] = ()
    """Devices of one node, from the class of the pool."""


class InferenceClusterStatus(Status):
    """A cluster as it is."""

    provider_config_ref: NamedStatus | None = None
    """How Modelplane reaches the cluster; here always the cluster's own stack."""
    gateway: AddressStatus | None = None
    """Gateway in front of the cluster's replicas."""
    cache: CacheStorageStatus | None = None
    """Storage that caches use."""
    gpu_pools: Annotated[tuple[GpuPoolStatus, ...], Field(max_length=8)] = ()
    """Pools of GPU nodes."""
    namespace: str | None = None
    """Namespace of Modelplane's own objects on the cluster."""
    replicas: int | None = None
    """Replicas on the cluster; 0 says that a drain is done."""


class ReplicaCounts(Model):
    """Replicas of a deployment."""

    desired: int | None = None
    """Replicas that the deployment asks for."""
    total: int | None = None
    """Replicas that have a place."""
    ready: int | None = None
    """Replicas with a place that serve."""


class Refusal(Model):
    """Why a cluster takes no further replica."""

    code: str
    """The reason in one word."""
    message: str
    """The reason with the values seen."""


class ModelDeploymentStatus(Status):
    """A deployment as it is."""

    replicas: ReplicaCounts | None = None
    """How many replicas there are."""
    unplaced: dict[str, tuple[Refusal, ...]] | None = None
    """While fewer replicas have a place than are wanted: the reasons of each cluster."""


class ModelReplicaStatus(Status):
    """A replica as its cluster shows it."""


class CacheSummary(Model):
    """Clusters that have the weights."""

    ready: str | None = None
    """Ready over selected clusters, as in 2/3."""


class CacheOnCluster(Model):
    """A cache on one cluster."""

    name: str
    """Name of the cluster."""
    phase: CachePhase | None = None
    """How far staging is; Unsupported where the cluster has no storage for caches."""
    message: str | None = None
    """Why it is not further."""


class ModelCacheStatus(Status):
    """A cache as it is."""

    summary: CacheSummary | None = None
    """Counts over the selected clusters."""
    clusters: tuple[CacheOnCluster, ...] = ()
    """One entry for each selected cluster."""


class WeightedEndpoint(Model):
    """An endpoint that a service sends requests to."""

    endpoint: str
    """Namespace and name of the endpoint."""
    weight: int
    """Its share relative to the others."""


class ModelServiceStatus(Status):
    """A service as it is."""

    address: str | None = None
    """Public URL without a slash at the end."""
    endpoints: tuple[WeightedEndpoint, ...] = ()
    """Endpoints in use, with their shares."""
    empty_entries: tuple[int, ...] = ()
    """Entries without a usable endpoint, counted from 0."""


class BackendName(Model):
    """Where an endpoint is on the hub."""

    backend_name: str | None = None
    """Service on the hub that stands for the endpoint."""


class ModelEndpointStatus(Status):
    """An endpoint as it is."""

    routing: BackendName | None = None
    """What a service needs to route here."""


STATUS: Final[Mapping[str, type[Status]]] = {
    "InferenceGateway": InferenceGatewayStatus,
    "InferenceClass": InferenceClassStatus,
    "InferenceCluster": InferenceClusterStatus,
    "ModelDeployment": ModelDeploymentStatus,
    "ModelReplica": ModelReplicaStatus,
    "ModelCache": ModelCacheStatus,
    "ModelService": ModelServiceStatus,
    "ModelEndpoint": ModelEndpointStatus,
}
"""The status of each kind by the kind's name."""

READY: Final[Mapping[str, ConditionStatus]] = {"Available": "True"}
"""Of Ready; where it is not True it has status and reason of the first other condition that is not."""

CONDITIONS: Final[Mapping[str, Mapping[str, Mapping[str, ConditionStatus]]]] = {
    "InferenceGateway": {
        "ControllerReady": {"ControllerHealthy": "True", "Installing": "False"},
        "Ready": READY,
    },
    "InferenceClass": {"Accepted": {"Available": "True"}, "Ready": READY},
    "InferenceCluster": {
        "ClusterReady": {
            "WaitingForClasses": "False",
            "InvalidNodePool": "False",
            "Provisioning": "False",
            "Unreachable": "Unknown",
            "BadCredentials": "Unknown",
            "ClusterRunning": "True",
        },
        "Reachable": {"Answers": "True", "Unreachable": "False", "BadCredentials": "False", "RightsMissing": "False"},
        "VersionSupported": {"VersionSupported": "True", "VersionTooOld": "False"},
        "DeviceClaimsServed": {"DeviceClaimsServed": "True", "DeviceClaimsNotServed": "False"},
        "GpuStackReady": {"NodesValidated": "True", "NodesNotValidated": "False"},
        "PoolsLabelled": {"NodesLabelled": "True", "PoolUnlabelled": "False", "PoolShort": "False"},
        "LoadBalancerPresent": {"LoadBalancerPresent": "True", "NoLoadBalancer": "False"},
        "StorageReady": {
            "StorageClassFound": "True",
            "StorageClassMissing": "False",
            "StorageClassNotShared": "False",
        },
        "ComponentsOwned": {"NothingInTheWay": "True", "ComponentsFound": "False"},
        "RightsSufficient": {"RightsSufficient": "True", "RightsMissing": "False"},
        "IdentityUsed": {"IdentityUsed": "True", "IdentityNotUsed": "False"},
        "BackendReady": {"WaitingForCluster": "False", "Installing": "False", "BackendHealthy": "True"},
        "DevicesAsPromised": {"AsPromised": "True", "DevicesDiffer": "False"},
        "Ready": READY,
    },
    "ModelDeployment": {
        "ModelCacheResolved": {
            "ModelCacheResolved": "True",
            "ModelCacheUnresolved": "False",
            "ModelCacheNotFound": "False",
        },
        "ReplicasScheduled": {
            "ReplicasCreated": "True",
            "Overcommitted": "True",
            "Parked": "True",
            "DeploymentGone": "False",
            "PartiallyScheduled": "False",
            "NoClusters": "False",
            "InvalidNodeSelector": "False",
            "InsufficientCapacity": "False",
            "NoMatchingHardware": "False",
            "Tainted": "False",
            "ClustersNotReady": "False",
            "CacheUnresolved": "False",
            "SelectorsConflict": "False",
            "StackIncompatible": "False",
            "Scheduling": "False",
        },
        "ReplicasReady": {
            "AllReplicasReady": "True",
            "Parked": "True",
            "NoReplicasScheduled": "False",
            "ModelStarting": "False",
        },
        "Ready": READY,
    },
    "ModelReplica": {
        "ModelAccepted": {"Accepted": "True", "WaitingForCluster": "False", "Deploying": "False"},
        "Retiring": {"Retiring": "True"},
        "ModelReady": {"Serving": "True", "WaitingForModel": "False", "ModelStarting": "False"},
        "PickerReady": {"PickerAnswers": "True", "PickerDown": "False"},
        "Ready": READY,
    },
    "ModelCache": {
        "ClustersMatched": {"Matched": "True", "NoClusters": "False"},
        "ArtifactReady": {
            "Staged": "True",
            "NoClusters": "False",
            "AuthSecretMissing": "False",
            "Failed": "False",
            "Partial": "False",
            "Hydrating": "False",
            "OutOfSpace": "False",
        },
        "Ready": READY,
    },
    "ModelService": {
        "EndpointsResolved": {"Resolved": "True", "NoEndpoints": "False"},
        "RoutingReady": {"RouteConfigured": "True", "Configuring": "False", "WaitingForGateway": "False"},
        "Ready": READY,
    },
    "ModelEndpoint": {
        "RoutingReady": {"BackendConfigured": "True", "WaitingForBackend": "False", "InvalidURL": "False"},
        "Ready": READY,
    },
}
"""Every condition of a kind: its reasons, and the status that each of them goes with. Where a stack's outputs are not
known, the status is Unknown, with the reason for False."""
