"""Clusters on clouds for tests: documents, and the sites that components are given."""

from collections.abc import Mapping, Sequence
from typing import Any

from builders import a_class, a_device, a_fleet, a_pool, document
from states import documents_of

from api import Fleet, InferenceClass, InferenceCluster
from api.documents import FleetDocuments
from components.charts import Mirrors
from components.clouds.site import CloudSite, site_of

Plain = dict[str, Any]

RECIPES: dict[str, Plain] = {
    "EKS": {"instanceType": "g6.xlarge", "accelerator": {"type": "nvidia-l4", "count": 1}},
    "GKE": {"machineType": "g2-standard-8", "accelerator": {"type": "nvidia-l4", "count": 1}},
    "AKS": {"vmSize": "Standard_NC24ads_A100_v4", "accelerator": {"type": "nvidia-a100", "count": 1}},
    "Nebius": {
        "platform": "gpu-h100-sxm",
        "preset": "8gpu-128vcpu-1600gb",
        "accelerator": {"type": "h100", "count": 8},
    },
    "Vultr": {"plan": "vcg-l40s-16c-180g-48vram", "accelerator": {"type": "nvidia-l40s", "count": 1}},
}
BLOCKS: dict[str, Plain] = {
    "EKS": {"region": "us-east-1"},
    "GKE": {"region": "us-central1"},
    "AKS": {"location": "westeurope"},
    "Nebius": {},
    "Vultr": {"region": "ewr"},
}
ZONES = {"EKS": ["us-east-1b"], "GKE": ["us-central1-a"]}

SDKS = (
    "pulumi_aws",
    "pulumi_azure_native",
    "pulumi_eks",
    "pulumi_gcp",
    "pulumi_nebius",
    "ediri_vultr",
    "botocore",
    "google.auth",
)
"""Modules of which each belongs to a cloud's SDK."""


def a_cloud_class(source: str, name: str = "small", **recipe: Any) -> InferenceClass:
    provisioning = {"provider": source, source.lower(): RECIPES[source] | recipe}
    return a_class(name, devices=[a_device(count=1, memory="23034Mi")], provisioning=provisioning)


def a_cloud_pool(source: str, name: str = "gpu", **fields: Any) -> Plain:
    zones = {"zones": ZONES[source]} if source in ZONES else {}
    return a_pool(name, **({"class_name": "small"} | zones | fields))


def a_cloud_cluster(source: str, name: str = "us", *, pools: Sequence[Plain] = (), **block: Any) -> InferenceCluster:
    spec = {
        "cluster": {"source": source, source.lower(): BLOCKS[source] | block},
        "nodePools": list(pools) or [a_cloud_pool(source)],
    }
    return InferenceCluster.parse(document("InferenceCluster", name, spec))


def cloud_documents(cluster: InferenceCluster, *classes: InferenceClass, fleet: Fleet | None = None) -> FleetDocuments:
    source = cluster.spec.cluster.source
    listed = classes or (a_cloud_class(source),)
    return documents_of(fleet or a_fleet(credentials=credentials(source)), cluster, *listed)


def credentials(source: str) -> Mapping[str, Any]:
    """A project for the clouds that need one."""
    field = {"GKE": "gcp", "Nebius": "nebius"}.get(source)
    return {"default": {field: {"project": "acme"}}} if field else {}


def a_site(source: str, *classes: InferenceClass, fleet: Fleet | None = None, **cluster: Any) -> CloudSite:
    made = a_cloud_cluster(source, **cluster)
    return site_of(cloud_documents(made, *classes, fleet=fleet), made, Mirrors())
