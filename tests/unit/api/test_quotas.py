"""What the clouds of a fleet have to allow it, out of its documents."""

from pathlib import Path

import pytest
from builders import a_cache, a_class, a_cluster, a_fleet
from sites import a_cloud_class, a_cloud_cluster, a_cloud_pool
from states import documents_of

from api.base import Kind
from api.loader import load
from api.quotas import azure_vcpus, ec2_vcpus, quotas_of

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
BOUGHT = {"capacityReservationId": "cr-0a1b"}


def told(*kinds: Kind) -> dict[tuple[str, str], int]:
    """Least amounts by region and name."""
    return {(quota.region, quota.name): quota.least for quota in quotas_of(documents_of(a_fleet("prod"), *kinds))}


def test_pools_count_with_the_most_nodes_they_may_have_and_clusters_of_a_region_together() -> None:
    pools = [a_cloud_pool("EKS", nodes=2), a_cloud_pool("EKS", "grows", minNodeCount=1, maxNodeCount=3)]
    clusters = [a_cloud_cluster("EKS", "us", pools=pools), a_cloud_cluster("EKS", "also")]
    assert told(a_cloud_class("EKS", instanceType="g6.12xlarge"), *clusters) == {
        ("us-east-1", "Running On-Demand G and VT instances"): 6 * 48,
        ("us-east-1", "Running On-Demand Standard instances"): 16,
        ("us-east-1", "VPCs"): 2,
        ("us-east-1", "Elastic IP addresses"): 2,
        ("us-east-1", "NAT gateways"): 2,
    }


def test_what_was_bought_counts_for_no_quota() -> None:
    machine = a_cloud_class("EKS", instanceType="p5en.48xlarge")
    on_demand, bought = (
        told(machine, a_cloud_cluster("EKS", pools=[a_cloud_pool("EKS", **fields)]))
        for fields in ({}, {"capacityBlock": BOUGHT})
    )
    name = ("us-east-1", "Running On-Demand P instances")
    assert on_demand.pop(name) == 192
    assert on_demand == bought


def test_gpus_of_google_cloud_count_in_the_region_and_in_all() -> None:
    found = told(a_cloud_class("GKE"), a_cloud_cluster("GKE", pools=[a_cloud_pool("GKE", nodes=3)]), a_cache())
    assert found == {
        ("", "GPUs (all regions)"): 3,
        ("us-central1", "GPUs of type nvidia-l4"): 3,
        ("us-central1", "CPUs"): 24,
        ("us-central1", "Filestore enterprise capacity"): 1,
    }


def test_accounts_are_told_apart() -> None:
    clusters = [
        a_cloud_cluster("Vultr", name, credentials={"name": account}) for name, account in {"a": "x", "b": "y"}.items()
    ]
    found = quotas_of(documents_of(a_fleet("prod"), a_cloud_class("Vultr"), *clusters))
    assert [(quota.account, quota.least, quota.unit) for quota in found] == [
        ("x", 1, "instances"),
        ("y", 1, "instances"),
    ]


def test_a_cluster_that_was_handed_over_takes_none() -> None:
    assert told(a_class(), a_cluster("us")) == {}


def test_the_example_of_all_clouds_tells_of_each() -> None:
    found = quotas_of(load(EXAMPLES / "multicloud"))
    assert {quota.source for quota in found} == {"EKS", "GKE", "AKS", "Nebius", "Vultr"}
    amounts = {quota.name: quota.least for quota in found}
    assert amounts["Total Regional vCPUs"] == 2 * 96 + 8
    assert amounts["GPUs of platform gpu-h100-sxm"] == 16


@pytest.mark.parametrize(
    ("machine", "vcpus"), {"m6i.xlarge": 4, "c7i.large": 2, "p5.48xlarge": 192, "g5g.metal": None}.items()
)
def test_sizes_of_ec2_tell_their_vcpus(machine: str, vcpus: int | None) -> None:
    assert ec2_vcpus(machine) == vcpus


@pytest.mark.parametrize(
    ("machine", "vcpus"), {"Standard_ND96isr_H100_v5": 96, "Standard_NC24ads_A100_v4": 24, "nd": None}.items()
)
def test_names_of_azure_tell_their_vcpus(machine: str, vcpus: int | None) -> None:
    assert azure_vcpus(machine) == vcpus
