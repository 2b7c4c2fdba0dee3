"""Rules of gateways, classes and clusters: the smallest document that breaks each, and the field it is said at."""

from typing import Any

import pytest
from builders import Plain, a_device, a_pool, a_taint, document
from unit.api.rules import Broken, broken, changed

from api import InferenceClass, InferenceCluster, InferenceGateway


def gateway(traefik: Plain | None, name: str = "default") -> Plain:
    return document("InferenceGateway", name, {"backend": "Traefik"} | ({"traefik": traefik} if traefik else {}))


def pool_of(range_: str) -> Plain:
    return gateway({"version": "40.2.0", "loadBalancer": "MetalLB", "metallb": {"addressPool": range_}})


GATEWAYS: dict[str, tuple[Plain, list[Broken]]] = {
    "IG-V1": (gateway(None), [("IG-V1", "spec.traefik")]),
    "IG-V2": (gateway({"version": "1", "loadBalancer": "MetalLB"}), [("IG-V2", "spec.traefik.metallb")]),
    "IG-N1": (gateway({"version": "1"}, "main"), [("IG-N1", "metadata.name")]),
    "IG-N3": (
        gateway({"version": "1", "metallb": {"addressPool": "10.0.0.0/24"}}),
        [("IG-N3", "spec.traefik.metallb")],
    ),
    "one address": (pool_of("10.0.0.1-10.0.0.1"), []),
    "a CIDR": (pool_of("10.0.0.0/24"), []),
    "IPv6": (pool_of("fd00::1-fd00::9"), []),
    **{
        f"IG-N2 {text}": (pool_of(text), [("IG-N2", "spec.traefik.metallb.addressPool")])
        for text in ("10.0.0.9-10.0.0.1", "10.0.0.1", "10.0.0.1-fd00::1", "10.0.0.0/33", "text", "a-b")
    },
}


@pytest.mark.parametrize(("plain", "expected"), GATEWAYS.values(), ids=GATEWAYS)
def test_gateway(plain: Plain, expected: list[Broken]) -> None:
    assert broken(InferenceGateway, plain) == expected


def classed(provisioning: Plain | None = None, **device: Any) -> Plain:
    spec: Plain = {"devices": [a_device(**device)]}
    return document("InferenceClass", "c", spec | ({"provisioning": provisioning} if provisioning else {}))


GPU = {"type": "nvidia-l4", "count": 8}
BLOCKS: dict[str, Plain] = {
    "GKE": {"machineType": "g2", "accelerator": GPU},
    "EKS": {"instanceType": "p5", "accelerator": GPU},
    "AKS": {"vmSize": "nd", "accelerator": GPU},
    "Nebius": {"platform": "h100", "preset": "8gpu", "accelerator": GPU},
    "Vultr": {"plan": "vcg", "accelerator": GPU},
}
DEVICE = "spec.devices[0]"
CLASSES: dict[str, tuple[Plain, list[Broken]]] = {
    **{
        f"ICL-V{number} {provider}": (
            classed({"provider": provider}),
            [(f"ICL-V{number}", f"spec.provisioning.{provider.lower()}")],
        )
        for number, provider in enumerate(BLOCKS, start=1)
    },
    "ICL-N1": (
        classed({"provider": "GKE", "gke": BLOCKS["GKE"], "eks": BLOCKS["EKS"]}),
        [("ICL-N1", "spec.provisioning.eks")],
    ),
    "ICL-V6": (classed(deviceClassName=None), [("ICL-V6", f"{DEVICE}.deviceClassName")]),
    "a synthetic device needs no class": (classed(deviceClassName=None, claim="Synthetic"), []),
    "ICL-V7 none": (classed(attributes={"a": {}}), [("ICL-V7", f"{DEVICE}.attributes.a")]),
    "ICL-V7 two": (classed(attributes={"a": {"int": 1, "bool": True}}), [("ICL-V7", f"{DEVICE}.attributes.a")]),
    "a false and an empty text count": (classed(attributes={"a": {"bool": False}, "b": {"string": ""}}), []),
    **{
        f"ICL-N4 {text}": (classed(memory=text), [("ICL-N4", f"{DEVICE}.capacity.memory.value")])
        for text in ("80 Gi", "80GB", "80Gib", "8K", "-1Gi", "Gi", "1Gi\n")
    },
    **{f"a quantity {text}": (classed(memory=text), []) for text in ("8", "+1.5Gi", ".5", "1e3", "1E-3", "100m", "1.")},
    **{
        f"ICL-N5 {text}": (
            classed(attributes={"v": {"version": text}}),
            [("ICL-N5", f"{DEVICE}.attributes.v.version")],
        )
        for text in ("9.0", "v9.0.0", "09.0.0", "9.0.0-01", "9.0.0.0", "")
    },
    **{
        f"a version {text}": (classed(attributes={"v": {"version": text}}), []) for text in ("9.0.0", "1.2.3-rc.1+b.01")
    },
    **{
        f"ICL-N6 {key}": (classed(attributes={key: {"int": 1}}), [("ICL-N6", f"{DEVICE}.attributes[{key}]")])
        for key in ("a b", "1a", f"{'a' * 33} ", "/a", "x/y/z")
    },
    "keys of devices": (classed(attributes={"a_b": {"int": 1}, "vendor.com/c": {"int": 1}}), []),
}


