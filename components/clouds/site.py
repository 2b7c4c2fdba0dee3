"""What a cluster on a cloud is made from, as plain data: its document, its classes and the fleet's settings for it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from api.classes import InferenceClass
from api.clusters import InferenceCluster, NodePool
from api.documents import FleetDocuments
from api.errors import ModelplaneError
from api.fleets import Chart, CloudCredential, ControlPlane, CredentialSet, control_plane_for, serving_stack_for
from api.recipes import AKSNodes, EKSNodes, GKENodes, NebiusNodes, Provisioning, VultrNodes
from components.charts import Mirrors

Nodes = EKSNodes | GKENodes | AKSNodes | NebiusNodes | VultrNodes

CREDENTIALS = {"EKS": "aws", "GKE": "gcp", "AKS": "azure", "Nebius": "nebius", "Vultr": "vultr"}
"""Field of Fleet.spec.credentials by source."""


KEEPS_NODES = frozenset({"Nebius", "Vultr"})
"""Sources where a pool with a maximum and no minimum never has fewer nodes than its document names."""


class MissingProject(ModelplaneError):
    """A cluster on a cloud whose resources belong to a project, and nothing names one."""

    code = "MP334"


@dataclass(frozen=True, kw_only=True)
class CloudPool:
    """One pool of GPU nodes as a cloud is asked for it."""

    name: str
    nodes: Nodes
    count: int = 1
    minimum: int = 1
    maximum: int = 1
    resized_from: int | None = None
    """Nodes that there are of a pool whose bounds have changed since they were last set; None where they have not."""
    is_fixed: bool = True
    """Whether the documents give no maximum: the pool keeps its size, so all three counts are the same."""
    zones: tuple[str, ...] = ()
    fabric: str = "None"
    infiniband: str | None = None
    """Id of the physical fabric, on Nebius."""
    reservation: str | None = None
    """Id of a capacity reservation, on EKS."""

    @property
    def is_sized_here(self) -> bool:
        """Whether the cloud is told how many nodes to have; otherwise its autoscaler has the say after the beginning.

        Between new bounds that leave out the present size clouds refuse the old one, and the autoscaler never gets
        to change it.
        """
        outside = self.resized_from is not None and not self.minimum <= self.resized_from <= self.maximum
        return self.minimum == self.maximum or outside

    @property
    def wanted(self) -> int:
        """Nodes to have: as many as at the beginning, or of those that there are as many as new bounds let be."""
        if self.resized_from is None or self.minimum == self.maximum:
            return self.count
        return min(max(self.resized_from, self.minimum), self.maximum)

    @property
    def has_efa(self) -> bool:
        """Whether the nodes talk over EFA."""
        return self.fabric == "EFA"

    @property
    def has_infiniband(self) -> bool:
        """Whether the nodes talk over InfiniBand."""
        return self.fabric == "InfiniBand"


@dataclass(frozen=True, kw_only=True)
class CloudSite:
    """One cluster that is wanted on a cloud."""

    fleet: str
    cluster: str
    source: str
    region: str
    version: str
    """Kubernetes version."""
    pools: tuple[CloudPool, ...] = ()
    credential: CloudCredential = field(default_factory=CloudCredential)
    project: str | None = None
    """Project of GCP or Nebius."""
    tags: Mapping[str, str] = field(default_factory=dict)
    charts: Mapping[str, Chart] = field(default_factory=dict)
    """Settings of the charts that are installed with the cluster, by the names that a Fleet knows."""
    mirrors: Mirrors = field(default_factory=Mirrors)
    control_plane: ControlPlane = "Resources"
    """What makes the control plane, on EKS."""
    is_protected: bool = True
    """Whether what is hard to get back is protected from deletion."""
    is_offline: bool = False
    """Whether no API server may be called: a preview of the whole fleet."""


def site_of(
    documents: FleetDocuments,
    cluster: InferenceCluster,
    mirrors: Mirrors,
    pools: Iterable[CloudPool] | None = None,
    resized: Mapping[str, int] = MappingProxyType({}),
    *,
    is_offline: bool = False,
) -> CloudSite:
    """The site of one cluster.

    Without `pools` it has those of its document; replicas may still be on others. `resized` are the nodes that there
    are of pools whose bounds have changed.
    """
    source = cluster.spec.cluster
    block, fleet = source.cloud, documents.fleet
    if block is None or fleet is None:
        raise AssertionError("clusters that were handed over are not made, and stacks need a Fleet")
    credential = credential_of(documents, source.source, block.credentials.name)
    if pools is None:
        pools = [pool_of(pool, documents.classes[pool.class_name]) for pool in cluster.spec.node_pools or ()]
    return CloudSite(
        fleet=fleet.name,
        cluster=cluster.name,
        source=source.source,
        region=source.region,
        version=block.kubernetes_version,
        pools=tuple(replace(pool, resized_from=resized.get(pool.name)) for pool in pools),
        credential=credential,
        project=credential.project or project_of(documents, source.source, block.credentials.name),
        tags=fleet.spec.tags,
        charts=serving_stack_for(fleet, cluster.name).charts,
        mirrors=mirrors,
        control_plane=control_plane_for(fleet, cluster.name),
        is_protected=fleet.spec.deletion.protect_clusters,
        is_offline=is_offline,
    )


def credential_of(documents: FleetDocuments, source: str, name: str) -> CloudCredential:
    """What the cloud is called with; without an entry in the Fleet, what the environment has."""
    entries = documents.fleet.spec.credentials if documents.fleet else {}
    return getattr(entries.get(name, CredentialSet()), CREDENTIALS[source]) or CloudCredential()


def project_of(documents: FleetDocuments, source: str, name: str) -> str | None:
    """The project that a provider configuration of upstream's users names."""
    config = documents.provider_configs.get((CREDENTIALS[source], name))
    return config.project if config else None


def project_of_site(site: CloudSite) -> str:
    """The project that a cluster belongs to, on clouds that have such.

    Raises:
        MissingProject: neither the Fleet nor a provider configuration names it.

    """
    if site.project is None:
        field = CREDENTIALS[site.source]
        raise MissingProject(
            f"the project of cluster {site.cluster} on {site.source} is not known",
            hint=f"set Fleet spec.credentials.<name>.{field}.project, or keep the ClusterProviderConfig with projectID",
        )
    return site.project


def pool_of(pool: NodePool, inference_class: InferenceClass) -> CloudPool:
    """One pool as the cloud is asked for it. Without bounds its size is fixed (reference: clouds, trap 4)."""
    recipe = inference_class.spec.provisioning
    if recipe is None:
        raise AssertionError("the loader refuses classes without the recipe of their cloud")
    return made_of(pool, recipe)


def made_of(pool: NodePool, recipe: Provisioning) -> CloudPool:
    """A pool from its document and the recipe of its class."""
    is_fixed = pool.max_node_count is None
    low, high = (pool.min_node_count, pool.max_node_count) if not is_fixed else (None, None)
    if low is None and recipe.provider in KEEPS_NODES:
        low = pool.node_count
    fabric = pool.fabric
    return CloudPool(
        name=pool.name,
        nodes=recipe.block,
        count=pool.node_count,
        minimum=pool.node_count if is_fixed else low or 0,
        maximum=high or pool.node_count,
        is_fixed=is_fixed,
        zones=pool.zones,
        fabric=fabric.type if fabric else "None",
        infiniband=fabric.infiniband.fabric if fabric and fabric.infiniband else None,
        reservation=pool.capacity_block.capacity_reservation_id if pool.capacity_block else None,
    )
