"""The policies of the documents let an account make what the components register, and are no wider than that needs."""

import json
from pathlib import Path

import yaml
from golden.test_clouds import FAST, recorded
from sites import a_cloud_class, a_cloud_pool, a_site

POLICIES = Path(__file__).resolve().parents[2] / "docs" / "clouds" / "permissions"

AWS = {
    "Addon": "eks:CreateAddon",
    "Cluster": "eks:CreateCluster",
    "Eip": "ec2:AllocateAddress",
    "FileSystem": "elasticfilesystem:CreateFileSystem",
    "InternetGateway": "ec2:CreateInternetGateway",
    "LaunchTemplate": "ec2:CreateLaunchTemplate",
    "MountTarget": "elasticfilesystem:CreateMountTarget",
    "NatGateway": "ec2:CreateNatGateway",
    "NodeGroup": "eks:CreateNodegroup",
    "PodIdentityAssociation": "eks:CreatePodIdentityAssociation",
    "Policy": "iam:CreatePolicy",
    "Role": "iam:CreateRole",
    "RolePolicyAttachment": "iam:AttachRolePolicy",
    "Route": "ec2:CreateRoute",
    "RouteTable": "ec2:CreateRouteTable",
    "RouteTableAssociation": "ec2:AssociateRouteTable",
    "SecurityGroup": "ec2:CreateSecurityGroup",
    "SecurityGroupEgressRule": "ec2:AuthorizeSecurityGroupEgress",
    "SecurityGroupIngressRule": "ec2:AuthorizeSecurityGroupIngress",
    "Subnet": "ec2:CreateSubnet",
    "Vpc": "ec2:CreateVpc",
}
GCP = {
    "Account": "iam.serviceAccounts.create",
    "Cluster": "container.clusters.create",
    "IAMMember": "resourcemanager.projects.setIamPolicy",
    "Key": "iam.serviceAccountKeys.create",
    "Network": "compute.networks.create",
    "NodePool": "container.clusters.update",
    "Service": "serviceusage.services.enable",
    "Subnetwork": "compute.subnetworks.create",
}
BEGINNINGS = ("Create", "Allocate", "Associate", "Attach", "Authorize")
BACK = {
    "ec2:AllocateAddress": ("ec2:ReleaseAddress", "ec2:DisassociateAddress"),
    "ec2:AssociateRouteTable": ("ec2:DisassociateRouteTable",),
    "ec2:AttachInternetGateway": ("ec2:DetachInternetGateway",),
    "ec2:AuthorizeSecurityGroupEgress": ("ec2:RevokeSecurityGroupEgress",),
    "ec2:AuthorizeSecurityGroupIngress": ("ec2:RevokeSecurityGroupIngress",),
    "ec2:CreateInternetGateway": ("ec2:DeleteInternetGateway",),
    "ec2:CreateLaunchTemplate": ("ec2:DeleteLaunchTemplate",),
    "ec2:CreateLaunchTemplateVersion": ("ec2:DeleteLaunchTemplateVersions",),
    "ec2:CreateNatGateway": ("ec2:DeleteNatGateway",),
    "ec2:CreateRoute": ("ec2:DeleteRoute",),
    "ec2:CreateRouteTable": ("ec2:DeleteRouteTable",),
    "ec2:CreateSecurityGroup": ("ec2:DeleteSecurityGroup",),
    "ec2:CreateSubnet": ("ec2:DeleteSubnet",),
    "ec2:CreateTags": ("ec2:DeleteTags",),
    "ec2:CreateVpc": ("ec2:DeleteVpc",),
    "eks:CreateAddon": ("eks:DeleteAddon",),
    "eks:CreateCluster": ("eks:DeleteCluster",),
    "eks:CreateNodegroup": ("eks:DeleteNodegroup",),
    "eks:CreatePodIdentityAssociation": ("eks:DeletePodIdentityAssociation",),
    "elasticfilesystem:CreateFileSystem": ("elasticfilesystem:DeleteFileSystem",),
    "elasticfilesystem:CreateMountTarget": ("elasticfilesystem:DeleteMountTarget",),
    "iam:AttachRolePolicy": ("iam:DetachRolePolicy",),
    "iam:CreatePolicy": ("iam:DeletePolicy",),
    "iam:CreatePolicyVersion": ("iam:DeletePolicyVersion",),
    "iam:CreateRole": ("iam:DeleteRole",),
}
"""What undoes each action of AWS that makes or joins something."""
ENDS_WITH_ITS_OWNER = {"iam:CreateServiceLinkedRole"}
"""A service's own role stays in the account: other clusters use it too."""
LOOKS = {
    "Addon": ("eks:DescribeAddon",),
    "Cluster": ("eks:DescribeCluster",),
    "FileSystem": ("elasticfilesystem:DescribeFileSystems", "elasticfilesystem:DescribeLifecycleConfiguration"),
    "MountTarget": ("elasticfilesystem:DescribeMountTargets", "elasticfilesystem:DescribeMountTargetSecurityGroups"),
    "NodeGroup": ("eks:DescribeNodegroup",),
    "PodIdentityAssociation": ("eks:DescribePodIdentityAssociation", "eks:ListPodIdentityAssociations"),
    "Policy": ("iam:GetPolicy", "iam:GetPolicyVersion", "iam:ListPolicyVersions"),
    "Role": ("iam:GetRole", "iam:ListRolePolicies", "iam:ListAttachedRolePolicies", "iam:ListInstanceProfilesForRole"),
    "RolePolicyAttachment": ("iam:ListAttachedRolePolicies",),
}
"""How each kind is looked at again; all of EC2 is, by one wildcard."""
NEBIUS = {
    "ComputeV1Filesystem": "compute.nebius.com",
    "ComputeV1GpuCluster": "compute.nebius.com",
    "Mk8sV1Cluster": "mk8s.nebius.com",
    "Mk8sV1NodeGroup": "mk8s.nebius.com",
    "VpcV1Network": "vpc.nebius.com",
    "VpcV1Subnet": "vpc.nebius.com",
}
"""Services that roles on Nebius are about: it has none for single actions."""
AZURE = {
    "AgentPool": "Microsoft.ContainerService/managedClusters/agentPools/write",
    "ManagedCluster": "Microsoft.ContainerService/managedClusters/write",
    "ResourceGroup": "Microsoft.Resources/subscriptions/resourceGroups/write",
    "Subnet": "Microsoft.Network/virtualNetworks/subnets/write",
    "VirtualNetwork": "Microsoft.Network/virtualNetworks/write",
}


