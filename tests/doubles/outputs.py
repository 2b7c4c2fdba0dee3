"""What doubles of clouds answer: outputs by type, functions, and the inputs whose change replaces a resource."""

from collections.abc import Collection, Mapping
from typing import Any

Plain = dict[str, Any]

NOWHERE = "https://127.0.0.1:1"
"""An API server that nobody listens as."""

VERSIONS = {"terraform-provider": "99.0.0"}

COMPUTED: Mapping[str, Plain] = {
    "aws:eks/cluster:Cluster": {
        "endpoint": NOWHERE,
        "certificateAuthority": {"data": "Q0E="},
        "vpcConfig": {"clusterSecurityGroupId": "sg-cluster"},
    },
    "gcp:container/cluster:Cluster": {"endpoint": "127.0.0.1:1", "masterAuth": {"clusterCaCertificate": "Q0E="}},
    "gcp:serviceaccount/account:Account": {"member": "serviceAccount:access@acme.example"},
    "nebius:index/mk8sV1Cluster:Mk8sV1Cluster": {
        "status": {"controlPlane": {"endpoints": {"publicEndpoint": NOWHERE}, "auth": {"clusterCaCertificate": "CA"}}}
    },
    "vultr:index/kubernetes:Kubernetes": {"kubeConfig": "YXBpVmVyc2lvbjogdjE="},
}

CALLS: Mapping[str, Plain] = {
    "azure-native:containerservice:listManagedClusterAdminCredentials": {
        "kubeconfigs": [{"name": "clusterAdmin", "value": "YXBpVmVyc2lvbjogdjE="}]
    }
}

REPLACED_BY: Mapping[str, Collection[str]] = {
    "vultr:index/kubernetesNodePools:KubernetesNodePools": ("clusterId", "plan"),
    "aws:ec2/vpc:Vpc": ("cidrBlock",),
    "aws:ec2/subnet:Subnet": ("availabilityZone", "cidrBlock", "vpcId"),
    "aws:eks/cluster:Cluster": ("name", "roleArn"),
    "aws:eks/nodeGroup:NodeGroup": ("amiType", "capacityType", "diskSize", "instanceTypes", "subnetIds"),
}
