"""A cluster on EKS, from an empty backend to nothing left, on the real engine with a double of AWS."""

from pathlib import Path

import pytest
from builders import a_fleet
from clouds.rig import DOOR, Rig
from pulumi import automation
from sites import a_cloud_class, a_cloud_cluster, a_cloud_pool
from states import documents_of

from api.documents import FleetDocuments
from programs.outputs import ClusterOutputs

pytestmark = pytest.mark.engine

BOUGHT = {"capacityReservationId": "cr-0a1b"}
FLEET = a_fleet(
    "prod",
    gateway={"kubeconfigSecretRef": {"name": "hub"}},
    servingStack={"inferencePools": False},
    deletion={"protectClusters": False},
)


def documents(nodes: int = 2) -> FleetDocuments:
    pools = [
        a_cloud_pool("EKS", "gpu", nodes=nodes),
        a_cloud_pool("EKS", "fast", class_name="h200", fabric={"type": "EFA"}, capacityBlock=BOUGHT),
    ]
    h200 = a_cloud_class("EKS", "h200", instanceType="p5en.48xlarge")
    return documents_of(FLEET, DOOR, a_cloud_class("EKS"), h200, a_cloud_cluster("EKS", pools=pools))


def test_a_cluster_from_nothing_to_nothing(tmp_path: Path) -> None:
    rig = Rig(tmp_path, documents())
    planned = rig.preview()
    assert rig.held() == {}
    made = rig.up()
    assert made == planned
    outputs = ClusterOutputs.model_validate(rig.outputs())
    assert not outputs.reachable  # nobody is behind the double's API server
    assert [pool.provisioned for pool in outputs.pools] == [True, True]
    assert "example" not in rig.state().replace("example.com", "")
    assert rig.up() == {"same": sum(made.values())}
    rig.documents = documents(nodes=3)
    assert rig.up() == {"same": sum(made.values()) - 1, "update": 1}
    rig.stack.refresh()
    assert set(rig.up()) == {"same"}
    rig.stack.destroy()
    assert rig.held() == {}
    order = rig.journal("delete")
    assert order.index("cluster-us/nodegroup-fast") < order.index("cluster-us/cluster") < order.index("cluster-us/vpc")


def test_a_pool_that_the_cloud_cannot_give_leaves_the_rest_made(tmp_path: Path) -> None:
    rig = Rig(tmp_path, documents())
    full = {"op": "create", "name": "nodegroup-fast", "code": "RESOURCE_EXHAUSTED", "message": "InsufficientCapacity"}
    rig.go_wrong(full)
    with pytest.raises(automation.CommandError, match="InsufficientCapacity"):
        rig.up()
    outputs = ClusterOutputs.model_validate(rig.outputs())
    assert {pool.name: pool.usable_nodes for pool in outputs.pools} == {"gpu": 2, "fast": 0}
    assert rig.up()["create"] == 1
    rig.stack.destroy()
    assert rig.held() == {}
