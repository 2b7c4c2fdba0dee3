"""Cases of the rules of gateways, classes and clusters."""

from typing import Any

from builders import Plain, a_cache, a_device, a_pool, document
from unit.api.rule_cases.case import Case, case, changed

GPU: Plain = {"type": "nvidia-h100", "count": 8}
RECIPES: dict[str, Plain] = {
    "GKE": {"machineType": "a3-highgpu-8g", "accelerator": GPU},
    "EKS": {"instanceType": "p5.48xlarge", "accelerator": GPU},
    "AKS": {"vmSize": "Standard_ND96isr_H100_v5", "accelerator": GPU},
    "Nebius": {"platform": "gpu-h100-sxm", "preset": "8gpu-128vcpu-1600gb", "accelerator": GPU},
    "Vultr": {"plan": "vcg-h100", "accelerator": GPU},
}
BLOCKS: dict[str, Plain] = {
    "Existing": {"secretRef": {"name": "us"}, "cache": {"storageClassName": "shared"}},
    "GKE": {"region": "us-central1"},
    "EKS": {"region": "us-west-2"},
    "AKS": {"location": "westeurope", "kubernetesVersion": "1.35"},
    "Nebius": {"kubernetesVersion": "1.35"},
    "Vultr": {"region": "ewr"},
}
SECRET: Plain = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "us", "namespace": "modelplane-system"},
    "stringData": {"kubeconfig": "text"},
}


FLEET = document("Fleet", "f", {"credentials": {"prod": {"gcp": {"project": "p"}}}})


def gateway(**traefik: Any) -> Plain:
    return document("InferenceGateway", "default", {"backend": "Traefik", "traefik": {"version": "40.2.0"} | traefik})


METALLB = gateway(loadBalancer="MetalLB", metallb={"addressPool": "10.0.0.1-10.0.0.9"})
GATEWAYS: dict[str, Case] = {
    "IG-V1": case(gateway(), "spec.traefik", refused=None, accepted={"version": "40.2.0"}),
    "IG-V2": case(METALLB, "spec.traefik.metallb", refused=None, accepted={"addressPool": "10.0.0.0/24"}),
    "IG-N1": case(gateway(), "metadata.name", refused="main", accepted="default"),
    "IG-N2": case(METALLB, "spec.traefik.metallb.addressPool", refused="10.0.0.9-10.0.0.1", accepted="10.0.0.0/24"),
    "IG-N3": case(METALLB, "spec.traefik.loadBalancer", refused=None, accepted="MetalLB", at="spec.traefik.metallb"),
    "IG-N4": case(gateway(), "spec.traefik.version", refused="", accepted="40.2.0"),
}


def class_of(provider: str = "", **device: Any) -> Plain:
    spec: Plain = {"devices": [a_device(**device)]}
    if provider:
        spec["provisioning"] = {"provider": provider, provider.lower(): RECIPES[provider]}
    return document("InferenceClass", "h100x8", spec)


DEVICE = "spec.devices.0"
CLASSES: dict[str, Case] = {
    **{
        f"ICL-V{number}": case(
            class_of(provider), f"spec.provisioning.{provider.lower()}", refused=None, accepted=RECIPES[provider]
        )
        for number, provider in enumerate(RECIPES, start=1)
    },
    "ICL-V6": case(class_of(), f"{DEVICE}.deviceClassName", refused=None, accepted="gpu.nvidia.com"),
    "ICL-V7": case(
        class_of(),
        f"{DEVICE}.attributes",
        refused={"a": {"int": 1, "bool": True}},
        accepted={"a": {"int": 1}},
        at="spec.devices[0].attributes.a",
    ),
    "ICL-N1": case(class_of("GKE"), "spec.provisioning.eks", refused=RECIPES["EKS"], accepted=None),
    "ICL-N2": case(class_of(), f"{DEVICE}.name", refused="GPU_0", accepted="gpu-0"),
    "ICL-N3": case(class_of(), f"{DEVICE}.driver", refused="gpu_driver", accepted="gpu.driver"),
    "ICL-N4": case(class_of(), f"{DEVICE}.capacity.memory.value", refused="80 Gi", accepted="81559Mi"),
    "ICL-N5": case(
        class_of(),
        f"{DEVICE}.attributes",
        refused={"a": {"version": "9.0"}},
        accepted={"a": {"version": "9.0.0"}},
        at="spec.devices[0].attributes.a.version",
    ),
    "ICL-N6": case(
        class_of(),
        f"{DEVICE}.attributes",
        refused={"1a": {"int": 1}},
        accepted={"example.com/a1": {"int": 1}},
        at="spec.devices[0].attributes[1a]",
    ),
    "ICL-N7": case(class_of(), f"{DEVICE}.claim", refused="Synthetic", accepted="DRA", at="spec.devices"),
    "ICL-N8": case(class_of(), f"{DEVICE}.capacity.memory.value", refused="80Gi", accepted="81559Mi"),
    "ICL-X1": case(
        changed(class_of(), "metadata.annotations", {}),
        "metadata.annotations",
        refused={"modelplane.ai/hourly-cost": "$12"},
        accepted={"modelplane.ai/hourly-cost": "12.50"},
        at="metadata.annotations[modelplane.ai/hourly-cost]",
    ),
    "ICL-N9": case(
        class_of("GKE"), f"{DEVICE}.count", refused=4, accepted=8, at="spec.provisioning.gke.accelerator.count"
    ),
}


ZONES = {"GKE": "us-central1-a", "EKS": "us-west-2a"}


