"""Clusters on Google Cloud: regional GKE with accelerator pools (reference: clouds, section 4).

GKE installs the GPU driver, taints accelerator nodes and scales pools itself. The service account is how the cluster is
reached, and is attached to no node.
"""

import base64
from typing import Any

import pulumi_gcp as gcp
from pulumi import ComponentResource, Output, ResourceOptions

from api import names
from api.recipes import GKENodes
from components.clouds import inside
from components.clouds.kubeconfig import kubeconfig, token_arguments
from components.clouds.outputs import Made
from components.clouds.site import CloudPool, CloudSite, project_of_site
from components.kubernetes_objects import register

__all__ = ["build", "provider", "touch"]

Plain = dict[str, Any]

STORAGE_CLASS = "modelplane-rwx"
SYSTEM_MACHINE = "e2-standard-4"
LONGEST_NAME = 40
"""GKE takes clusters' and pools' names of this length."""
LONGEST_ACCOUNT = 30
SCOPES = ["https://www.googleapis.com/auth/cloud-platform"]
DRA_LABEL = "cloud.google.com/gke-nvidia-gpu-dra-driver"
"""With it the autoscaler knows which devices a node will have, and starts the first one of a pool."""
OWNED_BY_AUTOSCALER = ["initialNodeCount", "nodeCount"]


def touch() -> None:
    """Load every part of the SDK that is used."""
    used = (gcp.compute.Network, gcp.container.Cluster, gcp.serviceaccount.Account, gcp.projects.Service, gcp.Provider)
    for part in used:
        str(part)


def provider(name: str, site: CloudSite) -> gcp.Provider:
    """The provider of one project and region; credentials come from the environment and are in no state."""
    account = site.credential
    return gcp.Provider(
        name,
        project=project_of_site(site),
        region=site.region,
        default_labels=dict(site.tags) or None,
        opts=ResourceOptions(env_var_mappings={ours: name for name, ours in account.env.items()} or None),
    )


def cluster_name(cluster: str) -> str:
    """Name of the GKE cluster."""
    return names.child(names.SYSTEM_NAMESPACE, cluster, "gke", limit=LONGEST_NAME)


def control_plane(site: CloudSite) -> Plain:
    """The cluster itself, without its networks. Its own first pool goes at once: every pool here has a name."""
    return {
        "name": cluster_name(site.cluster),
        "location": site.region,
        "deletion_protection": False,
        "remove_default_node_pool": True,
        "initial_node_count": 1,
        "min_master_version": site.version,
        "ip_allocation_policy": {"cluster_secondary_range_name": "pods", "services_secondary_range_name": "services"},
        "release_channel": {"channel": "REGULAR"},
        "workload_identity_config": {"workload_pool": f"{project_of_site(site)}.svc.id.goog"},
        "addons_config": {"gcp_filestore_csi_driver_config": {"enabled": True}},
    }


def system_pool() -> Plain:
    """The pool of everything that is no engine."""
    return {
        "name": names.SYSTEM_POOL,
        "initial_node_count": 1,
        "autoscaling": {"min_node_count": 1, "max_node_count": 2},
        "node_config": {**_node_config(SYSTEM_MACHINE), "labels": {names.LABEL_POOL: names.SYSTEM_POOL}},
    }


def gpu_pool(pool: CloudPool) -> Plain:
    """One pool of GPU nodes. GKE counts nodes in each zone, the fleet in all: `total` limits hold for all zones."""
    nodes = pool.nodes
    if not isinstance(nodes, GKENodes):
        raise TypeError("the loader refuses a pool whose class is another cloud's")
    accelerator = {
        "type": nodes.accelerator.type,
        "count": nodes.accelerator.count,
        "gpu_driver_installation_config": {"gpu_driver_version": "DEFAULT"},
    }
    return {
        "name": names.child("pool", pool.name, limit=LONGEST_NAME),
        "initial_node_count": _in_each_zone(pool.count, pool),
        "node_locations": list(pool.zones),
        "autoscaling": _limits(pool),
        "node_config": {
            **_node_config(nodes.machine_type),
            "disk_size_gb": nodes.disk_size_gb,
            "guest_accelerators": [accelerator],
            "labels": {names.LABEL_GPU: nodes.accelerator.type, names.LABEL_POOL: pool.name, DRA_LABEL: "true"},
        },
    }


def _limits(pool: CloudPool) -> Plain:
    high = max(pool.maximum, 1)
    if len(pool.zones) < 2:
        return {"min_node_count": pool.minimum, "max_node_count": high}
    return {"total_min_node_count": pool.minimum, "total_max_node_count": high, "location_policy": "ANY"}


