"""What each kind of stack exports, as models; programs write them and read them through `programs.reading`.

The names below are state: a field is added, never renamed. `version` says which shape wrote the outputs. Pulumi keeps
an output that a failed update left unresolved as a marker; `Unknown` is that marker as a type, so that a reader has to
decide what not knowing means.

Outputs hold no clock except `since` values and condition times, which change only when what they date changes.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from api.base import Condition
from api.classes import Device
from api.pods import PodTemplate
from api.terms import ClaimRequest, Phase, Role, Stack

VERSION = 1


class Unknown(Enum):
    """A value that Pulumi does not know yet, or that a failed update left unresolved."""

    UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"


UNKNOWN = Unknown.UNKNOWN

MaybeText = Annotated[Unknown | str | None, Field(union_mode="left_to_right")]
MaybeFlag = Annotated[Unknown | bool, Field(union_mode="left_to_right")]
KnownConditions = Annotated[
    tuple[Condition, ...], BeforeValidator(lambda found: () if found == UNKNOWN.value else found)
]
"""Conditions; a list that a failed update left unresolved reads as empty, so that the stack stays readable."""


class Outputs(BaseModel):
    """Part of what a stack exports. Fields written by a newer release are passed over."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="ignore", frozen=True)

    def plain(self) -> dict[str, Any]:
        """The outputs as plain data under their exported names; what is absent is left out."""
        return self.model_dump(by_alias=True, exclude_none=True, mode="json")


class NodeCounts(Outputs):
    """Nodes of one pool: `configured` by the documents, `present` when the cluster was last asked."""

    configured: int
    present: int | None = None


class ObservedDevices(Outputs):
    """Devices of one kind that a pool's nodes publish in their ResourceSlices; `count` per node, `nodes` so many."""

    driver: str
    count: int
    nodes: int
    attributes: dict[str, Any] = {}
    capacity: dict[str, str] = {}


class PoolFacts(Outputs):
    """One GPU pool: what its class promises and what its nodes show."""

    name: str
    class_name: str
    fabric: str | None = None
    """Its fast network, EFA or InfiniBand; absent for plain TCP."""
    nodes: NodeCounts
    devices: tuple[Device, ...] = ()
    observed: tuple[ObservedDevices, ...] = ()
    hourly_cost: float | None = None
    """What one node costs per hour, where its class tells."""
    recipe: dict[str, Any] | None = None
    """Of a pool on a cloud: its document and how its class is made, for when both are gone and it is still in use."""
    replacing: bool = False
    """Whether its nodes are to be made anew once no replica is on them; until then it is what it was."""
    provisioned: MaybeFlag = True
    """Whether the cloud has made what was asked for; unknown where the last update could not."""

    @model_validator(mode="before")
    @classmethod
    def _not_told(cls, found: Any) -> Any:
        """The engine leaves out what is unknown where one stack reads another: a cloud's pool is then not as asked."""
        if isinstance(found, Mapping) and found.get("recipe") and found.get("provisioned") is None:
            return {**found, "provisioned": UNKNOWN.value}
        return found

    @property
    def usable_nodes(self) -> int:
        """Nodes that replicas may count on: those that are there, where the cloud did not give what was asked for."""
        if self.provisioned is True:
            return self.nodes.configured
        return min(self.nodes.configured, self.nodes.present or 0)


class ClusterInputs(Outputs):
    """The inputs a cluster was deployed with that cannot change afterwards."""

    source: str
    stack: Stack
    region: str = ""
    credentials: str = ""
    control_plane: str | None = None
    """What makes it on EKS."""


