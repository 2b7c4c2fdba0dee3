"""The VPC of an EKS cluster: public subnets for load balancers, private ones for nodes, and one NAT gateway."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pulumi_aws as aws
from pulumi import ComponentResource, Resource, ResourceOptions

from components.clouds.eks import plan


@dataclass(frozen=True, kw_only=True)
class Network:
    """What the rest of the cluster needs of its network; subnets by the index of their zone."""

    vpc: aws.ec2.Vpc
    public: dict[int, aws.ec2.Subnet]
    private: dict[int, aws.ec2.Subnet]
    routes: Sequence[Resource]
    """What has to be there before a node in a private subnet reaches anything."""

    @property
    def all_subnets(self) -> list[Any]:
        """Ids of the subnets of both tiers."""
        return [subnet.id for subnet in (*self.public.values(), *self.private.values())]


def register(parent: ComponentResource, name: str, found: Sequence[plan.ZoneSubnets], opts: ResourceOptions) -> Network:
    """Register the network; `opts` are those of the VPC, which may be protected."""
    below = ResourceOptions(parent=parent)
    vpc = aws.ec2.Vpc(
        f"{name}/vpc", cidr_block=plan.VPC_CIDR, enable_dns_hostnames=True, enable_dns_support=True, opts=opts
    )
    public = {
        each.index: aws.ec2.Subnet(
            f"{name}/subnet-{each.index}",
            vpc_id=vpc.id,
            availability_zone=each.zone,
            cidr_block=each.public_cidr,
            map_public_ip_on_launch=True,
            tags={"kubernetes.io/role/elb": "1"},
            opts=below,
        )
        for each in found
    }
    private = {
        each.index: aws.ec2.Subnet(
            f"{name}/private-subnet-{each.index}",
            vpc_id=vpc.id,
            availability_zone=each.zone,
            cidr_block=each.private_cidr,
            map_public_ip_on_launch=False,
            opts=below,
        )
        for each in found
    }
    internet = aws.ec2.InternetGateway(f"{name}/internet-gateway", vpc_id=vpc.id, opts=below)
    address = aws.ec2.Eip(f"{name}/nat-eip", domain="vpc", opts=ResourceOptions(parent=parent, depends_on=[internet]))
    nat = aws.ec2.NatGateway(
        f"{name}/nat-gateway",
        subnet_id=public[min(public)].id,
        allocation_id=address.id,
        opts=ResourceOptions(parent=parent, depends_on=[internet]),
    )
    outward = _tier(parent, name, "", vpc, public, {"gateway_id": internet.id})
    hidden = _tier(parent, name, "private-", vpc, private, {"nat_gateway_id": nat.id})
    return Network(vpc=vpc, public=public, private=private, routes=(*outward, *hidden))


def _tier(
    parent: ComponentResource,
    name: str,
    prefix: str,
    vpc: aws.ec2.Vpc,
    subnets: dict[int, aws.ec2.Subnet],
    target: dict[str, Any],
) -> list[Resource]:
    below = ResourceOptions(parent=parent)
    table = aws.ec2.RouteTable(f"{name}/{prefix}route-table", vpc_id=vpc.id, opts=below)
    route = aws.ec2.Route(
        f"{name}/{prefix}route-default",
        route_table_id=table.id,
        destination_cidr_block=plan.EVERYWHERE,
        **target,
        opts=below,
    )
    associations = [
        aws.ec2.RouteTableAssociation(
            f"{name}/{prefix}route-table-association-{index}",
            subnet_id=subnet.id,
            route_table_id=table.id,
            opts=below,
        )
        for index, subnet in subnets.items()
    ]
    return [route, *associations]