def _in_each_zone(count: int, pool: CloudPool) -> int:
    """Enough in every zone, never more than asked for in all: the autoscaler adds what is missing."""
    return count // max(len(pool.zones), 1)


def _node_config(machine: str) -> Plain:
    return {"machine_type": machine, "image_type": "COS_CONTAINERD", "oauth_scopes": SCOPES}


def storage_class(network: Any) -> Plain:
    """The StorageClass of model caches; without its network Filestore would look for one called default."""
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": STORAGE_CLASS},
        "provisioner": "filestore.csi.storage.gke.io",
        "parameters": {"tier": "enterprise", "network": network},
        "volumeBindingMode": "Immediate",
        "allowVolumeExpansion": True,
    }


def build(parent: ComponentResource, name: str, site: CloudSite) -> Made:
    """Register every resource of the cluster below `parent`."""
    below = ResourceOptions(parent=parent)
    guarded = ResourceOptions(parent=parent, protect=site.is_protected or None)
    filestore = gcp.projects.Service(
        f"{name}/projectservice-filestore", service="file.googleapis.com", disable_on_destroy=False, opts=below
    )
    network = gcp.compute.Network(
        f"{name}/network",
        name=names.child("mp", site.cluster, "network"),
        auto_create_subnetworks=False,
        opts=guarded,
    )
    subnet = _subnet(parent, name, site, network)
    cluster = gcp.container.Cluster(
        f"{name}/cluster",
        **control_plane(site),
        network=network.name,
        subnetwork=subnet.name,
        opts=ResourceOptions.merge(guarded, ResourceOptions(depends_on=[filestore])),
    )
    system = _pool(parent, f"{name}/nodepool-system", cluster, system_pool())
    pools = {pool.name: _pool(parent, f"{name}/nodepool-{pool.name}", cluster, gpu_pool(pool)) for pool in site.pools}
    key, binding = _identity(parent, name, site)
    authority = cluster.master_auth.cluster_ca_certificate
    reached = Output.all(cluster.name, cluster.endpoint, authority).apply(
        lambda known: kubeconfig(known[0], f"https://{known[1]}", known[2], _token(site))
    )
    reach = inside.access(parent, name, site, reached, [system, binding])
    shared = register(storage_class(network.name), f"{name}/storage-class-rwx", inside.options(parent, reach))
    return Made(
        kubeconfig=reached,
        identity=Output.secret(key.private_key.apply(lambda found: base64.b64decode(found).decode())),
        storage_class=STORAGE_CLASS,
        pools={pool: made.id for pool, made in pools.items()},
        resources=[cluster, system, binding, filestore, shared],
    )


def _subnet(
    parent: ComponentResource, name: str, site: CloudSite, network: gcp.compute.Network
) -> gcp.compute.Subnetwork:
    ranges = {"pods": "10.1.0.0/16", "services": "10.2.0.0/16"}
    return gcp.compute.Subnetwork(
        f"{name}/subnet",
        name=names.child("mp", site.cluster, "subnet"),
        region=site.region,
        network=network.id,
        ip_cidr_range="10.0.0.0/24",
        secondary_ip_ranges=[{"range_name": key, "ip_cidr_range": cidr} for key, cidr in ranges.items()],
        opts=ResourceOptions(parent=parent),
    )


def _pool(parent: ComponentResource, name: str, cluster: gcp.container.Cluster, settings: Plain) -> Any:
    opts = ResourceOptions(parent=parent, ignore_changes=OWNED_BY_AUTOSCALER)
    return gcp.container.NodePool(name, cluster=cluster.id, **settings, opts=opts)


def _identity(
    parent: ComponentResource, name: str, site: CloudSite
) -> tuple[gcp.serviceaccount.Key, gcp.projects.IAMMember]:
    """The account that consumers elsewhere reach the cluster with; its key is of no use before it is bound."""
    below = ResourceOptions(parent=parent)
    account = gcp.serviceaccount.Account(
        f"{name}/service-account",
        account_id=names.child("mp", site.cluster, limit=LONGEST_ACCOUNT),
        display_name=f"Modelplane access to {site.cluster}",
        opts=below,
    )
    key = gcp.serviceaccount.Key(f"{name}/service-account-key", service_account_id=account.name, opts=below)
    binding = gcp.projects.IAMMember(
        f"{name}/iam-binding",
        project=project_of_site(site),
        role="roles/container.admin",
        member=account.member,
        opts=below,
    )
    return key, binding


def _token(site: CloudSite) -> list[str]:
    return token_arguments(site, "gke")
