"""A fleet as a graph: what leads where, with which share, on what it runs, and what a plan would change."""

from typing import Any

from api.base import Condition
from scheduler import (
    DeploymentPlan,
    DropCode,
    Dropped,
    PlacedEngine,
    PlacedMember,
    PlacedReplica,
    Placement,
    Plan,
    ReplicaKey,
)
from stacks.graph import Graph, Node, graph_of

READY = [{"type": "Ready", "status": "True", "reason": "Serving", "message": "1 of 1 pods ready"}]
STARTS = [{"type": "Ready", "status": "False", "reason": "ModelStarting"}]


def shown(kind: str, name: str, status: dict[str, Any], **more: Any) -> dict[str, Any]:
    namespaced = kind not in {"InferenceGateway", "InferenceCluster"}
    metadata = {"name": name, **({"namespace": "ml"} if namespaced else {}), **more.pop("metadata", {})}
    return {"kind": kind, "metadata": metadata, "status": {"conditions": [], **status}, **more}


def replica(name: str, cluster: str, conditions: list[Any]) -> dict[str, Any]:
    requests = [{"name": "gpu", "count": 8, "selectors": [{"cel": "device.driver == 'x'"}]}]
    leader = {"role": "Leader", "nodePoolName": "h100", "deviceRequests": requests}
    worker = {"role": "Worker", "nodePoolName": "h100", "worker": {"nodes": 3}}
    engine = {"name": "main", "copies": 2, "members": [leader, worker]}
    labels = {"labels": {"modelplane.ai/deployment": "demo"}}
    spec = {"clusterName": cluster, "engines": [engine]}
    return shown("ModelReplica", name, {"conditions": conditions}, spec=spec, metadata=labels)


def cluster(name: str) -> dict[str, Any]:
    device = {"name": "gpu", "driver": "gpu.nvidia.com", "count": 8, "capacity": {"memory": {"value": "80Gi"}}}
    pool = {"name": "h100", "nodes": 9, "nodesPresent": 8, "devices": [device]}
    return shown(
        "InferenceCluster", name, {"conditions": READY, "gpuPools": [pool], "gateway": {"address": "10.0.0.1"}}
    )


OBJECTS = [
    shown("InferenceGateway", "default", {"address": "203.0.113.1", "conditions": READY}),
    shown(
        "ModelService",
        "demo",
        {
            "address": "http://x/ml/demo",
            "endpoints": [{"endpoint": "ml/a", "weight": 3}, {"endpoint": "ml/b", "weight": 1}],
        },
    ),
    shown("ModelEndpoint", "a", {}, spec={"url": "http://10.0.0.1/ml/a"}),
    shown("ModelEndpoint", "b", {}, spec={"url": "https://elsewhere.example/v1"}),
    replica("a", "us", READY),
    replica("c", "us", STARTS),
    cluster("us"),
]


def nodes(graph: Graph) -> dict[str, Node]:
    return {node.id: node for node in graph.nodes}


def ways(graph: Graph) -> dict[tuple[str, str], str]:
    return {(edge.source, edge.target): edge.label for edge in graph.edges}


def test_requests_can_be_followed_from_the_gateway_to_the_devices() -> None:
    assert ways(graph_of("prod", OBJECTS)) == {
        ("gateway/default", "service/ml/demo"): "",
        ("service/ml/demo", "endpoint/ml/a"): "75 %",
        ("service/ml/demo", "endpoint/ml/b"): "25 %",
        ("endpoint/ml/a", "replica/ml/a"): "",
        ("replica/ml/a", "pool/us/h100"): "8 nodes",
        ("replica/ml/c", "pool/us/h100"): "8 nodes",
        ("pool/us/h100", "device/us/h100/gpu"): "8 a node",
    }


def test_a_thing_says_what_it_is_and_why_it_is_there() -> None:
    found = nodes(graph_of("prod", OBJECTS))
    assert found["replica/ml/a"].state == "ready"
    assert found["replica/ml/a"].facts == (("cluster", "us"), ("deployment", "demo"))
    assert found["replica/ml/a"].why == (
        "main, Leader: 8 x gpu (device.driver == 'x') of pool h100",
        "main, Worker: a node of pool h100",
        "Ready True: Serving: 1 of 1 pods ready",
    )
    assert found["replica/ml/c"].state == "waiting"
    assert found["device/us/h100/gpu"].facts == (("driver", "gpu.nvidia.com"), ("memory", "80Gi"))
    assert found["endpoint/ml/b"].facts == (("url", "https://elsewhere.example/v1"),)


def test_columns_come_in_the_order_a_request_meets_them() -> None:
    kinds = [node.kind for node in graph_of("prod", OBJECTS).nodes]
    assert kinds == sorted(kinds, key=["gateway", "service", "endpoint", "replica", "pool", "device"].index)


def test_a_service_without_endpoints_has_no_share_to_divide() -> None:
    lonely = shown("ModelService", "demo", {"endpoints": []})
    assert [node.id for node in graph_of("prod", [lonely]).nodes] == ["service/ml/demo"]


def test_what_a_plan_changes_is_marked() -> None:
    engine = PlacedEngine(
        name="main",
        copies=1,
        phase=None,
        members=(PlacedMember(role="Standalone", pool="h100", nodes=1, requests=(), facts=()),),
    )
    new = Placement(
        key=ReplicaKey(namespace="ml", deployment="demo", cluster="us", index=1),
        name="new",
        gateway_address=None,
        engines=(engine,),
        retained=False,
    )
    old = PlacedReplica(
        key=ReplicaKey(namespace="ml", deployment="demo", cluster="us", index=0), name="a", engines=(engine,)
    )
    decided = DeploymentPlan(
        wanted=2,
        placements=(new,),
        dropped=(Dropped(replica=old, reason=DropCode.TAINTED, message="cluster us has a taint"),),
        verdicts=(),
        invalid_selector=None,
        condition=Condition(type="ReplicasScheduled", status="False", reason="Insufficient", message="no node is free"),
    )
    graph = graph_of("prod", OBJECTS, Plan(deployments={("ml", "demo"): decided}))
    found = nodes(graph)
    assert (found["replica/ml/new"].change, found["replica/ml/a"].change) == ("added", "removed")
    assert found["replica/ml/new"].why == ("1 replica more wanted: no node is free", "the plan places it here")
    assert found["replica/ml/a"].why[0] == "the plan drops it: cluster us has a taint"
    changes = {(edge.source, edge.target): edge.change for edge in graph.edges}
    assert changes["replica/ml/new", "pool/us/h100"] == "added"
    assert changes["endpoint/ml/a", "replica/ml/a"] == "removed"
    assert changes["replica/ml/c", "pool/us/h100"] == ""
