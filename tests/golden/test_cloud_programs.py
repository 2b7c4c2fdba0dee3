"""What the program of a cluster on a cloud registers and exports, from documents and other stacks' outputs alone."""

from collections.abc import Mapping
from typing import Any

import pytest
from builders import a_fleet, document
from recording import Recording, record
from sites import a_cloud_class, a_cloud_cluster, a_cloud_pool
from states import documents_of

from api.documents import FleetDocuments
from api.routing import InferenceGateway
from programs import cluster, registry
from programs.context import Context
from programs.outputs import NOT_MADE, UNKNOWN, ClusterOutputs, Outputs, WorkloadsOutputs
from programs.probe import Answer

FLEET = a_fleet("prod", gateway={"kubeconfigSecretRef": {"name": "hub"}}, servingStack={"inferencePools": False})
DOOR = InferenceGateway.parse(
    document("InferenceGateway", "default", {"backend": "Traefik", "traefik": {"version": "37.0.0"}})
)
ANSWER = Answer(reachable=True, kube_system_uid="uid", nodes={"gpu": 1, "old": 2})


def documents(*pools: Mapping[str, Any]) -> FleetDocuments:
    return documents_of(FLEET, DOOR, a_cloud_class("EKS"), a_cloud_cluster("EKS", pools=[*map(dict, pools)]))


def ran(found: FleetDocuments, others: Mapping[str, Outputs] | None = None, *, preview: bool = False) -> Recording:
    kept = {f"prod.{name}": outputs.plain() for name, outputs in (others or {}).items()}
    context = Context(documents=found, kind="cluster", cluster="us", reader=kept.get, preview=preview, offline=preview)
    return record(lambda: registry.run(context), preview=preview, stack="prod.cluster.us")


@pytest.fixture(autouse=True)
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    found: list[str] = []

    def probe(kubeconfig: str, **_: Any) -> Answer:
        found.append(kubeconfig)
        return ANSWER

    monkeypatch.setattr(cluster, "probe", probe)
    return found


def test_a_cluster_is_asked_once_it_is_made(asked: list[str]) -> None:
    recording = ran(documents())
    outputs = ClusterOutputs.model_validate(recording.exports)
    assert asked == [outputs.kubeconfig]
    assert recording.secret == {"kubeconfig"}
    assert outputs.inputs.region == "us-east-1"
    assert (outputs.storage_class, outputs.kube_system_uid) == ("modelplane-rwx-efs", "uid")
    assert [(pool.name, pool.nodes.present, pool.provisioned) for pool in outputs.pools] == [("gpu", 1, True)]


def test_a_preview_on_an_empty_backend_plans_everything_and_asks_nobody(asked: list[str]) -> None:
    recording = ran(documents(), preview=True)
    assert asked == []
    assert len(recording.of_kind("NodeGroup")) == 2
    assert [pool["name"] for pool in recording.exports["pools"]] == ["gpu"]
    assert recording.exports["assumed"] is True


def test_a_pool_in_use_outlives_its_documents_and_goes_when_it_is_empty() -> None:
    first = ClusterOutputs.model_validate(ran(documents(a_cloud_pool("EKS"), a_cloud_pool("EKS", "old"))).exports)
    in_use = WorkloadsOutputs(cluster="us", pools=("old",))
    second = ran(documents(), {"cluster.us": first, "workloads.us": in_use})
    assert [found.name for found in second.of_kind("NodeGroup")] == [
        "cluster-us/nodegroup-gpu",
        "cluster-us/nodegroup-old",
        "cluster-us/nodegroup-system",
    ]
    outputs = ClusterOutputs.model_validate(second.exports)
    third = ran(documents(), {"cluster.us": outputs, "workloads.us": WorkloadsOutputs(cluster="us")})
    assert "cluster-us/nodegroup-old" not in {found.name for found in third.resources}


def test_a_pool_that_the_cloud_could_not_give_counts_only_what_is_there() -> None:
    exports = ran(documents(a_cloud_pool("EKS", nodes=4))).exports
    exports["pools"][0]["provisioned"] = UNKNOWN.value
    (pool,) = ClusterOutputs.model_validate(exports).pools
    assert (pool.nodes.configured, pool.nodes.present, pool.usable_nodes) == (4, 1, 1)


def test_outputs_that_a_failed_update_left_open_say_that_the_cluster_is_not_made() -> None:
    exports = ran(documents()).exports
    open_ones = {key: UNKNOWN.value for key in exports if key not in {"pools", "version"}}
    pools = [
        {**pool, "observed": UNKNOWN.value, "nodes": {"configured": 1, "present": UNKNOWN.value}}
        for pool in exports["pools"]
    ]
    inputs = {"cluster": "us", "inputs": exports["inputs"]}
    outputs = ClusterOutputs.model_validate({**exports, **open_ones, **inputs, "pools": pools})
    assert (outputs.reachable, outputs.reason, outputs.kubeconfig) == (False, NOT_MADE, UNKNOWN.value)


def test_a_pool_in_use_keeps_its_nodes_until_replicas_have_left_and_is_then_made_anew() -> None:
    first = ClusterOutputs.model_validate(ran(documents()).exports)
    in_use = WorkloadsOutputs(cluster="us", pools=("gpu",))
    larger = documents_of(FLEET, DOOR, a_cloud_class("EKS", instanceType="g6.8xlarge"), a_cloud_cluster("EKS"))
    second = ran(larger, {"cluster.us": first, "workloads.us": in_use})
    outputs = ClusterOutputs.model_validate(second.exports)
    assert machines(second) == ["g6.xlarge"]
    assert [pool.replacing for pool in outputs.pools] == [True]
    third = ran(larger, {"cluster.us": outputs, "workloads.us": WorkloadsOutputs(cluster="us")})
    assert machines(third) == ["g6.8xlarge"]
    assert [pool.replacing for pool in ClusterOutputs.model_validate(third.exports).pools] == [False]


def test_a_pool_in_use_is_resized_and_its_class_renamed_in_place() -> None:
    first = ClusterOutputs.model_validate(ran(documents()).exports)
    in_use = WorkloadsOutputs(cluster="us", pools=("gpu",))
    pools = [a_cloud_pool("EKS", nodes=3, class_name="other")]
    found = documents_of(FLEET, DOOR, a_cloud_class("EKS", "other"), a_cloud_cluster("EKS", pools=pools))
    second = ran(found, {"cluster.us": first, "workloads.us": in_use})
    (pool,) = ClusterOutputs.model_validate(second.exports).pools
    assert (pool.replacing, pool.class_name, pool.nodes.configured) == (False, "other", 3)


def machines(recording: Recording) -> list[str]:
    groups = [group for group in recording.of_kind("NodeGroup") if group.name == "cluster-us/nodegroup-gpu"]
    return [machine for group in groups for machine in group.inputs["instanceTypes"]]
