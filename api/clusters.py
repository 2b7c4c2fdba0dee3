"""InferenceCluster: one cluster that serves models, built for the fleet or handed over ready-made."""

import re
from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from api.base import API_VERSION, Fault, Kind, Model, Path, repeated
from api.grammar import (
    CAPACITY_RESERVATION,
    DnsLabel,
    Integer,
    Text32,
    Text63,
    Text253,
    is_label_key,
    is_label_value,
    is_match,
)
from api.terms import Source, Stack, Taint, named

OLDEST_KUBERNETES = (1, 34)
FIRST_KUBERNETES_WITH_STABLE_DRA = (1, 35)
MOST_NODES = 1000

NodeCount = Annotated[Integer, Field(ge=0, le=MOST_NODES)]


class SecretRef(Model):
    """A kubeconfig in a Secret of `modelplane-system`."""

    name: Text253
    key: Text253 = "kubeconfig"


class IdentitySecretRef(Model):
    """A cloud identity that is layered over a kubeconfig without credentials of its own."""

    name: Text253
    key: Text253 = "private_key"
    type: Literal["GoogleApplicationCredentials", "AWSWebIdentityCredentials", "NebiusServiceAccountCredentials"] = (
        "GoogleApplicationCredentials"
    )


class ExistingCache(Model):
    """Model cache storage of a cluster that was handed over."""

    storage_class_name: Text253 | None = None


class ExistingCluster(Model):
    """A cluster that somebody else runs; only software on it is managed."""

    secret_ref: SecretRef
    identity_secret_ref: IdentitySecretRef | None = None
    cache: ExistingCache | None = None


class Credentials(Model):
    """The credentials a cloud is called with: `name` is an entry of Fleet.spec.credentials."""

    type: Literal["ProviderConfig", "ClusterProviderConfig"] = "ClusterProviderConfig"
    name: Text253 = "default"


class CloudCluster(Model):
    """What the clouds' blocks have in common."""

    kubernetes_version: str
    credentials: Credentials = Credentials()

    def faults(self) -> Iterator[Fault]:
        """IC-N9."""
        version = self.kubernetes_version
        at = ("kubernetesVersion",)
        if not 1 <= len(version) <= 16 or (number := kubernetes_number(version)) is None:
            yield Fault("IC-N9", at, f"{version!r} is not a Kubernetes version", 'write one such as "1.36"')
        elif number < OLDEST_KUBERNETES:
            yield Fault("IC-N9", at, f"{version} is too old for device claims", 'take "1.35" or newer')

    def cautions(self) -> Iterator[Fault]:
        """Between the floor and the first version that asks for nothing extra."""
        number = kubernetes_number(self.kubernetes_version)
        if number and number < FIRST_KUBERNETES_WITH_STABLE_DRA:
            message = f"device claims are only stable from 1.35; {self.kubernetes_version} may not match every device"
            yield Fault("IC-N9", ("kubernetesVersion",), message, 'take "1.35" or newer where the cloud offers it')


class GKECluster(CloudCluster):
    """A cluster on Google Cloud."""

    region: Text32
    kubernetes_version: str = "1.35"


class EKSCluster(CloudCluster):
    """A cluster on AWS."""

    region: Text32
    kubernetes_version: str = "1.36"


class AKSCluster(CloudCluster):
    """A cluster on Azure."""

    location: Text32
    kubernetes_version: str = "1.34"


class NebiusCluster(CloudCluster):
    """A cluster on Nebius; the block may be empty."""

    kubernetes_version: str = "1.34"


class VultrCluster(CloudCluster):
    """A cluster on Vultr, whose versions carry a build number."""

    region: Text32
    kubernetes_version: str = "v1.36.1+3"

    def faults(self) -> Iterator[Fault]:
        """IC-N9, in Vultr's form."""
        if is_match(r"v[0-9]+\.[0-9]+\.[0-9]+\+[0-9]+", self.kubernetes_version):
            yield from super().faults()
        else:
            message = f"{self.kubernetes_version!r} is not a version of Vultr's"
            yield Fault("IC-N9", ("kubernetesVersion",), message, "write the whole version, as in v1.36.1+3")