def cluster_of(source: str = "Existing", **pool: Any) -> Plain:
    zones: Plain = {"zones": [ZONES[source]]} if source in ZONES else {}
    spec: Plain = {
        "cluster": {"source": source, source.lower(): BLOCKS[source]},
        "nodePools": [a_pool() | zones | pool],
    }
    return document("InferenceCluster", "us", spec)


def beside(source: str = "Existing") -> tuple[Plain, ...]:
    """What a cluster needs beside it."""
    return (class_of("" if source == "Existing" else source), SECRET)


def cluster_case(source: str, path: str, *, refused: Any, accepted: Any, at: str = "") -> Case:
    return case(cluster_of(source), path, refused=refused, accepted=accepted, at=at, beside=beside(source))


POOL = "spec.nodePools.0"
FABRIC: Plain = {"type": "InfiniBand", "infiniband": {"fabric": "fabric-2"}}
CLUSTERS: dict[str, Case] = {
    **{
        f"IC-V{number}": cluster_case(source, f"spec.cluster.{source.lower()}", refused=None, accepted=BLOCKS[source])
        for number, source in enumerate(BLOCKS, start=1)
    },
    "IC-V7": cluster_case(
        "Nebius",
        f"{POOL}.fabric",
        refused={"type": "InfiniBand"},
        accepted=FABRIC,
        at="spec.nodePools[0].fabric.infiniband",
    ),
    "IC-V8": cluster_case(
        "EKS",
        f"{POOL}.fabric",
        refused=FABRIC | {"type": "EFA"},
        accepted={"type": "EFA"},
        at="spec.nodePools[0].fabric.infiniband",
    ),
    "IC-F1": cluster_case("Existing", f"{POOL}.className", refused="h200x8", accepted="h100x8"),
    "IC-F2": Case(
        refused=(cluster_of("GKE"), class_of(), SECRET),
        accepted=(cluster_of("GKE"), *beside("GKE")),
        at="spec.nodePools[0].className",
    ),
    "IC-N1": cluster_case("GKE", "spec.cluster.eks", refused=BLOCKS["EKS"], accepted=None),
    "IC-N2": cluster_case("GKE", "spec.nodePools", refused=None, accepted=[a_pool(zones=["us-central1-a"])]),
    "IC-N3": cluster_case("AKS", f"{POOL}.name", refused="gpu-h100", accepted="gpuh100"),
    "IC-N4": cluster_case("GKE", f"{POOL}.minNodeCount", refused=1, accepted=None),
    "IC-N5": cluster_case("GKE", f"{POOL}.zones", refused=None, accepted=["us-central1-a"]),
    "IC-N6": cluster_case(
        "GKE", f"{POOL}.fabric", refused={"type": "EFA"}, accepted={"type": "None"}, at="spec.nodePools[0].fabric.type"
    ),
    "IC-N7": cluster_case("GKE", f"{POOL}.capacityBlock", refused={"capacityReservationId": "cr-0a"}, accepted=None),
    "IC-N8": Case(
        refused=(cluster_of("GKE"), class_of("EKS"), SECRET),
        accepted=(cluster_of("EKS"), class_of("EKS"), SECRET),
        at="spec.nodePools[0].className",
    ),
    "IC-N9": cluster_case("GKE", "spec.cluster.gke.kubernetesVersion", refused="1.33", accepted="1.35"),
    "IC-N10": cluster_case(
        "Existing",
        "spec.taints",
        refused=[{"key": "a b", "effect": "NoSchedule"}],
        accepted=[{"key": "a.b/c", "effect": "NoSchedule"}],
        at="spec.taints[0].key",
    ),
    "IC-N12": case(
        cluster_of("AKS", maxNodeCount=4), f"{POOL}.minNodeCount", refused=0, accepted=1, beside=beside("AKS")
    ),
    "IC-N13": case(
        cluster_of(),
        "spec.cluster.existing.cache",
        refused=None,
        accepted={"storageClassName": "shared"},
        at="spec.cluster.existing",
        beside=(*beside(), a_cache().plain()),
    ),
    "IC-X2": Case(
        refused=(changed(cluster_of("GKE"), "spec.cluster.gke.credentials", {"name": "other"}), *beside("GKE"), FLEET),
        accepted=(changed(cluster_of("GKE"), "spec.cluster.gke.credentials", {"name": "prod"}), *beside("GKE"), FLEET),
        at="spec.cluster.gke.credentials.name",
    ),
    "IC-X4": case(
        changed(cluster_of(), "spec.cluster.existing.identitySecretRef", {"name": "us", "key": "kubeconfig"}),
        "spec.cluster.existing.identitySecretRef.type",
        refused="AWSWebIdentityCredentials",
        accepted="NebiusServiceAccountCredentials",
        beside=beside(),
    ),
    "IC-X3": case(
        cluster_of("EKS", capacityBlock={"capacityReservationId": "cr-0a1b"}),
        f"{POOL}.maxNodeCount",
        refused=2,
        accepted=1,
        beside=beside("EKS"),
    ),
    "IC-X1": case(
        cluster_of(),
        "spec.cluster.existing.secretRef.name",
        refused="eu",
        accepted="us",
        at="spec.cluster.existing.secretRef",
        beside=beside(),
    ),
}
"""IC-V9 and IC-N11 compare with what is deployed; their cases are in test_fixed.py."""

VULTR = changed(cluster_of("Vultr"), "metadata.labels", {"region": "eu"})
