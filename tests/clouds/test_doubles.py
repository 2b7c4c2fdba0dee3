"""The doubles refuse what no cloud's SDK takes, also where the SDK itself looks on: inside plain dictionaries."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from builders import a_fleet
from clouds.rig import DOOR, Rig
from doubles.schema import faults
from pulumi import automation
from sites import a_cloud_class, a_cloud_cluster
from states import documents_of

from components.clouds import vultr

GROUP = "aws:eks/nodeGroup:NodeGroup"
SIZES = {"desiredSize": 1, "maxSize": 2, "minSize": 0}
RIGHT = {"clusterName": "us", "nodeRoleArn": "arn", "scalingConfig": SIZES, "subnetIds": ["one"]}


@pytest.mark.parametrize(
    ("token", "inputs", "said"),
    [
        (GROUP, RIGHT, None),
        (GROUP, RIGHT | {"instanceType": "g6.xlarge"}, "instanceType: unknown, one of "),
        (GROUP, {key: value for key, value in RIGHT.items() if key != "subnetIds"}, "subnetIds: missing"),
        (GROUP, RIGHT | {"scalingConfig": SIZES | {"desired": 1}}, "scalingConfig.desired: unknown, one of "),
        (GROUP, RIGHT | {"scalingConfig": {"desiredSize": 1, "maxSize": 2}}, "scalingConfig.minSize: missing"),
        (GROUP, RIGHT | {"taints": [{"key": "gpu"}]}, "taints[0].effect: missing"),
        (GROUP, RIGHT | {"diskSize": "large"}, "diskSize: not a int: 'large'"),
        (GROUP, RIGHT | {"subnetIds": "one"}, "subnetIds: not a list"),
        ("aws:eks/nodegroup:Nodegroup", RIGHT, "aws:eks/nodegroup:Nodegroup: unknown type"),
        ("gcp:compute/subnetwork:Subnetwork", {"ipCidrRange": "10.0.0.0/24"}, "network: missing"),
        ("azure-native:network:VirtualNetwork", {"resourceGroup": "us"}, "resourceGroup: unknown, one of "),
        ("nebius:index/vpcV1Network:VpcV1Network", {"parent": "us"}, "parent: unknown, one of "),
        ("vultr:index/kubernetes:Kubernetes", {"label": "us", "region": "ewr", "version": "1"}, None),
    ],
)
def test_names_and_kinds_of_values_are_those_of_the_sdk(token: str, inputs: dict[str, Any], said: str | None) -> None:
    found = faults(token, inputs)
    assert found == [] if said is None else any(text.startswith(said) for text in found)


def misspelled(taint: dict[str, Any]) -> dict[str, Any]:
    return {"keys" if name == "key" else name: value for name, value in taint.items()}


def halved(taint: dict[str, Any]) -> dict[str, Any]:
    return {"key": taint["key"], "value": taint["value"]}


@pytest.mark.engine
@pytest.mark.parametrize(
    ("edit", "said"), [(misspelled, r"taints\[0\].keys: unknown, one of "), (halved, r"taints\[0\].effect: missing")]
)
def test_the_engine_is_told_in_the_preview(
    edit: Callable[[dict[str, Any]], dict[str, Any]], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = vultr.gpu_pool

    def wrong(pool: Any) -> dict[str, Any]:
        settings = right(pool)
        return settings | {"taints": [edit(each) for each in settings["taints"]]}

    monkeypatch.setattr(vultr, "gpu_pool", wrong)
    fleet = a_fleet("prod", gateway={"kubeconfigSecretRef": {"name": "hub"}})
    rig = Rig(tmp_path, documents_of(fleet, DOOR, a_cloud_class("Vultr"), a_cloud_cluster("Vultr")))
    with pytest.raises(automation.CommandError, match=said):
        rig.preview()
    assert rig.held("vultr") == {}
