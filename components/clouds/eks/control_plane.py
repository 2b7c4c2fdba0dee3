"""The control plane of a cluster on EKS: one resource or, where the Fleet says so, the component of pulumi_eks."""

from dataclasses import dataclass
from typing import Any

import pulumi_aws as aws
from pulumi import ComponentResource, Output, Resource, ResourceOptions

from components.clouds.eks import plan
from components.clouds.eks.iam import Role
from components.clouds.eks.network import Network
from components.clouds.site import CloudSite


@dataclass(frozen=True, kw_only=True)
class ControlPlane:
    """What the rest of the cluster needs of it. `authority` is the certificate in base64."""

    resource: Resource
    name: Output[str]
    endpoint: Output[str]
    authority: Output[str]
    security_group: Output[str]
    """The group that EKS makes for the control plane and its nodes."""


@dataclass(frozen=True)
class Roles:
    """Roles of the control plane and of the nodes."""

    cluster: Role
    nodes: Role


def register(
    parent: ComponentResource, name: str, site: CloudSite, net: Network, roles: Roles, guarded: ResourceOptions
) -> ControlPlane:
    """Register the control plane; `guarded` are the options of what may be protected.

    Raises:
        MissingCloudSdk: the component is asked for, and pulumi_eks is not installed.

    """
    opts = ResourceOptions.merge(guarded, ResourceOptions(depends_on=list(roles.cluster.policies)))
    if site.control_plane == "Component":
        from components.clouds import component_of_eks  # noqa: PLC0415 - an extra, loaded where it is asked for

        made: Any = component_of_eks().register(parent, name, site, net, roles, opts)
        return _of(made, made.eks_cluster)
    cluster = aws.eks.Cluster(
        f"{name}/cluster",
        **plan.control_plane(site),
        role_arn=roles.cluster.arn,
        vpc_config=plan.endpoints(net.all_subnets),
        opts=opts,
    )
    return _of(cluster, cluster)


def _of(resource: Resource, cluster: Any) -> ControlPlane:
    return ControlPlane(
        resource=resource,
        name=cluster.name,
        endpoint=cluster.endpoint,
        authority=cluster.certificate_authority.data,
        security_group=cluster.vpc_config.cluster_security_group_id,
    )
