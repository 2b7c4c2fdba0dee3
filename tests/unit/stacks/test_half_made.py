"""A pool that a cloud began and failed at is in the state, and is not told as provisioned."""

from typing import Any

import pytest

from stacks.exported import outputs_without_secrets, stack_outputs
from stacks.half_made import without_half_made_pools

STACK = "urn:pulumi:prod.cluster.us::modelplane::pulumi:pulumi:Stack::modelplane-prod.cluster.us"
POOLS = [{"name": name, "provisioned": True} for name in ("gpu", "more", "pool-more")]


def entry(name: str, *errors: str) -> dict[str, Any]:
    return {"urn": f"urn:pulumi:prod.cluster.us::modelplane::a:b:Pool::cluster-us/{name}", "initErrors": [*errors]}


@pytest.mark.parametrize("name", ["nodegroup-more", "nodepool-more", "node-pool-more"])
def test_only_the_pool_itself_is_told_as_not_there(name: str) -> None:
    outputs = {"cluster": "us", "pools": POOLS}
    found = without_half_made_pools(outputs, [entry("node-pool-gpu"), entry(name, "timeout")])
    assert found["cluster"] == "us"
    assert {pool["name"]: pool["provisioned"] for pool in found["pools"]} == {
        "gpu": True,
        "more": False,
        "pool-more": True,
    }


@pytest.mark.parametrize("resource", [entry("cluster", "late"), entry("gpu-cluster-more", "late"), entry("x-gpu")])
def test_what_is_no_pool_changes_nothing(resource: dict[str, Any]) -> None:
    outputs = {"pools": POOLS}
    assert without_half_made_pools(outputs, [resource]) is outputs


def test_every_reader_of_a_state_is_told_so() -> None:
    root = {"urn": STACK, "type": "pulumi:pulumi:Stack", "outputs": {"pools": POOLS}}
    state = {"deployment": {"resources": [root, {**entry("nodegroup-gpu", "timeout"), "type": "a:b:Pool"}]}}
    for outputs in (stack_outputs(state), outputs_without_secrets(state)):
        assert [pool["provisioned"] for pool in outputs["pools"]] == [False, True, True]
