"""Storage for model caches on EKS: an EFS file system with a mount target in each zone's private subnet."""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi_aws as aws
from pulumi import ComponentResource, Resource, ResourceOptions

from components.clouds.eks import plan
from components.clouds.eks.network import Network

NFS = 2049


@dataclass(frozen=True, kw_only=True)
class Storage:
    """The file system, and what has to be there before a volume on it can be mounted."""

    file_system: aws.efs.FileSystem
    targets: Sequence[Resource]


def register(parent: ComponentResource, name: str, cluster: str, network: Network, opts: ResourceOptions) -> Storage:
    """Register the file system; `opts` are those of the file system itself, which may be protected."""
    below = ResourceOptions(parent=parent)
    files = aws.efs.FileSystem(f"{name}/efs-filesystem", **plan.efs_settings(), opts=opts)
    group = aws.ec2.SecurityGroup(
        f"{name}/efs-security-group",
        name=f"{cluster}-efs",
        description="NFS traffic from nodes to the file system of model caches",
        vpc_id=network.vpc.id,
        opts=below,
    )
    ingress = aws.vpc.SecurityGroupIngressRule(
        f"{name}/efs-security-group-ingress",
        security_group_id=group.id,
        ip_protocol="tcp",
        from_port=NFS,
        to_port=NFS,
        cidr_ipv4=plan.VPC_CIDR,
        opts=below,
    )
    targets = [
        aws.efs.MountTarget(
            f"{name}/efs-mount-target-{index}",
            file_system_id=files.id,
            subnet_id=subnet.id,
            security_groups=[group.id],
            opts=below,
        )
        for index, subnet in network.private.items()
    ]
    return Storage(file_system=files, targets=[ingress, *targets])