@pytest.mark.parametrize(("plain", "expected"), CLASSES.values(), ids=CLASSES)
def test_class(plain: Plain, expected: list[Broken]) -> None:
    assert broken(InferenceClass, plain) == expected


ZONES = {"GKE": "x-a", "EKS": "xa"}
BOUGHT = {"capacityReservationId": "cr-0a1b"}


def clustered(source: str, *, pool: Plain | None = None, block: Plain | None = None, **spec: Any) -> Plain:
    """A cluster whose pool fits its source, with `pool` on top."""
    zones: Plain = {"zones": [ZONES[source]]} if source in ZONES else {}
    place = {"location": "x"} if source == "AKS" else {} if source == "Nebius" else {"region": "x"}
    cluster: Plain = {"source": source, source.lower(): block if block is not None else place}
    if source == "Existing":
        cluster["existing"] = {"secretRef": {"name": "s"}}
    return document(
        "InferenceCluster", "c", {"cluster": cluster, "nodePools": [a_pool() | zones | (pool or {})]} | spec
    )


POOL = "spec.nodePools[0]"
CLOUDS = ("GKE", "EKS", "AKS", "Nebius", "Vultr")
IB = {"type": "InfiniBand", "infiniband": {"fabric": "fabric-2"}}
CLUSTERS: dict[str, tuple[Plain, list[Broken]]] = {
    **{f"valid {source}": (clustered(source), []) for source in (*CLOUDS, "Existing")},
    **{
        f"{rule} {source}": (
            document(
                "InferenceCluster",
                "c",
                {"cluster": {"source": source}, "nodePools": [a_pool(zones=[ZONES.get(source, "a")])]},
            ),
            [(rule, f"spec.cluster.{source.lower()}")],
        )
        for source, rule in zip(("Existing", *CLOUDS), (f"IC-V{n}" for n in range(1, 7)), strict=True)
    },
    "an empty block is one": (clustered("Nebius", block={}), []),
    "IC-N1": (
        changed(clustered("Nebius"), "spec.cluster.gke", {"region": "x"}),
        [("IC-N1", "spec.cluster.gke")],
    ),
    "IC-V7": (clustered("Nebius", pool={"fabric": {"type": "InfiniBand"}}), [("IC-V7", f"{POOL}.fabric.infiniband")]),
    "IC-V8": (
        clustered("EKS", pool={"fabric": {"type": "EFA", "infiniband": {"fabric": "f"}}}),
        [("IC-V8", f"{POOL}.fabric.infiniband")],
    ),
    "IC-N2": (changed(clustered("GKE"), "spec.nodePools", None), [("IC-N2", "spec.nodePools")]),
    "no pools on a cluster handed over": (changed(clustered("Existing"), "spec.nodePools", None), []),
    "IC-N3 system": (clustered("Existing", pool={"name": "system"}), [("IC-N3", f"{POOL}.name")]),
    "IC-N3 AKS": (clustered("AKS", pool={"name": "gpu-h100"}), [("IC-N3", f"{POOL}.name")]),
    "IC-N3 elsewhere": (clustered("EKS", pool={"name": "gpu-h100"}), []),
    "IC-N4 floor": (clustered("GKE", pool={"minNodeCount": 1}), [("IC-N4", f"{POOL}.minNodeCount")]),
    "IC-N4 low": (clustered("GKE", pool={"minNodeCount": 2, "maxNodeCount": 3}), [("IC-N4", f"{POOL}.minNodeCount")]),
    "IC-N4 high": (clustered("GKE", pool={"nodeCount": 4, "maxNodeCount": 3}), [("IC-N4", f"{POOL}.maxNodeCount")]),
    "IC-N4 Vultr": (clustered("Vultr", pool={"nodeCount": 0}), [("IC-N4", f"{POOL}.nodeCount")]),
    "IC-N5 GKE": (clustered("GKE", pool={"zones": []}), [("IC-N5", f"{POOL}.zones")]),
    "IC-N5 EKS": (
        clustered("EKS", pool={"zones": [f"x{letter}" for letter in "abcdefghi"]}),
        [("IC-N5", f"{POOL}.zones"), *(("IC-N5", f"{POOL}.zones[{index}]") for index in (6, 7, 8))],
    ),
    **{
        f"IC-N5 {source} {zone}": (clustered(source, pool={"zones": [zone]}), [("IC-N5", f"{POOL}.zones[0]")])
        for source, zone in (("GKE", "y-a"), ("GKE", "xa"), ("EKS", "x-a"), ("EKS", "ya"), ("EKS", "x-lax-1a"))
    },
    "IC-N5 twice": (clustered("GKE", pool={"zones": ["x-a", "x-a"]}), [("IC-N5", f"{POOL}.zones[1]")]),
    "IC-N5 AKS": (
        clustered("AKS", pool={"zones": list("1234")}),
        [("IC-N5", f"{POOL}.zones"), ("IC-N5", f"{POOL}.zones[3]")],
    ),
    "IC-X3 zones": (
        clustered("EKS", pool={"zones": ["xa", "xb"], "capacityBlock": BOUGHT}),
        [("IC-X3", f"{POOL}.zones")],
    ),
    "IC-X3 growth": (
        clustered("EKS", pool={"maxNodeCount": 2, "capacityBlock": BOUGHT}),
        [("IC-X3", f"{POOL}.maxNodeCount")],
    ),
    "IC-X3 as bought": (clustered("EKS", pool={"nodeCount": 2, "maxNodeCount": 2, "capacityBlock": BOUGHT}), []),
    "IC-N5 AKS zone": (clustered("AKS", pool={"zones": ["westeurope-1"]}), [("IC-N5", f"{POOL}.zones[0]")]),
    **{
        f"IC-N6 EFA on {source}": (
            clustered(source, pool={"fabric": {"type": "EFA"}}),
            [("IC-N6", f"{POOL}.fabric.type")],
        )
        for source in ("GKE", "AKS", "Nebius", "Vultr", "Existing")
    },
    **{
        f"IC-N6 InfiniBand on {source}": (clustered(source, pool={"fabric": IB}), [("IC-N6", f"{POOL}.fabric.type")])
        for source in ("GKE", "EKS", "Vultr", "Existing")
    },
    "IC-N6 details on AKS": (clustered("AKS", pool={"fabric": IB}), [("IC-N6", f"{POOL}.fabric.infiniband")]),
    "the text None is no fabric": (clustered("Existing", pool={"fabric": {"type": "None"}}), []),
    "IC-N7": (
        clustered("GKE", pool={"capacityBlock": {"capacityReservationId": "cr-0a"}}),
        [("IC-N7", f"{POOL}.capacityBlock")],
    ),
    **{
        f"IC-N9 {version}": (
            clustered("GKE", block={"region": "x", "kubernetesVersion": version}),
            [("IC-N9", "spec.cluster.gke.kubernetesVersion")],
        )
        for version in ("1.33", "latest", "", "1.36.0-a-long-build-name")
    },
    "IC-N9 Vultr": (
        clustered("Vultr", block={"region": "x", "kubernetesVersion": "1.36"}),
        [("IC-N9", "spec.cluster.vultr.kubernetesVersion")],
    ),
    "IC-N10": (
        clustered("Existing", taints=[a_taint("-a"), a_taint("a", value="b c")]),
        [("IC-N10", "spec.taints[0].key"), ("IC-N10", "spec.taints[1].value")],
    ),
    "a taint twice": (clustered("Existing", taints=[a_taint("a"), a_taint("a")]), [("schema", "spec.taints[1]")]),
    "a taint with two effects": (clustered("Existing", taints=[a_taint("a"), a_taint("a", effect="NoExecute")]), []),
    "a pool twice": (clustered("Existing", nodePools=[a_pool(), a_pool()]), [("schema", "spec.nodePools[1]")]),
}


@pytest.mark.parametrize(("plain", "expected"), CLUSTERS.values(), ids=CLUSTERS)
def test_cluster(plain: Plain, expected: list[Broken]) -> None:
    assert broken(InferenceCluster, plain) == expected
