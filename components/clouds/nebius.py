"""Clusters on Nebius: managed Kubernetes with GPU clusters on InfiniBand (reference: clouds, section 6).

The project fixes the region. Every node mounts one shared file system of a fixed size, on which caches live.
"""

import base64
from typing import Any

import pulumi_nebius as nebius
from pulumi import ComponentResource, Input, Output, ResourceOptions

from api import names
from api.recipes import NebiusNodes
from components.clouds import inside
from components.clouds.kubeconfig import kubeconfig, token_arguments
from components.clouds.outputs import Made
from components.clouds.site import CloudPool, CloudSite, project_of_site
from components.kubernetes_objects import register

__all__ = ["build", "provider", "touch"]

Plain = dict[str, Any]

STORAGE_CLASS = "modelplane-rwx-fs"
DISK = "NETWORK_SSD"
FILESYSTEM_GIB = 1024
SYSTEM_DISK_GIB = 100
SYSTEM_PLATFORM, SYSTEM_PRESET = "cpu-d3", "4vcpu-16gb"
MOUNT_TAG = "modelplane-cache"
MOUNT_POINT = "/mnt/data"
CSI_NAMESPACE = "kube-system"
RETRIES = 10
"""How often a call is made again that Nebius throttles; its SDK would give up after three."""

CLOUD_INIT = f"""#cloud-config
runcmd:
  - mkdir -p {MOUNT_POINT}
  - mount -t virtiofs {MOUNT_TAG} {MOUNT_POINT}
  - echo "{MOUNT_TAG} {MOUNT_POINT} virtiofs defaults,nofail 0 2" >> /etc/fstab
"""
"""Mounts the shared file system when a node starts."""


def touch() -> None:
    """Load every part of the SDK that is used; it is one flat module."""
    str(nebius.Mk8sV1Cluster)


def provider(name: str, site: CloudSite) -> nebius.Provider:
    """The provider of one project; credentials come from the environment and are in no state.

    The SDK is one of the Terraform bridge's, of which the engine notes the SDK's version first and the bridge's ever
    after: which it is says nothing, and is no change.
    """
    account = site.credential
    return nebius.Provider(
        name,
        parent_id=project_of_site(site),
        profile={"name": account.profile} if account.profile else None,
        retries=RETRIES,
        opts=ResourceOptions(
            env_var_mappings={ours: name for name, ours in account.env.items()} or None, ignore_changes=["version"]
        ),
    )


def fabrics(site: CloudSite) -> tuple[str, ...]:
    """Physical fabrics that pools are on, each once, in the order in which pools name them."""
    return tuple(dict.fromkeys(pool.infiniband for pool in site.pools if pool.has_infiniband and pool.infiniband))


def template(platform: str, preset: str, disk_gib: int, labels: dict[str, str]) -> Plain:
    """What every node of a group is: machine, disk, labels, and the script that mounts the shared file system."""
    return {
        "resources": {"platform": platform, "preset": preset},
        "boot_disk": {"size_gibibytes": disk_gib, "type": DISK},
        "cloud_init_user_data": CLOUD_INIT,
        "metadata": {"labels": labels},
    }


def attached(subnet: Input[str], filesystem: Input[str]) -> Plain:
    """Network and file system of a node; without the latter no cache could be mounted there."""
    return {
        "network_interfaces": [{"subnet_id": subnet}],
        "filesystems": [
            {"attach_mode": "READ_WRITE", "mount_tag": MOUNT_TAG, "existing_filesystem": {"id": filesystem}}
        ],
    }


def system_group() -> Plain:
    """The group of everything that is no engine."""
    labels = {names.LABEL_POOL: names.SYSTEM_POOL}
    return {
        "autoscaling": {"min_node_count": 1, "max_node_count": 2},
        "template": template(SYSTEM_PLATFORM, SYSTEM_PRESET, SYSTEM_DISK_GIB, labels),
    }


def gpu_group(pool: CloudPool) -> Plain:
    """The group of one pool: of a fixed size, or scaled between its bounds by Nebius."""
    nodes = pool.nodes
    if not isinstance(nodes, NebiusNodes):
        raise TypeError("the loader refuses a pool whose class is another cloud's")
    labels = {names.LABEL_POOL: pool.name, names.LABEL_GPU: nodes.accelerator.type}
    bounds = {"min_node_count": pool.minimum, "max_node_count": pool.maximum}
    size = {"fixed_node_count": pool.count} if pool.is_fixed else {"autoscaling": bounds}
    return {
        **size,
        "template": {
            **template(nodes.platform, nodes.preset, nodes.disk_size_gb, labels),
            "gpu_settings": {"drivers_preset": nodes.drivers_preset},
            "taints": [{"key": names.TAINT_GPU, "value": "true", "effect": "NO_SCHEDULE"}],
        },
    }


