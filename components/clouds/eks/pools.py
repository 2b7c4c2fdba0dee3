"""Node groups of an EKS cluster, with launch templates and the security group of EFA where pools ask for them."""

from collections.abc import Sequence
from typing import Any

import pulumi_aws as aws
from pulumi import ComponentResource, Output, Resource, ResourceOptions

from api import names
from components.clouds.eks import iam, nodes, plan
from components.clouds.eks.control_plane import ControlPlane
from components.clouds.eks.network import Network
from components.clouds.site import CloudPool, CloudSite

OWNED_BY_AUTOSCALER = ["scalingConfig.desiredSize"]
"""Between bounds that differ. A pool of one size is resized by all three numbers: AWS takes no floor above the size."""
LATEST = "$Latest"


class Pools:
    """Registers the node groups of one cluster."""

    def __init__(
        self,
        parent: ComponentResource,
        name: str,
        site: CloudSite,
        cluster: ControlPlane,
        network: Network,
        role: iam.Role,
    ) -> None:
        self._parent, self._name, self._site = parent, name, site
        self._cluster, self._network, self._role = cluster, network, role
        self._after: list[Resource] = [*role.policies, *network.routes]

    def system(self) -> aws.eks.NodeGroup:
        """The node group of everything that is no engine."""
        subnets = [subnet.id for subnet in self._network.private.values()]
        return self._group("nodegroup-system", nodes.system_group(), subnets, None, is_sized_here=False)

    def gpus(self, found: Sequence[plan.ZoneSubnets]) -> dict[str, aws.eks.NodeGroup]:
        """The node groups of the pools, by pool."""
        groups: list[Any] = []
        rules: list[Resource] = []
        if any(pool.has_efa for pool in self._site.pools):
            group, rules = self._efa_group()
            groups = [group.id, self._cluster.security_group]
        return {pool.name: self._gpu(pool, found, groups, rules) for pool in self._site.pools}

    def _gpu(
        self, pool: CloudPool, found: Sequence[plan.ZoneSubnets], groups: Sequence[Any], rules: Sequence[Resource]
    ) -> aws.eks.NodeGroup:
        subnets = [self._network.private[index].id for index in nodes.group_zones(pool, found)]
        template = self._template(pool, groups, rules) if nodes.needs_template(pool) else None
        return self._group(
            f"nodegroup-{pool.name}", nodes.gpu_group(pool), subnets, template, is_sized_here=pool.is_sized_here
        )

    def _template(self, pool: CloudPool, groups: Sequence[Any], rules: Sequence[Resource]) -> aws.ec2.LaunchTemplate:
        settings = nodes.launch_template(self._site.cluster, pool, groups)
        opts = ResourceOptions(parent=self._parent, depends_on=list(rules) if pool.has_efa else None)
        return aws.ec2.LaunchTemplate(f"{self._name}/launch-template-{pool.name}", **settings, opts=opts)

    def _group(
        self,
        key: str,
        settings: dict[str, Any],
        subnets: list[Output[str]],
        template: aws.ec2.LaunchTemplate | None,
        *,
        is_sized_here: bool,
    ) -> aws.eks.NodeGroup:
        ignored = None if is_sized_here else OWNED_BY_AUTOSCALER
        launch = {"launch_template": {"name": template.name, "version": LATEST}} if template else {}
        return aws.eks.NodeGroup(
            f"{self._name}/{key}",
            cluster_name=self._cluster.name,
            node_role_arn=self._role.arn,
            subnet_ids=subnets,
            **settings,
            **launch,
            opts=ResourceOptions(parent=self._parent, depends_on=self._after, ignore_changes=ignored),
        )

    def _efa_group(self) -> tuple[aws.ec2.SecurityGroup, list[Resource]]:
        """One group for all EFA pools. EFA needs it to allow itself both ways, open egress is not enough."""
        below = ResourceOptions(parent=self._parent)
        group = aws.ec2.SecurityGroup(
            f"{self._name}/efa-security-group",
            name=f"{self._site.cluster}-efa",
            description="EFA traffic between the GPU nodes of one cluster, which bypasses the operating system",
            vpc_id=self._network.vpc.id,
            tags={"Name": names.child(self._site.cluster, "efa-sg")},
            opts=below,
        )
        itself = {
            "security_group_id": group.id,
            "referenced_security_group_id": group.id,
            "ip_protocol": nodes.ALL_TRAFFIC,
        }
        inward = aws.vpc.SecurityGroupIngressRule(f"{self._name}/efa-ingress", **itself, opts=below)
        outward = aws.vpc.SecurityGroupEgressRule(f"{self._name}/efa-egress", **itself, opts=below)
        return group, [inward, outward]
