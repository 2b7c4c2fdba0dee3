"""Clusters on Azure: AKS with GPU pools, and InfiniBand through NVIDIA's network operator (reference: clouds, 5).

A pool is one scale set, whose placement group puts its nodes on one fabric; the subscription needs the feature
`AKSInfinibandSupport`, which no resource here can turn on.
"""

import base64
from typing import Any

import pulumi_azure_native as azure
from pulumi import ComponentResource, InvokeOutputOptions, Output, Resource, ResourceOptions

from api import names
from api.recipes import AKSNodes
from components.clouds import inside
from components.clouds.outputs import Made
from components.clouds.site import CloudPool, CloudSite
from components.kubernetes_objects import register

__all__ = ["build", "provider", "touch"]

Plain = dict[str, Any]

STORAGE_CLASS = "modelplane-rwx-fs"
SYSTEM_SIZE = "Standard_D4s_v5"
SYSTEM_DISK_GB = 100
OPERATOR_NAMESPACE = "network-operator"
MOUNT_OPTIONS = ("dir_mode=0777", "file_mode=0777", "uid=0", "gid=0", "mfsymlinks", "cache=strict", "actimeo=30")


def touch() -> None:
    """Load every part of the SDK that is used."""
    used = (
        azure.network.VirtualNetwork,
        azure.resources.ResourceGroup,
        azure.containerservice.ManagedCluster,
        azure.containerservice.list_managed_cluster_admin_credentials_output,
        azure.Provider,
    )
    for part in used:
        str(part)


def provider(name: str, site: CloudSite) -> azure.Provider:
    """The provider of one subscription; credentials come from the environment and are in no state."""
    account = site.credential
    return azure.Provider(
        name,
        location=site.region,
        subscription_id=account.subscription,
        opts=ResourceOptions(env_var_mappings={ours: name for name, ours in account.env.items()} or None),
    )


def cluster_name(cluster: str) -> str:
    """Name of the AKS cluster, and of its resource group."""
    return names.child(names.SYSTEM_NAMESPACE, cluster, "aks")


def control_plane(site: CloudSite, subnet: Any) -> Plain:
    """The cluster itself with its system pool. Azure's own name for the group of its nodes would be too long."""
    name = cluster_name(site.cluster)
    return {
        "resource_name_": name,
        "dns_prefix": name,
        "kubernetes_version": site.version,
        "node_resource_group": f"{name}-nodes",
        "identity": {"type": "SystemAssigned"},
        "disable_local_accounts": False,
        "agent_pool_profiles": [system_pool(subnet)],
        "network_profile": {
            "network_plugin": "azure",
            "network_plugin_mode": "overlay",
            "pod_cidr": "10.244.0.0/16",
            "service_cidr": "10.96.0.0/16",
            "dns_service_ip": "10.96.0.10",
        },
    }


def system_pool(subnet: Any) -> Plain:
    """The pool of everything that is no engine."""
    return {
        "name": names.SYSTEM_POOL,
        "mode": "System",
        "type": "VirtualMachineScaleSets",
        "os_type": "Linux",
        "vm_size": SYSTEM_SIZE,
        "count": 1,
        "enable_auto_scaling": True,
        "min_count": 1,
        "max_count": 2,
        "os_disk_size_gb": SYSTEM_DISK_GB,
        "node_labels": {names.LABEL_POOL: names.SYSTEM_POOL},
        "vnet_subnet_id": subnet,
    }


def gpu_pool(pool: CloudPool, version: str) -> Plain:
    """One pool of GPU nodes; AKS puts the driver on them."""
    nodes = pool.nodes
    if not isinstance(nodes, AKSNodes):
        raise TypeError("the loader refuses a pool whose class is another cloud's")
    zones = {"availability_zones": list(pool.zones)} if pool.zones else {}
    return {
        "agent_pool_name": pool.name,
        "mode": "User",
        "type": "VirtualMachineScaleSets",
        "os_type": "Linux",
        "vm_size": nodes.vm_size,
        "os_disk_size_gb": nodes.disk_size_gb,
        "orchestrator_version": version,
        "enable_auto_scaling": True,
        "min_count": pool.minimum,
        "max_count": max(pool.maximum, 1),
        "count": pool.wanted,
        **zones,
        "gpu_profile": {"driver": "Install"},
        "node_taints": [f"{names.TAINT_GPU}=true:NoSchedule"],
        "node_labels": {names.LABEL_GPU: nodes.accelerator.type, names.LABEL_POOL: pool.name},
    }


