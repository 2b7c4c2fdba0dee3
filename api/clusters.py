"""InferenceCluster: one cluster that serves models, its serving stack, taints and pools of GPU nodes."""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from api.base import API_VERSION, Fault, Kind, Model, Path, repeated
from api.grammar import (
    CAPACITY_RESERVATION,
    DnsLabel,
    Integer,
    Text63,
    Text253,
    is_label_key,
    is_label_value,
    is_match,
)
from api.sources import ClusterSource
from api.terms import Source, Stack, Taint, named
from api.zones import zone_faults

MOST_NODES = 1000
GROWING = frozenset({"GKE", "Nebius"})
"""Sources whose autoscaler can add nodes for device claims, from none."""

NodeCount = Annotated[Integer, Field(ge=0, le=MOST_NODES)]


class CapacityBlock(Model):
    """A purchased AWS Capacity Block."""

    capacity_reservation_id: Annotated[str, Field(min_length=4, max_length=64, pattern=CAPACITY_RESERVATION)]
    """Id of the reservation from the purchase, as in cr-0123456789abcdef0."""


class InfiniBand(Model):
    """An existing physical fabric of Nebius."""

    fabric: Text63
    """Id of an existing physical fabric, as in fabric-2."""


class Fabric(Model):
    """The fast network between the nodes of a pool; the text None means plain TCP."""

    type: Literal["None", "EFA", "InfiniBand"] = "None"
    """Kind of network: EFA on EKS, InfiniBand on Nebius and AKS, or the text None for plain TCP."""
    infiniband: InfiniBand | None = None
    """Details of an InfiniBand network; needed on Nebius, refused on AKS."""

    def faults(self) -> Iterator[Fault]:
        """IC-V8."""
        if self.infiniband is not None and self.type != "InfiniBand":
            hint = "set type: InfiniBand, or remove the block"
            yield Fault("IC-V8", ("infiniband",), "only meaningful with type InfiniBand", hint)


class NodePool(Model):
    """A pool of GPU nodes of one class; without minimum and maximum its size is fixed."""

    name: Annotated[DnsLabel, Field(max_length=40)]
    """Name of the pool and value of the node label modelplane.ai/pool. Not system; on AKS only lower-case letters and
    digits, at most 12, the first a letter.
    """
    class_name: Text253
    """The InferenceClass that says what a node of the pool has."""
    node_count: NodeCount = 1
    """Nodes to begin with, or all of them where the pool has a fixed size; 0 to 1000."""
    min_node_count: NodeCount | None = None
    """Nodes that the autoscaler leaves at least, 0 to nodeCount; needs maxNodeCount."""
    max_node_count: Annotated[Integer, Field(ge=1, le=MOST_NODES)] | None = None
    """Nodes that the autoscaler makes at most, nodeCount to 1000; without it the pool has a fixed size."""
    zones: tuple[Text63, ...] = ()
    """Zones that the nodes may be in: one to eight on GKE and EKS, at most three on AKS, without effect elsewhere."""
    capacity_block: CapacityBlock | None = None
    """A purchased AWS Capacity Block that the nodes come from; EKS only."""
    fabric: Fabric | None = None
    """The fast network between the nodes; without it they talk plain TCP."""

    def most_nodes(self, source: Source) -> int:
        """Nodes that replicas may count on: the ceiling where the cloud's autoscaler adds nodes for device claims."""
        grows = source in GROWING and self.max_node_count is not None
        return self.max_node_count or self.node_count if grows else self.node_count

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
    """Where the cluster comes from; cannot change once it is made."""
    stack: Stack = "Standard"
    """The serving stack: how gangs run and how weights travel; cannot change once the cluster is made."""
    taints: tuple[Taint, ...] = ()
    """Taints of the whole cluster; a deployment needs a toleration for each. One entry for each key and effect."""
    node_pools: Annotated[tuple[NodePool, ...] | None, Field(min_length=1, max_length=8)] = None
    """Pools of GPU nodes, one to eight, each name once; a system pool is added where Modelplane makes the cluster."""

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
            yield from _pool_faults(pool, self.cluster, ("nodePools", index))

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
    """A Kubernetes cluster with pools of GPU nodes, made on a cloud or handed over."""

    namespaced: ClassVar[bool] = False

    api_version: Literal["modelplane.ai/v1alpha1"] = API_VERSION
    """Group and version of the kind."""
    kind: Literal["InferenceCluster"] = "InferenceCluster"
    """The kind of the document."""
    spec: InferenceClusterSpec
    """The cluster that is wanted."""


def _taint_faults(taint: Taint, at: Path) -> Iterator[Fault]:
    if not is_label_key(taint.key):
        yield Fault("IC-N10", (*at, "key"), f"{taint.key!r} is not a taint key", "use the form of a label key")
    if not is_label_value(taint.value):
        hint = "use at most 63 letters, digits, '-', '_' and '.'"
        yield Fault("IC-N10", (*at, "value"), f"{taint.value!r} is not a taint value", hint)


def _pool_faults(pool: NodePool, cluster: ClusterSource, at: Path) -> Iterator[Fault]:
    source = cluster.source
    if source == "AKS" and not is_match(r"[a-z][a-z0-9]{0,11}", pool.name):
        hint = "AKS takes at most 12 lower-case letters and digits, the first a letter"
        yield Fault("IC-N3", (*at, "name"), f"{pool.name!r} is no pool name on AKS", hint)
    if source == "Vultr":
        for field, count in (("nodeCount", pool.node_count), ("minNodeCount", pool.min_node_count)):
            if count == 0:
                yield Fault("IC-N4", (*at, field), "a pool on Vultr has at least one node", f"set {field}: 1 or more")
    if pool.capacity_block is not None and source != "EKS":
        yield Fault("IC-N7", (*at, "capacityBlock"), f"EKS only, not {source}", "remove the block")
    elif pool.capacity_block is not None:
        yield from _bought_faults(pool, at)
    yield from zone_faults(pool.zones, source, cluster.region, (*at, "zones"))
    if pool.fabric is not None:
        yield from _fabric_faults(pool.fabric, source, (*at, "fabric"))


def _bought_faults(pool: NodePool, at: Path) -> Iterator[Fault]:
    """IC-X3: what AWS refuses of a Capacity Block when the machines are asked for."""
    if len(pool.zones) > 1:
        hint = "keep the zone that the reservation is in"
        yield Fault("IC-X3", (*at, "zones"), "a Capacity Block lies in one zone", hint)
    if pool.max_node_count is not None and pool.max_node_count > pool.node_count:
        message = f"a Capacity Block does not grow: maxNodeCount {pool.max_node_count} is above {pool.node_count}"
        yield Fault("IC-X3", (*at, "maxNodeCount"), message, "set it to nodeCount, the instances that were bought")


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
