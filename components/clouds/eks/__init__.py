"""Clusters on AWS: plain EKS resources, each setting under its own name (reference: clouds, section 3).

A Fleet may have the component of pulumi_eks make the control plane; node groups are plain all the same, because those
of pulumi_eks bring placement groups with EFA and know no Capacity Blocks.
"""

import pulumi_aws as aws
import pulumi_kubernetes as kubernetes
from pulumi import ComponentResource, Output, Resource, ResourceOptions

from components.clouds import inside
from components.clouds.eks import control_plane, iam, network, plan, storage
from components.clouds.eks.control_plane import ControlPlane
from components.clouds.eks.pools import Pools
from components.clouds.kubeconfig import kubeconfig, token_arguments
from components.clouds.outputs import Made
from components.clouds.site import CloudSite
from components.kubernetes_objects import register

RETRIES = "adaptive"
"""Calls that AWS throttles are made again, and the next ones slower: a cluster is a hundred calls at once."""

__all__ = ["build", "provider", "touch"]


def touch() -> None:
    """Load every part of the SDK that is used."""
    for part in (aws.ec2.Vpc, aws.eks.Cluster, aws.iam.Role, aws.efs.FileSystem, aws.vpc.SecurityGroupIngressRule):
        str(part)


def provider(name: str, site: CloudSite) -> aws.Provider:
    """The provider of one account and region; credentials come from the environment and are in no state."""
    account = site.credential
    return aws.Provider(
        name,
        region=site.region,
        profile=account.profile,
        retry_mode=RETRIES,
        default_tags={"tags": dict(site.tags)} if site.tags else None,
        opts=ResourceOptions(env_var_mappings={ours: name for name, ours in account.env.items()} or None),
    )


def build(parent: ComponentResource, name: str, site: CloudSite) -> Made:
    """Register every resource of the cluster below `parent`."""
    guarded = ResourceOptions(parent=parent, protect=site.is_protected or None)
    found = plan.subnets(site.region, (zone for pool in site.pools for zone in pool.zones))
    net = network.register(parent, name, found, guarded)
    role = iam.role(parent, name, "cluster", "eks", plan.CLUSTER_POLICIES)
    node_role = iam.role(parent, name, "node", "ec2", plan.NODE_POLICIES)
    cluster = control_plane.register(parent, name, site, net, control_plane.Roles(role, node_role), guarded)
    pools = Pools(parent, name, site, cluster, net, node_role)
    system = pools.system()
    groups = pools.gpus(found)
    files = storage.register(parent, name, site.cluster, net, guarded)
    early = [_addon(parent, name, cluster, addon) for addon in plan.EARLY_ADDONS]
    efs_role = iam.role(parent, name, "efs-csi", "pods.eks", plan.EFS_POLICIES)
    identity = iam.pod_identity(parent, name, plan.EFS_ACCOUNT, cluster.name, efs_role)
    late = [_addon(parent, name, cluster, addon, system, identity, *early) for addon in plan.LATE_ADDONS]
    reached = Output.all(cluster.name, cluster.endpoint, cluster.authority).apply(
        lambda known: kubeconfig(known[0], known[1], known[2], _token(site))
    )
    reach = inside.access(parent, name, site, reached, [system, *early, *late])
    installed = _installed(parent, name, site, cluster, reach, files)
    return Made(
        kubeconfig=reached,
        storage_class=plan.STORAGE_CLASS,
        pools={pool: group.id for pool, group in groups.items()},
        resources=[cluster.resource, system, *files.targets, *early, *late, *installed],
    )


def _addon(parent: ComponentResource, name: str, cluster: ControlPlane, addon: str, *after: Resource) -> aws.eks.Addon:
    return aws.eks.Addon(
        f"{name}/addon-{addon}",
        cluster_name=cluster.name,
        **plan.addon(addon),
        opts=ResourceOptions(parent=parent, depends_on=list(after)),
    )


def _token(site: CloudSite) -> list[str]:
    return token_arguments(site, "eks", "--cluster", plan.cluster_name(site.cluster), "--region", site.region)


def _installed(
    parent: ComponentResource,
    name: str,
    site: CloudSite,
    cluster: ControlPlane,
    reach: kubernetes.Provider,
    files: storage.Storage,
) -> list[Resource]:
    """What lies in the cluster: the class for model caches, the autoscaler, and the driver of EFA devices."""
    shared = plan.storage_class(files.file_system.id)
    rwx = register(shared, f"{name}/storage-class-rwx-efs", inside.options(parent, reach, *files.targets))
    identity = iam.pod_identity(parent, name, plan.AUTOSCALER_ACCOUNT, cluster.name, iam.autoscaler_role(parent, name))
    autoscaler = inside.release(site, "cluster-autoscaler", plan.ADDON_NAMESPACE, plan.autoscaler_values(site))
    installed = [rwx, *inside.install(parent, name, reach, autoscaler, identity)]
    if any(pool.has_efa for pool in site.pools):
        values = {"tolerations": [inside.GPU_TOLERATION]}
        driver = inside.release(site, "aws-dranet", plan.ADDON_NAMESPACE, values)
        installed += inside.install(parent, name, reach, driver)
    return installed