def storage_class() -> Plain:
    """The StorageClass of model caches; hub-layout caches are trees of links, which mfsymlinks keeps."""
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": STORAGE_CLASS},
        "provisioner": "file.csi.azure.com",
        "parameters": {"skuName": "Premium_LRS"},
        "mountOptions": [*MOUNT_OPTIONS, "nosharesock"],
        "reclaimPolicy": "Delete",
        "allowVolumeExpansion": True,
        "volumeBindingMode": "WaitForFirstConsumer",
    }


def operator_values() -> Plain:
    """Values of the network operator: its driver and the plugin that shares RDMA devices among pods."""
    return {
        "deployCR": True,
        "ofedDriver": {"deploy": True},
        "rdmaSharedDevicePlugin": {"deploy": True},
        "daemonsets": {"tolerations": [inside.GPU_TOLERATION]},
    }


def build(parent: ComponentResource, name: str, site: CloudSite) -> Made:
    """Register every resource of the cluster below `parent`."""
    guarded = ResourceOptions(parent=parent, protect=site.is_protected or None)
    group = azure.resources.ResourceGroup(
        f"{name}/resource-group",
        resource_group_name=cluster_name(site.cluster),
        location=site.region,
        tags=_tags(site),
        opts=guarded,
    )
    subnet = _subnet(parent, name, site, group)
    cluster = azure.containerservice.ManagedCluster(
        f"{name}/cluster",
        resource_group_name=group.name,
        location=site.region,
        tags=_tags(site),
        **control_plane(site, subnet.id),
        opts=ResourceOptions.merge(guarded, ResourceOptions(ignore_changes=["agentPoolProfiles[0].count"])),
    )
    pools = {
        pool.name: azure.containerservice.AgentPool(
            f"{name}/nodepool-{pool.name}",
            resource_group_name=group.name,
            resource_name_=cluster.name,
            vnet_subnet_id=subnet.id,
            tags=_tags(site),
            **gpu_pool(pool, site.version),
            opts=ResourceOptions(parent=parent, ignore_changes=None if pool.is_sized_here else ["count"]),
        )
        for pool in site.pools
    }
    reached = _kubeconfig(parent, group, cluster)
    installed = _installed(parent, name, site, reached, cluster)
    return Made(
        kubeconfig=reached,
        storage_class=STORAGE_CLASS,
        pools={pool: made.id for pool, made in pools.items()},
        resources=[cluster, *installed],
    )


def _tags(site: CloudSite) -> dict[str, str] | None:
    """Azure has no tags that a provider gives to everything."""
    return dict(site.tags) or None


def _subnet(
    parent: ComponentResource, name: str, site: CloudSite, group: azure.resources.ResourceGroup
) -> azure.network.Subnet:
    network = azure.network.VirtualNetwork(
        f"{name}/virtual-network",
        virtual_network_name=names.child(site.cluster, "vnet"),
        resource_group_name=group.name,
        location=site.region,
        tags=_tags(site),
        address_space={"address_prefixes": ["10.0.0.0/16"]},
        opts=ResourceOptions(parent=parent, ignore_changes=["subnets"]),
    )
    return azure.network.Subnet(
        f"{name}/subnet",
        subnet_name=names.child(site.cluster, "nodes"),
        resource_group_name=group.name,
        virtual_network_name=network.name,
        address_prefix="10.0.0.0/20",
        opts=ResourceOptions(parent=parent),
    )


def _kubeconfig(
    parent: ComponentResource,
    group: azure.resources.ResourceGroup,
    cluster: azure.containerservice.ManagedCluster,
) -> Output[str]:
    """The local administrator's, which holds a certificate that lasts; a secret wherever it goes."""
    granted = azure.containerservice.list_managed_cluster_admin_credentials_output(
        resource_group_name=group.name,
        resource_name=cluster.name,
        opts=InvokeOutputOptions(parent=parent, depends_on=[cluster]),
    )
    found = granted.apply(lambda granted: base64.b64decode(granted.kubeconfigs[0].value).decode())
    secret: Output[str] = Output.secret(found)
    return secret


def _installed(
    parent: ComponentResource, name: str, site: CloudSite, reached: Output[str], cluster: Resource
) -> list[Resource]:
    reach = inside.access(parent, name, site, reached, [cluster])
    shared = register(storage_class(), f"{name}/storage-class-rwx-fs", inside.options(parent, reach))
    if not any(pool.has_infiniband for pool in site.pools):
        return [shared]
    home = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": OPERATOR_NAMESPACE}}
    space = register(home, f"{name}/namespace-network-operator", inside.options(parent, reach))
    operator = inside.release(site, "network-operator", OPERATOR_NAMESPACE, operator_values())
    return [shared, *inside.install(parent, name, reach, operator, space)]