class ClusterSource(Model):
    """Where the cluster comes from, with that source's block."""

    source: Source
    existing: ExistingCluster | None = None
    gke: GKECluster | None = None
    eks: EKSCluster | None = None
    aks: AKSCluster | None = None
    nebius: NebiusCluster | None = None
    vultr: VultrCluster | None = None

    _RULES: ClassVar[dict[str, str]] = {
        "Existing": "IC-V1",
        "GKE": "IC-V2",
        "EKS": "IC-V3",
        "AKS": "IC-V4",
        "Nebius": "IC-V5",
        "Vultr": "IC-V6",
    }

    @property
    def cloud(self) -> CloudCluster | None:
        """The cloud's own block; None for a cluster that was handed over."""
        blocks = (self.gke, self.eks, self.aks, self.nebius, self.vultr)
        return next((block for block in blocks if block is not None), None)

    @property
    def region(self) -> str:
        """Region or location as the cloud calls it; empty where the source has none."""
        block = self.cloud
        return str(getattr(block, "region", "") or getattr(block, "location", ""))

    def faults(self) -> Iterator[Fault]:
        """IC-V1 to IC-V6 and IC-N1."""
        for source, rule in self._RULES.items():
            field = source.lower()
            present = getattr(self, field) is not None
            if source == self.source and not present:
                even = ", even if empty" if source == "Nebius" else ""
                hint = f"add the {field} block, or name another source"
                yield Fault(rule, (field,), f"source {source} needs this block{even}", hint)
            if source != self.source and present:
                hint = f"remove it, or set source: {source}"
                yield Fault("IC-N1", (field,), f"does not belong to source {self.source}", hint)


class CapacityBlock(Model):
    """A purchased AWS Capacity Block."""

    capacity_reservation_id: Annotated[str, Field(min_length=4, max_length=64, pattern=CAPACITY_RESERVATION)]


class InfiniBand(Model):
    """An existing physical fabric of Nebius."""

    fabric: Text63


class Fabric(Model):
    """The fast network between the nodes of a pool; the text None means plain TCP."""

    type: Literal["None", "EFA", "InfiniBand"] = "None"
    infiniband: InfiniBand | None = None

    def faults(self) -> Iterator[Fault]:
        """IC-V8."""
        if self.infiniband is not None and self.type != "InfiniBand":
            hint = "set type: InfiniBand, or remove the block"
            yield Fault("IC-V8", ("infiniband",), "only meaningful with type InfiniBand", hint)


class NodePool(Model):
    """A pool of GPU nodes of one class; without minimum and maximum its size is fixed."""

    name: Annotated[DnsLabel, Field(max_length=40)]
    class_name: Text253
    node_count: NodeCount = 1
    min_node_count: NodeCount | None = None
    max_node_count: Annotated[Integer, Field(ge=1, le=MOST_NODES)] | None = None
    zones: tuple[Text63, ...] = ()
    capacity_block: CapacityBlock | None = None
    fabric: Fabric | None = None

    def faults(self) -> Iterator[Fault]:
        """IC-N3 (reserved name) and IC-N4."""
        if self.name == "system":
            yield Fault("IC-N3", ("name",), "system is the pool that every cluster gets by itself", "rename it")
        low, high = self.min_node_count, self.max_node_count
        if low is not None and high is None:
            hint = "add maxNodeCount, or remove minNodeCount for a pool of fixed size"
            yield Fault("IC-N4", ("minNodeCount",), "a floor needs a ceiling", hint)
        hint = "need minNodeCount <= nodeCount <= maxNodeCount"
        if low is not None and low > self.node_count:
            yield Fault("IC-N4", ("minNodeCount",), f"minNodeCount {low} is above nodeCount {self.node_count}", hint)
        if high is not None and self.node_count > high:
            yield Fault("IC-N4", ("maxNodeCount",), f"nodeCount {self.node_count} is above maxNodeCount {high}", hint)


class InferenceClusterSpec(Model):
    """Source, serving stack, taints and GPU pools of one cluster."""

    cluster: ClusterSource
    stack: Stack = "Standard"
    taints: tuple[Taint, ...] = ()
    node_pools: Annotated[tuple[NodePool, ...] | None, Field(min_length=1, max_length=8)] = None

    def faults(self) -> Iterator[Fault]:
        """IC-N2, IC-N10, the keyed lists and, for each pool, what its source allows."""
        source = self.cluster.source
        if not self.node_pools and source != "Existing":
            yield Fault(
                "IC-N2", ("nodePools",), "a provisioned cluster needs at least one pool", "add a pool of GPU nodes"
            )
        for index, taint in enumerate(self.taints):
            yield from _taint_faults(taint, ("taints", index))
        yield from repeated(((t.key, t.effect) for t in self.taints), "schema", ("taints",), "key and effect")
        yield from repeated(named(self.node_pools or ()), "schema", ("nodePools",), "name")
        for index, pool in enumerate(self.node_pools or ()):
            yield from _pool_faults(pool, source, ("nodePools", index))

    def cautions(self) -> Iterator[Fault]:
        """IC-N5 where zones are ignored, IC-N12."""
        source = self.cluster.source
        for index, pool in enumerate(self.node_pools or ()):
            if pool.zones and source in {"Nebius", "Vultr", "Existing"}:
                message = f"zones have no effect on {source}"
                yield Fault("IC-N5", ("nodePools", index, "zones"), message, "remove them")
            if source in {"AKS", "EKS"} and pool.max_node_count is not None and not pool.min_node_count:
                message = f"{source} cannot scale a pool with device claims up from zero"
                yield Fault("IC-N12", ("nodePools", index, "minNodeCount"), message, "set minNodeCount: 1 or more")


