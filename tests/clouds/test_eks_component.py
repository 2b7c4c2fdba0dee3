"""A control plane on EKS by the component of pulumi_eks, on the real engine with doubles of its plugin and of AWS."""

from pathlib import Path

import pytest
from builders import a_fleet
from clouds.rig import DOOR, PACKAGES, Rig
from pulumi import automation
from sites import a_cloud_class, a_cloud_cluster, a_cloud_pool
from states import documents_of

from api.documents import FleetDocuments

pytestmark = pytest.mark.engine


def documents(control_plane: str) -> FleetDocuments:
    fleet = a_fleet(
        "prod",
        gateway={"kubeconfigSecretRef": {"name": "hub"}},
        servingStack={"inferencePools": False},
        clusters={"us": {"controlPlane": control_plane}},
    )
    pools = [a_cloud_pool("EKS", "fast", class_name="h200", fabric={"type": "EFA"})]
    h200 = a_cloud_class("EKS", "h200", instanceType="p5en.48xlarge")
    return documents_of(fleet, DOOR, h200, a_cloud_cluster("EKS", pools=pools))


def test_the_component_makes_the_control_plane_and_nothing_else(tmp_path: Path) -> None:
    rig = Rig(tmp_path, documents("Component"), packages=[*PACKAGES, "eks"])
    assert rig.preview() == (made := rig.up())
    held = {entry["name"]: entry["inputs"] for entry in rig.held().values()}
    (plane,) = [inputs for name, inputs in held.items() if name.startswith("cluster-us/cluster")]
    assert plane["name"] == "modelplane-system-us-eks-8fea8"
    assert len(plane["vpcConfig"]["subnetIds"]) == 6
    assert held["cluster-us/nodegroup-fast"]["clusterName"] == plane["name"]
    groups = held["cluster-us/launch-template-fast"]["networkInterfaces"][0]["securityGroups"]
    assert groups[1] == "sg-cluster"
    assert rig.outputs()["inputs"]["controlPlane"] == "Component"
    assert rig.up() == {"same": sum(made.values())}
    rig.documents = documents("Resources")
    with pytest.raises(automation.CommandError, match="control plane cannot be changed from Component to Resources"):
        rig.up()
    rig.unprotect()
    rig.stack.destroy()
    assert rig.held() == {}
