"""What doubles of clouds answer: outputs by type, functions, and the inputs whose change replaces a resource.

`DOUBLE_KUBECONFIGS` may name a JSON file of kubeconfigs by package: API servers that answer behind the clusters.
"""

import base64
import hashlib
import json
import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import yaml

Plain = dict[str, Any]

NOWHERE = "https://127.0.0.1:1"
"""An API server that nobody listens as."""

VERSIONS = {"terraform-provider": "99.0.0"}


def answering(package: str) -> tuple[str, str, str]:
    """Address, authority in base64 and kubeconfig in base64 of the API server behind a cloud's clusters."""
    named = os.environ.get("DOUBLE_KUBECONFIGS")
    file = json.loads(Path(named).read_text()).get(package) if named else None
    if file is None:
        return NOWHERE, "Q0E=", "YXBpVmVyc2lvbjogdjE="
    text = Path(file).read_text()
    cluster = yaml.safe_load(text)["clusters"][0]["cluster"]
    return cluster["server"], cluster["certificate-authority-data"], base64.b64encode(text.encode()).decode()


def outputs_of(package: str) -> Mapping[str, Plain]:
    """What a cloud adds to the inputs of a resource, by type."""
    server, authority, kubeconfig = answering(package)
    public = {"endpoints": {"publicEndpoint": server}}
    pem = base64.b64decode(authority).decode()
    return {
        "aws:eks/cluster:Cluster": {
            "endpoint": server,
            "certificateAuthority": {"data": authority},
            "vpcConfig": {"clusterSecurityGroupId": "sg-cluster"},
        },
        "gcp:container/cluster:Cluster": {
            "endpoint": server.removeprefix("https://"),
            "masterAuth": {"clusterCaCertificate": authority},
        },
        "gcp:serviceaccount/key:Key": {"privateKey": "eyJ0eXBlIjogInNlcnZpY2VfYWNjb3VudCJ9"},
        "gcp:serviceaccount/account:Account": {"member": "serviceAccount:access@acme.example"},
        "nebius:index/mk8sV1Cluster:Mk8sV1Cluster": {
            "status": {"controlPlane": {**public, "auth": {"clusterCaCertificate": pem}}}
        },
        "vultr:index/kubernetes:Kubernetes": {"kubeConfig": kubeconfig},
        "kubernetes:apps/v1:Deployment": {"status": {**dict.fromkeys(_COUNTS, 1), "observedGeneration": 1}},
        "kubernetes:gateway.networking.k8s.io/v1:Gateway": {"status": {"addresses": [{"value": "10.0.0.1"}]}},
        "kubernetes:gateway.networking.k8s.io/v1:HTTPRoute": {"status": {"parents": [{"conditions": [_ACCEPTED]}]}},
    }


ACCOUNTS = {
    "aws": "AWS_ACCESS_KEY_ID",
    "gcp": "GOOGLE_CREDENTIALS",
    "azure-native": "ARM_CLIENT_ID",
    "terraform-provider": "NEBIUS_IAM_TOKEN",
    "vultr": "VULTR_API_KEY",
}
"""Variables that tell accounts apart, by package."""


def account_of(package: str) -> str:
    """A digest of the account that this process calls its cloud with; nothing where it was given none."""
    given = os.environ.get(ACCOUNTS.get(package, ""))
    return digest_of(given) if given else ""


def digest_of(given: str) -> str:
    """What an account is noted as."""
    return hashlib.sha256(given.encode()).hexdigest()[:8]


_COUNTS = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
_ACCEPTED = {"type": "Accepted", "status": "True"}


def functions_of(package: str) -> Mapping[str, Plain]:
    """What a cloud's functions return."""
    admin = {"name": "clusterAdmin", "value": answering(package)[2]}
    return {"azure-native:containerservice:listManagedClusterAdminCredentials": {"kubeconfigs": [admin]}}


REPLACED_BY: Mapping[str, Collection[str]] = {
    "vultr:index/kubernetesNodePools:KubernetesNodePools": ("clusterId", "plan"),
    "aws:ec2/vpc:Vpc": ("cidrBlock",),
    "aws:ec2/subnet:Subnet": ("availabilityZone", "cidrBlock", "vpcId"),
    "aws:eks/cluster:Cluster": ("name", "roleArn"),
    "aws:eks/nodeGroup:NodeGroup": ("amiType", "capacityType", "diskSize", "instanceTypes", "subnetIds"),
}