def storage_class() -> Plain:
    """The StorageClass of model caches: folders of the shared file system."""
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": STORAGE_CLASS},
        "provisioner": "mounted-fs-path.csi.nebius.ai",
        "volumeBindingMode": "WaitForFirstConsumer",
    }


def csi_values() -> Plain:
    """Values of the driver that makes volumes on the shared file system; it has to run on GPU nodes."""
    return {"dataDir": f"{MOUNT_POINT}/csi-mounted-fs-path-data/", "tolerations": [inside.GPU_TOLERATION]}


def build(parent: ComponentResource, name: str, site: CloudSite) -> Made:
    """Register every resource of the cluster below `parent`."""
    guarded = ResourceOptions(parent=parent, protect=site.is_protected or None)
    subnet = _subnet(parent, name, site, guarded)
    home = project_of_site(site)
    cluster = nebius.Mk8sV1Cluster(
        f"{name}/cluster",
        name=site.cluster,
        parent_id=home,
        labels=_labels(site),
        control_plane={"version": site.version, "subnet_id": subnet.id, "endpoints": {"public_endpoint": {}}},
        opts=guarded,
    )
    filesystem = nebius.ComputeV1Filesystem(
        f"{name}/filesystem",
        name=f"{site.cluster}-cache",
        parent_id=home,
        labels=_labels(site),
        type=DISK,
        size_gibibytes=FILESYSTEM_GIB,
        opts=guarded,
    )
    on_node = attached(subnet.id, filesystem.id)
    system = _group(parent, name, site, cluster, names.SYSTEM_POOL, _onto(system_group(), on_node))
    clusters = {fabric: _gpu_cluster(parent, name, site, fabric) for fabric in fabrics(site)}
    pools = {}
    for pool in site.pools:
        fabric = {"gpu_cluster": {"id": clusters[pool.infiniband].id}} if pool.infiniband in clusters else {}
        settings = _onto(gpu_group(pool), {**on_node, **fabric})
        pools[pool.name] = _group(parent, name, site, cluster, pool.name, settings)
    reached = _kubeconfig(site, cluster)
    reach = inside.access(parent, name, site, reached, [system])
    driver = inside.release(site, "csi-mounted-fs-path", CSI_NAMESPACE, csi_values())
    installed = inside.install(parent, name, reach, driver)
    shared = register(storage_class(), f"{name}/storage-class-rwx-fs", inside.options(parent, reach, *installed))
    return Made(
        kubeconfig=reached,
        storage_class=STORAGE_CLASS,
        pools={pool: made.id for pool, made in pools.items()},
        resources=[cluster, system, *installed, shared],
    )


def _labels(site: CloudSite) -> dict[str, str] | None:
    """The Fleet's tags: Nebius has none that a provider gives to everything, and calls them labels."""
    return dict(site.tags) or None


def _subnet(parent: ComponentResource, name: str, site: CloudSite, guarded: ResourceOptions) -> nebius.VpcV1Subnet:
    home = project_of_site(site)
    network = nebius.VpcV1Network(
        f"{name}/network", name=site.cluster, parent_id=home, labels=_labels(site), opts=guarded
    )
    return nebius.VpcV1Subnet(
        f"{name}/subnet",
        name=site.cluster,
        parent_id=home,
        labels=_labels(site),
        network_id=network.id,
        ipv4_private_pools={"use_network_pools": True},
        opts=ResourceOptions(parent=parent),
    )


def _gpu_cluster(parent: ComponentResource, name: str, site: CloudSite, fabric: str) -> nebius.ComputeV1GpuCluster:
    return nebius.ComputeV1GpuCluster(
        f"{name}/gpu-cluster-{fabric}",
        name=f"{site.cluster}-{fabric}",
        parent_id=project_of_site(site),
        labels=_labels(site),
        infiniband_fabric=fabric,
        opts=ResourceOptions(parent=parent),
    )


def _onto(settings: Plain, more: Plain) -> Plain:
    return {**settings, "template": {**settings["template"], **more}}


def _group(
    parent: ComponentResource, name: str, site: CloudSite, cluster: nebius.Mk8sV1Cluster, pool: str, settings: Plain
) -> Any:
    return nebius.Mk8sV1NodeGroup(
        f"{name}/nodegroup-{pool}",
        name=f"{site.cluster}-{pool}",
        parent_id=cluster.id,
        labels=_labels(site),
        version=site.version,
        **settings,
        opts=ResourceOptions(parent=parent),
    )


def _kubeconfig(site: CloudSite, cluster: nebius.Mk8sV1Cluster) -> Output[str]:
    arguments = token_arguments(site, "nebius")
    control = cluster.status.control_plane
    found: Output[str] = Output.all(control.endpoints.public_endpoint, control.auth.cluster_ca_certificate).apply(
        lambda known: kubeconfig(site.cluster, known[0], base64.b64encode(known[1].encode()).decode(), arguments)
    )
    return found
