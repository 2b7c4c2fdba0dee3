"""`Fleet.spec.tags` is on everything that a cloud lets be tagged, and on nothing else."""

import json
from typing import Any

import pytest
from builders import a_fleet
from doubles.schema import faults
from golden.test_clouds import FAST, FAST_POOLS, recorded
from recording import Registered
from sites import a_cloud_class, a_cloud_pool, a_site, credentials

TAGS = {"team": "inference", "cost-centre": "42"}
EFA = [a_cloud_pool("EKS", "fast", class_name="h200", fabric={"type": "EFA"}), a_cloud_pool("EKS")]
PACKAGES = {"EKS": "aws", "GKE": "gcp", "AKS": "azure-native", "Nebius": "nebius", "Vultr": "vultr"}


def registered(source: str, **spec: Any) -> list[Registered]:
    """Everything of a cloud's own package, its provider included, for pools with all that they can have."""
    fleet = a_fleet("prod", credentials=credentials(source), **spec)
    classes = (a_cloud_class(source), a_cloud_class(source, "h200", **FAST.get(source, {})))
    made = recorded(a_site(source, *classes, fleet=fleet, pools=FAST_POOLS.get(source, EFA))).resources
    package = PACKAGES[source]
    return [found for found in made if found.type.startswith((f"{package}:", f"pulumi:providers:{package}"))]


def is_taken(field: str, found: Registered) -> bool:
    """Whether the SDK has such an argument for this type."""
    return not any(text.startswith(f"{field}: unknown") for text in faults(found.type, {field: {}}))


@pytest.mark.parametrize(
    ("source", "field", "inside"), [("EKS", "defaultTags", "tags"), ("GKE", "defaultLabels", None)]
)
def test_providers_give_tags_to_everything_where_they_can(source: str, field: str, inside: str | None) -> None:
    provider, *resources = sorted(registered(source, tags=TAGS), key=lambda found: "providers" not in found.type)
    given = json.loads(provider.inputs[field])
    assert (given[inside] if inside else given) == TAGS
    assert not [found.name for found in resources if TAGS.items() <= (found.inputs.get("tags") or {}).items()]
    (bare, *_) = sorted(registered(source), key=lambda found: "providers" not in found.type)
    assert field not in bare.inputs


CARRIED = {
    "AKS": ("tags", {"ResourceGroup", "VirtualNetwork", "ManagedCluster", "AgentPool"}),
    "Nebius": (
        "labels",
        {
            "VpcV1Network",
            "VpcV1Subnet",
            "Mk8sV1Cluster",
            "ComputeV1Filesystem",
            "ComputeV1GpuCluster",
            "Mk8sV1NodeGroup",
        },
    ),
}


@pytest.mark.parametrize("source", CARRIED)
def test_each_resource_carries_them_where_providers_have_none_for_all(source: str) -> None:
    field, kinds = CARRIED[source]
    resources = [found for found in registered(source, tags=TAGS) if "providers" not in found.type]
    assert {found.kind for found in resources if found.inputs.get(field) == TAGS} == kinds
    assert {found.name for found in resources if found.inputs.get(field) == TAGS} == {
        found.name for found in resources if is_taken(field, found)
    }
    assert not [found.name for found in registered(source) if field in found.inputs]


def test_vultr_knows_no_pairs_and_is_given_none() -> None:
    assert [found.plain() for found in registered("Vultr", tags=TAGS)] == [
        found.plain() for found in registered("Vultr")
    ]
    assert "inference" not in str([found.inputs for found in registered("Vultr", tags=TAGS)])
