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


def _listed(actions: str | list[str]) -> list[str]:
    return [actions] if isinstance(actions, str) else actions