def kinds(package: str, source: str, **cluster: object) -> set[str]:
    classes = (a_cloud_class(source), a_cloud_class(source, "h200", **FAST.get(source, {})))
    resources = recorded(a_site(source, *classes, **cluster)).resources
    return {found.kind for found in resources if found.type.startswith(f"{package}:")}


def test_aws() -> None:
    pools = [a_cloud_pool("EKS", "fast", class_name="h200", fabric={"type": "EFA"}), a_cloud_pool("EKS")]
    assert kinds("aws", "EKS", pools=pools) == AWS.keys()
    statements = json.loads((POLICIES / "aws.json").read_text())["Statement"]
    actions = {action for each in statements for action in _listed(each["Action"])}
    assert set(AWS.values()) <= actions
    assert {action for action in actions if "*" in action} == {"ec2:Describe*"}
    assert {action for action in actions if action in BACK and not set(BACK[action]) <= actions} == set()
    begun = {action for action in actions if action.partition(":")[2].startswith(BEGINNINGS)}
    assert begun - BACK.keys() == ENDS_WITH_ITS_OWNER
    looks = {look for kind, made in AWS.items() for look in LOOKS.get(kind, ()) if made in actions}
    assert LOOKS.keys() == {kind for kind, made in AWS.items() if not made.startswith("ec2:")}
    assert looks <= actions
    for each in statements:
        if any(action.startswith("iam:") for action in _listed(each["Action"])):
            assert each["Resource"] != "*"


def test_gcp() -> None:
    assert kinds("gcp", "GKE") == GCP.keys()
    allowed = set(yaml.safe_load((POLICIES / "gcp.yaml").read_text())["includedPermissions"])
    assert set(GCP.values()) <= allowed
    assert {each.replace("create", "delete") for each in allowed if each.endswith(".create")} <= allowed


def test_azure() -> None:
    assert kinds("azure-native", "AKS") == AZURE.keys()
    allowed = set(json.loads((POLICIES / "azure.json").read_text())["Actions"])
    assert set(AZURE.values()) <= allowed
    assert {each.replace("/write", "/delete") for each in allowed if each.endswith("/write")} <= allowed
    assert not [each for each in allowed if "*" in each]


def test_nebius() -> None:
    pools = [a_cloud_pool("Nebius", fabric={"type": "InfiniBand", "infiniband": {"fabric": "fabric-2"}})]
    assert kinds("nebius", "Nebius", pools=pools) == NEBIUS.keys()
    found = yaml.safe_load((POLICIES / "nebius.yaml").read_text())
    assert {service for each in found["covers"] for service in each} == set(NEBIUS.values())
    assert found["role"] == "editor"
    assert found["project"].startswith("project-")


def _listed(actions: str | list[str]) -> list[str]:
    return [actions] if isinstance(actions, str) else actions