class ClusterOutputs(Outputs):
    """Exports of `cluster.<c>`. `kubeconfig` is a secret; everything else is plain."""

    version: int = VERSION
    cluster: str
    inputs: ClusterInputs
    kubeconfig: str = Field(repr=False)
    pools: tuple[PoolFacts, ...] = ()
    reachable: bool = True
    reason: str = ""
    """Why the cluster is not reachable: `Unreachable` or `BadCredentials`, with the server's own words."""
    unreachable_since: str | None = None
    kube_system_uid: str | None = None
    foreign_namespaces: tuple[str, ...] = ()
    """Namespaces this fleet would use that exist and are not its own; they are used and never registered."""
    foreign_definitions: tuple[str, ...] = ()
    """Definitions this fleet would apply that exist and are not its own; they are used and never registered."""
    conditions: KnownConditions = ()
    """What was found of its fitness when it was last asked, each with a way out where it is not as it should be."""
    storage_class: str | None = None
    stack: Stack = "Standard"
    assumed: bool = False
    """The cluster was not asked (a preview, or it has not been made): pools are the declared ones."""

    @model_validator(mode="before")
    @classmethod
    def _unfinished(cls, found: Any) -> Any:
        """What the update that was to make the cluster left unresolved: it cannot be reached."""
        if not isinstance(found, Mapping):
            return found
        if found.get("reachable") != UNKNOWN.value and found.get("kubeconfig") is not None:
            return found
        known = {key: value for key, value in _without_unknown(found).items() if value is not None}
        return {**known, "kubeconfig": UNKNOWN.value, "reachable": False, "reason": NOT_MADE}


NOT_MADE = "NotMade: the last update did not finish the cluster"


def _without_unknown(found: Any) -> Any:
    if isinstance(found, Mapping):
        kept = {key: _without_unknown(value) for key, value in found.items() if value != UNKNOWN.value}
        return kept if "provisioned" not in found else {**kept, "provisioned": found["provisioned"]}
    return [_without_unknown(item) for item in found] if isinstance(found, list) else found


class Capabilities(Outputs):
    """What the serving software of a cluster can carry."""

    inference_pools: bool = True
    gangs: bool = True
    rank: bool = True


class ServingOutputs(Outputs):
    """Exports of `serving.<c>`."""

    version: int = VERSION
    cluster: str
    ready: MaybeFlag = False
    gateway_address: MaybeText = None
    capabilities: Capabilities = Capabilities()
    versions: dict[str, str] = {}


class GatewayOutputs(Outputs):
    """Exports of `gateway`: the hub. `kubeconfig` is a secret."""

    version: int = VERSION
    kubeconfig: str = Field(repr=False)
    address: MaybeText = None
    """Address clients use: the fleet's `gateway.address`, else the Gateway's own."""
    own_address: MaybeText = None
    """The Gateway's own address."""
    ready: MaybeFlag = False
    foreign_namespaces: tuple[str, ...] = ()
    foreign_definitions: tuple[str, ...] = ()
    conditions: KnownConditions = ()


class LedgerMember(Outputs):
    """One member of a placed engine. `template` and `facts` are content hashes into the ledger's own tables."""

    role: Role
    node_pool_name: str
    nodes: int = 1
    """Pods of one copy, one a node: `worker.nodes` for a Worker, else 1."""
    device_requests: tuple[ClaimRequest, ...] = ()
    template: str
    facts: str


class LedgerEngine(Outputs):
    """One engine of a placed replica."""

    name: str
    copies: int = 1
    phase: Phase | None = None
    members: tuple[LedgerMember, ...]


class LedgerReplica(Outputs):
    """One replica on one cluster: everything the cluster needs to go on with it when its documents are gone."""

    namespace: str
    deployment: str
    cluster: str
    index: int
    name: str
    state: Literal["active", "retiring"] = "active"
    labels: dict[str, str] = {}
    engines: tuple[LedgerEngine, ...]
    model_cache_ref: str | None = None
    serving_mode: str = "Unified"
    waits_for: tuple[str, ...] = ()
    """Names of retiring replicas whose nodes this one needs, as `<namespace>/<name>`."""
    successor: str | None = None
    """Of a retiring replica: the replica that takes its place, as `<namespace>/<name>`."""
    reason: str = ""
    """Of a retiring replica: why it goes."""
    starts_early: bool | None = None
    """It starts before its cache is staged, as its deployment asked."""

    @property
    def key(self) -> str:
        """`<namespace>/<name>`, unique in the fleet."""
        return f"{self.namespace}/{self.name}"


class CacheRefusal(Outputs):
    """Why a cluster that a cache selects does not stage it: Unsupported or OutOfSpace."""

    reason: str
    message: str


class LedgerCache(Outputs):
    """One model cache and the clusters it has to be on."""

    namespace: str
    name: str
    spec: dict[str, Any]
    clusters: tuple[str, ...] = ()
    refused: dict[str, CacheRefusal] = {}
    """Clusters that it selects and that cannot hold it."""

    @property
    def key(self) -> str:
        """`<namespace>/<name>`, unique in the fleet."""
        return f"{self.namespace}/{self.name}"


