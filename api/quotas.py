"""What the clouds of a fleet have to allow it: quotas by account and region, with every pool as large as it may be.

Pure, and from documents alone: what else runs in an account is not known here, and no cloud is asked. What a quota
counts is told in the cloud's own words (AWS "Service Quotas", Azure "Usage + quotas", Google Cloud "Quotas").
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from api.clusters import InferenceCluster, NodePool
from api.documents import FleetDocuments
from api.recipes import AKSNodes, EKSNodes, GKENodes, NebiusNodes, VultrNodes
from api.terms import Source

SYSTEM_NODES = 2
"""Most nodes of the pool that every made cluster has besides its own; on GKE in each of three zones."""
SYSTEM_VCPUS = 4
GKE_ZONES = 3
STORAGE_TIB = 1
"""What an enterprise Filestore, and the file system of a cluster on Nebius, are at least."""
_FAMILIES = {"p": "Running On-Demand P instances", "g": "Running On-Demand G and VT instances"}
_STANDARD = "Running On-Demand Standard instances"


@dataclass(frozen=True, kw_only=True, order=True)
class Quota:
    """One quota: `least` of what `name` counts. An empty region is the whole account."""

    source: Source
    account: str
    region: str
    name: str
    unit: str
    least: int

    def plain(self) -> dict[str, str | int]:
        """For programs."""
        where = {"source": self.source, "credentials": self.account, "region": self.region}
        return {**where, "name": self.name, "unit": self.unit, "least": self.least}


_Need = tuple[str, str, str, int]
"""Region, name, unit and amount."""


def quotas_of(documents: FleetDocuments) -> tuple[Quota, ...]:
    """The quotas that the fleet's clusters on clouds take together; those that were handed over take none."""
    total: Counter[tuple[Source, str, str, str, str]] = Counter()
    for cluster in documents.clusters.values():
        source = cluster.spec.cluster
        for region, name, unit, amount in _needs(documents, cluster):
            total[source.source, source.credentials, region, name, unit] += amount
    found = (
        Quota(source=source, account=account, region=region, name=name, unit=unit, least=least)
        for (source, account, region, name, unit), least in total.items()
    )
    return tuple(sorted(found))


def _needs(documents: FleetDocuments, cluster: InferenceCluster) -> Iterator[_Need]:
    region = cluster.spec.cluster.region
    yield from _of_cluster(cluster, region, has_caches=bool(documents.caches))
    for pool in cluster.spec.node_pools or ():
        known = documents.classes.get(pool.class_name)
        if known is not None and known.spec.provisioning is not None and cluster.spec.cluster.existing is None:
            yield from _of_pool(pool, known.spec.provisioning.block, region)


def _of_cluster(cluster: InferenceCluster, region: str, *, has_caches: bool) -> Iterator[_Need]:
    """What a cluster takes whatever its pools are."""
    system = SYSTEM_NODES * SYSTEM_VCPUS
    source = cluster.spec.cluster.source
    if source == "EKS":
        yield region, _STANDARD, "vCPUs", system
        for name in ("VPCs", "Elastic IP addresses", "NAT gateways"):
            yield region, name, "", 1
    elif source == "GKE":
        yield region, "CPUs", "CPUs", system * GKE_ZONES
        if has_caches:
            yield region, "Filestore enterprise capacity", "TiB", STORAGE_TIB
    elif source == "AKS":
        yield region, "Standard DSv5 Family vCPUs", "vCPUs", system
        yield region, "Total Regional vCPUs", "vCPUs", system
    elif source == "Nebius":
        yield region, "Network SSD file systems", "TiB", STORAGE_TIB


def _of_pool(pool: NodePool, nodes: object, region: str) -> Iterator[_Need]:
    most = pool.max_node_count or pool.node_count
    if isinstance(nodes, EKSNodes):
        family = _FAMILIES.get(nodes.instance_type[:1])
        vcpus = ec2_vcpus(nodes.instance_type)
        if family and vcpus and pool.capacity_block is None:  # a Capacity Block is outside of quotas
            yield region, family, "vCPUs", most * vcpus
    elif isinstance(nodes, GKENodes):
        gpus = most * nodes.accelerator.count
        yield region, f"GPUs of type {nodes.accelerator.type}", "GPUs", gpus
        yield "", "GPUs (all regions)", "GPUs", gpus
    elif isinstance(nodes, AKSNodes):
        vcpus = azure_vcpus(nodes.vm_size)
        if vcpus:
            yield region, f"vCPUs of the family of {nodes.vm_size}", "vCPUs", most * vcpus
            yield region, "Total Regional vCPUs", "vCPUs", most * vcpus
    elif isinstance(nodes, NebiusNodes):
        yield region, f"GPUs of platform {nodes.platform}", "GPUs", most * nodes.accelerator.count
    elif isinstance(nodes, VultrNodes):
        yield region, f"GPU instances of plan {nodes.plan}", "instances", most


def ec2_vcpus(instance_type: str) -> int | None:
    """Number of vCPUs of a machine of EC2 by its size, four for each `xlarge`; None where the size tells none."""
    size = instance_type.partition(".")[2]
    if size == "large":
        return 2
    number = re.fullmatch(r"([0-9]*)xlarge", size)
    return 4 * int(number[1] or 1) if number else None


def azure_vcpus(vm_size: str) -> int | None:
    """Number of vCPUs of a machine of Azure, which its name begins with; None where it tells none."""
    number = re.match(r"Standard_[A-Z]+([0-9]+)", vm_size)
    return int(number[1]) if number else None
