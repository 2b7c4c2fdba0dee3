"""Settings of everything in AWS that a cluster is made of, but for its nodes: plain functions of plain data.

The tables are those of the clouds reference, section 3. Subnets belong to a zone's letter, so that a zone more moves
none of the others.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from api import names
from components.clouds.site import CloudSite

Plain = dict[str, Any]

VPC_CIDR = "10.0.0.0/16"
EVERYWHERE = "0.0.0.0/0"
POLICIES = "arn:aws:iam::aws:policy"
CLUSTER_POLICIES = ("AmazonEKSClusterPolicy",)
NODE_POLICIES = ("AmazonEKSWorkerNodePolicy", "AmazonEKS_CNI_Policy", "AmazonEC2ContainerRegistryReadOnly")
EFS_POLICIES = ("service-role/AmazonEFSCSIDriverPolicy",)

EARLY_ADDONS = ("vpc-cni", "kube-proxy", "eks-pod-identity-agent")
"""Addons that are DaemonSets: they are active before there is a node."""
LATE_ADDONS = ("coredns", "aws-efs-csi-driver")
"""Addons that are active once their pods run somewhere."""
_PREINSTALLED = frozenset({"vpc-cni", "kube-proxy", "coredns"})

STORAGE_CLASS = "modelplane-rwx-efs"
EFS_ACCOUNT = "efs-csi-controller-sa"
AUTOSCALER_ACCOUNT = "cluster-autoscaler"
ADDON_NAMESPACE = "kube-system"

_ZONES = {"ap-northeast-1": "acd", "ca-central-1": "abd"}
"""Regions whose first three zones are not called a, b and c."""


@dataclass(frozen=True, kw_only=True)
class ZoneSubnets:
    """The two subnets of one availability zone."""

    index: int
    zone: str
    public_cidr: str
    private_cidr: str


def cluster_name(cluster: str) -> str:
    """Name of the EKS cluster; the autoscaler discovers node groups by it."""
    return names.child(names.SYSTEM_NAMESPACE, cluster, "eks")


def zones(region: str, wanted: Iterable[str]) -> tuple[str, ...]:
    """Availability zones with subnets: the region's first three, and those that pools name."""
    first = [f"{region}{letter}" for letter in _ZONES.get(region, "abc")]
    return tuple(sorted({*first, *wanted}))


def subnets(region: str, wanted: Iterable[str]) -> tuple[ZoneSubnets, ...]:
    """Subnets of 4,096 addresses for each zone: public ones for load balancers, private ones for nodes."""
    return tuple(_zone_subnets(zone) for zone in zones(region, wanted))


def _zone_subnets(zone: str) -> ZoneSubnets:
    """Places for six zones, three and three: within each half, private networks lie 48 above the public ones."""
    index = ord(zone[-1]) - ord("a")
    third = 96 * (index // 3) + 16 * (index % 3)
    return ZoneSubnets(index=index, zone=zone, public_cidr=f"10.0.{third}.0/20", private_cidr=f"10.0.{third + 48}.0/20")


def trust(service: str) -> str:
    """Who may take a role; pods are given theirs by EKS Pod Identity, which tags its sessions."""
    actions = ["sts:AssumeRole", "sts:TagSession"] if service == "pods.eks" else ["sts:AssumeRole"]
    statement = {"Effect": "Allow", "Principal": {"Service": f"{service}.amazonaws.com"}, "Action": actions}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def policy_arns(policies: Iterable[str]) -> dict[str, str]:
    """ARNs of AWS's own policies by their bare names."""
    return {policy.rpartition("/")[2]: f"{POLICIES}/{policy}" for policy in policies}


def autoscaler_policy() -> str:
    """What the autoscaler may do: look at groups and machines, and change the size of groups."""
    looks = (
        *(f"autoscaling:Describe{what}" for what in _AUTOSCALING),
        *(f"ec2:Describe{what}" for what in ("Images", "InstanceTypes", "LaunchTemplateVersions")),
        "ec2:GetInstanceTypesFromInstanceRequirements",
        "eks:DescribeNodegroup",
    )
    acts = ("autoscaling:SetDesiredCapacity", "autoscaling:TerminateInstanceInAutoScalingGroup")
    statements = [{"Effect": "Allow", "Action": list(actions), "Resource": "*"} for actions in (looks, acts)]
    return json.dumps({"Version": "2012-10-17", "Statement": statements})


_AUTOSCALING = ("AutoScalingGroups", "AutoScalingInstances", "LaunchConfigurations", "ScalingActivities")


def control_plane(site: CloudSite) -> Plain:
    """The cluster itself; its role and subnets are added when they are known."""
    return {
        "name": cluster_name(site.cluster),
        "version": site.version,
        "access_config": {
            "authentication_mode": "API_AND_CONFIG_MAP",
            "bootstrap_cluster_creator_admin_permissions": True,
        },
    }


def endpoints(subnet_ids: Sequence[Any]) -> Plain:
    """Network of the control plane: every subnet, and reachable from both sides."""
    return {"subnet_ids": list(subnet_ids), "endpoint_public_access": True, "endpoint_private_access": True}


def addon(name: str) -> Plain:
    """One addon in the version that EKS takes for the cluster's. What EKS put there before is taken over."""
    overwrite = {"resolve_conflicts_on_create": "OVERWRITE"} if name in _PREINSTALLED else {}
    return {"addon_name": name, **overwrite}


def efs_settings() -> Plain:
    """The file system of model caches."""
    return {"throughput_mode": "elastic", "encrypted": True}


def storage_class(file_system: Any) -> Plain:
    """The StorageClass of model caches: an access point of the file system for each volume."""
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": STORAGE_CLASS},
        "provisioner": "efs.csi.aws.com",
        "parameters": {"provisioningMode": "efs-ap", "fileSystemId": file_system, "directoryPerms": "700"},
        "volumeBindingMode": "Immediate",
    }


def autoscaler_values(site: CloudSite) -> Plain:
    """Values of the cluster autoscaler's chart; it finds node groups by the tags that EKS gives them."""
    return {
        "cloudProvider": "aws",
        "awsRegion": site.region,
        "autoDiscovery": {"clusterName": cluster_name(site.cluster)},
        "rbac": {"serviceAccount": {"name": AUTOSCALER_ACCOUNT}},
        "extraArgs": {"balance-similar-node-groups": True},
    }