class Ledger(Outputs):
    """All replicas of the fleet. Pod templates and device facts are kept once, under their content hash."""

    replicas: tuple[LedgerReplica, ...] = ()
    templates: dict[str, PodTemplate] = {}
    facts: dict[str, tuple[Device, ...]] = {}
    caches: tuple[LedgerCache, ...] = ()


class ClusterVerdict(Outputs):
    """Why one cluster takes no further replica of a deployment."""

    code: str
    message: str


class DeploymentState(Outputs):
    """One deployment as placement left it; times in conditions change only with their status."""

    wanted: int
    placed: int
    ready: int = 0
    conditions: tuple[Condition, ...] = ()
    verdicts: dict[str, tuple[ClusterVerdict, ...]] = {}


class PlacementOutputs(Outputs):
    """Exports of `placement`: the ledger, and what was decided about each deployment (`<namespace>/<name>`)."""

    version: int = VERSION
    ledger: Ledger = Ledger()
    deployments: dict[str, DeploymentState] = {}
    assumed: bool = False


class ReplicaState(Outputs):
    """One replica as its cluster shows it. `ready` only when every updated pod of every engine is ready."""

    namespace: str
    deployment: str
    index: int
    applied: MaybeFlag = False
    ready: MaybeFlag = False
    reason: MaybeText = None
    message: MaybeText = None
    since: MaybeText = None
    """When `ready` last changed, RFC 3339 in UTC."""
    template_hash: str = ""
    picker: MaybeFlag | None = None
    """Whether the endpoint picker answers; absent where there is none."""


class CacheState(Outputs):
    """One cache as its cluster shows it: Pending, Hydrating, Ready or Failed, and why."""

    phase: MaybeText = "Pending"
    reason: MaybeText = None
    message: MaybeText = None
    since: MaybeText = None
    """When `phase` last changed, RFC 3339 in UTC."""
    identity: str = ""
    """What the volume is to hold: repository, revision and layout."""
    claim_uid: MaybeText = None
    """The volume claim that the phase was told of; another one is empty."""
    attempt: int = 1
    """Which Job it is, of those that were to stage this."""
    asked: str = ""
    """Digest of what the document asked for then."""


class WorkloadsOutputs(Outputs):
    """Exports of `workloads.<c>`: one entry per rendered replica and cache, by `<namespace>/<name>`."""

    version: int = VERSION
    cluster: str
    replicas: dict[str, ReplicaState] = {}
    caches: dict[str, CacheState] = {}
    ledger: Ledger = Ledger()
    """The rendered part of the ledger, so that a lost placement stack can be rebuilt from its clusters."""
    pools: tuple[str, ...] = ()
    """Pools that rendered replicas are pinned to; a pool stays while it is listed here."""
    inference_pools: bool | None = None
    """Replicas are routed to InferencePools; absent where they have Services."""
    secrets: dict[str, dict[str, str]] = Field(default={}, repr=False)
    """Values of the Secrets that were carried there, by `<namespace>/<name>`; a secret output."""
    tokens: dict[str, str] = Field(default={}, repr=False)
    """Tokens that caches are staged with, by their keys; a secret output."""
    config_maps: dict[str, dict[str, str]] = {}
    """Values of the ConfigMaps that were carried there, by `<namespace>/<name>`."""


class EndpointState(Outputs):
    """One endpoint in use: a ready replica's, or a hand-written one (no cluster)."""

    url: MaybeText
    cluster: str | None = None
    backend: str
    """Name of the Service on the hub."""
    port: int


class ServiceBackend(Outputs):
    """One weighted backend of a service, by endpoint key."""

    endpoint: str
    weight: int


class ServiceState(Outputs):
    """One model service: its address and the backends it splits over, per entry in document order."""

    address: MaybeText = None
    backends: tuple[ServiceBackend, ...] = ()
    empty_entries: tuple[int, ...] = ()
    accepted: MaybeFlag = False
    conditions: KnownConditions = ()


class RoutingOutputs(Outputs):
    """Exports of `routing`: services and endpoints by `<namespace>/<name>`."""

    version: int = VERSION
    services: dict[str, ServiceState] = {}
    endpoints: dict[str, EndpointState] = {}
    withdrawn: tuple[str, ...] = ()
    """Endpoints of ledger replicas that are kept out of rotation, with a ready replica behind them or not."""