class InferenceCluster(Kind):
    """A document of kind InferenceCluster."""

    namespaced: ClassVar[bool] = False

    api_version: Literal["modelplane.ai/v1alpha1"] = API_VERSION
    kind: Literal["InferenceCluster"] = "InferenceCluster"
    spec: InferenceClusterSpec


def kubernetes_number(version: str) -> tuple[int, int] | None:
    """Major and minor of a version such as `1.36`, `v1.36.1+3` or `1.35.2-gke.100`; None where it is none."""
    found = re.fullmatch(r"v?([0-9]+)\.([0-9]+)(?:[.+-][0-9A-Za-z.+-]*)?", version)
    return (int(found[1]), int(found[2])) if found else None


def _taint_faults(taint: Taint, at: Path) -> Iterator[Fault]:
    if not is_label_key(taint.key):
        yield Fault("IC-N10", (*at, "key"), f"{taint.key!r} is not a taint key", "use the form of a label key")
    if not is_label_value(taint.value):
        hint = "use at most 63 letters, digits, '-', '_' and '.'"
        yield Fault("IC-N10", (*at, "value"), f"{taint.value!r} is not a taint value", hint)


def _pool_faults(pool: NodePool, source: Source, at: Path) -> Iterator[Fault]:
    if source == "AKS" and not is_match(r"[a-z][a-z0-9]{0,11}", pool.name):
        hint = "AKS takes at most 12 lower-case letters and digits, the first a letter"
        yield Fault("IC-N3", (*at, "name"), f"{pool.name!r} is no pool name on AKS", hint)
    if source == "Vultr":
        for field, count in (("nodeCount", pool.node_count), ("minNodeCount", pool.min_node_count)):
            if count == 0:
                yield Fault("IC-N4", (*at, field), "a pool on Vultr has at least one node", f"set {field}: 1 or more")
    if pool.capacity_block is not None and source != "EKS":
        yield Fault("IC-N7", (*at, "capacityBlock"), f"EKS only, not {source}", "remove the block")
    yield from _zone_faults(pool.zones, source, (*at, "zones"))
    if pool.fabric is not None:
        yield from _fabric_faults(pool.fabric, source, (*at, "fabric"))


def _zone_faults(zones: tuple[str, ...], source: Source, at: Path) -> Iterator[Fault]:
    """IC-N5."""
    if source in {"GKE", "EKS"} and not 1 <= len(zones) <= 8:
        message = f"a GPU pool on {source} must say in which zones it may run" if not zones else "at most 8 zones"
        yield Fault("IC-N5", at, message, "list the zones that offer this GPU, one to eight")
    if source == "AKS":
        if len(zones) > 3:
            yield Fault("IC-N5", at, "AKS has at most 3 zones", "remove the others")
        for index, zone in enumerate(zones):
            if len(zone) > 8:
                yield Fault("IC-N5", (*at, index), f"{zone!r} is no AKS zone", 'AKS numbers its zones: "1", "2", "3"')


def _fabric_faults(fabric: Fabric, source: Source, at: Path) -> Iterator[Fault]:
    """IC-N6 and IC-V7."""
    allowed = {"EFA": {"EKS"}, "InfiniBand": {"Nebius", "AKS"}}
    if fabric.type in allowed and source not in allowed[fabric.type]:
        hint = f"{fabric.type} exists on {' and '.join(sorted(allowed[fabric.type]))}; remove the block elsewhere"
        yield Fault("IC-N6", (*at, "type"), f"{fabric.type} is not available on {source}", hint)
    elif fabric.type == "InfiniBand" and source == "AKS" and fabric.infiniband is not None:
        yield Fault("IC-N6", (*at, "infiniband"), "AKS chooses the fabric itself", "remove the block")
    elif fabric.type == "InfiniBand" and source == "Nebius" and fabric.infiniband is None:
        hint = "add infiniband: {fabric: <id of a Nebius fabric>}"
        yield Fault("IC-V7", (*at, "infiniband"), "on Nebius an InfiniBand pool must name its fabric", hint)
