"""Outputs as objects of the kinds: conditions by the contract's names, whatever is known, unknown or gone."""

from typing import Any

import pytest
from builders import a_cluster, a_deployment, a_fleet, a_service
from states import (
    a_ledger,
    a_replica_state,
    an_entry,
    cluster_outputs,
    documents_of,
    gateway_outputs,
    pool_facts,
    retiring,
    serving_outputs,
)

from api import ModelReplica
from api.base import Condition
from programs.outputs import (
    UNKNOWN,
    ClusterVerdict,
    DeploymentState,
    LedgerReplica,
    NodeCounts,
    PlacementOutputs,
    ReplicaState,
    RoutingOutputs,
    ServiceBackend,
    ServiceState,
    WorkloadsOutputs,
)
from stacks.status import FleetOutputs, condition_of, objects

NOTHING = documents_of(a_fleet())
THEN = "2026-03-04T12:00:00Z"


def conditions(shown: dict[str, Any]) -> dict[str, tuple[str, str]]:
    return {found["type"]: (found["status"], found["reason"]) for found in shown["status"]["conditions"]}


def the_only(outputs: FleetOutputs, documents: Any = NOTHING) -> dict[str, Any]:
    (shown,) = objects(documents, outputs)
    return shown


def replica(state: ReplicaState | None, entry: LedgerReplica, *, known: bool = True) -> dict[str, Any]:
    listed = {entry.key: state} if state else {}
    outputs = FleetOutputs(
        placement=PlacementOutputs(ledger=a_ledger(entry)),
        workloads={entry.cluster: WorkloadsOutputs(cluster=entry.cluster, replicas=listed)} if known else {},
    )
    return the_only(outputs)


ENTRY = an_entry()
REPLICAS = {
    "a replica that serves": (
        a_replica_state(ENTRY, reason="Serving"),
        {"ModelAccepted": ("True", "Accepted"), "ModelReady": ("True", "Serving"), "Ready": ("True", "Available")},
    ),
    "a replica that starts": (
        a_replica_state(ENTRY, ready=False, reason="ModelStarting"),
        {
            "ModelAccepted": ("True", "Accepted"),
            "ModelReady": ("False", "ModelStarting"),
            "Ready": ("False", "ModelStarting"),
        },
    ),
    "a replica that was not taken": (
        a_replica_state(ENTRY, ready=False, applied=False, reason="Deploying"),
        {
            "ModelAccepted": ("False", "Deploying"),
            "ModelReady": ("False", "WaitingForModel"),
            "Ready": ("False", "Deploying"),
        },
    ),
    "a replica whose update failed half-way": (
        a_replica_state(ENTRY, ready=UNKNOWN, reason=UNKNOWN, message=UNKNOWN, since=UNKNOWN),
        {
            "ModelAccepted": ("True", "Accepted"),
            "ModelReady": ("Unknown", "ModelStarting"),
            "Ready": ("Unknown", "ModelStarting"),
        },
    ),
    "a replica that is not rendered": (
        None,
        {
            "ModelAccepted": ("False", "Deploying"),
            "ModelReady": ("False", "WaitingForModel"),
            "Ready": ("False", "Deploying"),
        },
    ),
}


@pytest.mark.parametrize(("state", "want"), REPLICAS.values(), ids=REPLICAS)
def test_the_conditions_of_a_replica(state: ReplicaState | None, want: dict[str, tuple[str, str]]) -> None:
    assert conditions(replica(state, ENTRY)) == want


def test_a_replica_is_a_whole_document_with_its_times() -> None:
    shown = replica(a_replica_state(ENTRY, since=THEN, reason="Serving", message="1 of 1 pods ready"), ENTRY)
    assert condition_of(shown, "Ready")["lastTransitionTime"] == THEN
    status = shown.pop("status")
    parsed = ModelReplica.parse(shown)
    assert (parsed.name, parsed.namespace, parsed.spec.cluster_name) == (ENTRY.name, "ml-team", "us")
    assert parsed.spec.engines[0].members[0].device_requests
    assert "labels" in shown["metadata"]
    assert list(status) == ["conditions"]


def test_a_replica_whose_cluster_has_no_stack_waits_for_it() -> None:
    assert conditions(replica(None, ENTRY, known=False))["ModelAccepted"] == ("False", "WaitingForCluster")


def test_a_replica_that_waits_says_for_whom() -> None:
    waiting = ENTRY.model_copy(update={"waits_for": ("ml-team/old",)})
    assert condition_of(replica(None, waiting), "Ready")["message"] == "waits for ml-team/old to leave its nodes"


def test_a_replica_that_leaves_says_why() -> None:
    leaving = retiring(ENTRY, reason="scaled down")
    shown = replica(a_replica_state(leaving), leaving)
    assert condition_of(shown, "Retiring") == {
        "type": "Retiring",
        "status": "True",
        "reason": "Retiring",
        "message": "scaled down",
    }


def test_a_deployment_has_its_numbers_its_conditions_and_its_spec() -> None:
    ready = Condition(type="Ready", status="False", reason="PartiallyScheduled", last_transition_time=THEN)
    verdict = ClusterVerdict(code="NotEnoughNodes", message="no node is free")
    state = DeploymentState(wanted=3, placed=2, ready=1, conditions=(ready,), verdicts={"us": (verdict,)})
    outputs = FleetOutputs(placement=PlacementOutputs(deployments={"ml-team/qwen": state}))
    shown = the_only(outputs, documents_of(a_fleet(), a_deployment("qwen", replicas=3)))
    assert shown["kind"] == "ModelDeployment"
    assert shown["metadata"] == {"name": "qwen", "namespace": "ml-team"}
    assert shown["spec"]["replicas"] == 3
    assert shown["status"] == {
        "replicas": {"desired": 3, "total": 2, "ready": 1},
        "conditions": [
            {"type": "Ready", "status": "False", "reason": "PartiallyScheduled", "lastTransitionTime": THEN}
        ],
        "unplaced": {"us": [{"code": "NotEnoughNodes", "message": "no node is free"}]},
    }


def test_a_deployment_that_left_the_documents_is_shown_without_a_spec() -> None:
    state = DeploymentState(wanted=1, placed=1)
    shown = the_only(FleetOutputs(placement=PlacementOutputs(deployments={"ml-team/gone": state})))
    assert "spec" not in shown
    assert "unplaced" not in shown["status"]


def test_a_service_has_its_address_and_its_shares() -> None:
    state = ServiceState(
        address="http://hub/ml-team/qwen",
        backends=(ServiceBackend(endpoint="ml-team/qwen-1", weight=9),),
        empty_entries=(1,),
        conditions=(Condition(type="RoutingReady", status="True", reason="RouteConfigured"),),
    )
    outputs = FleetOutputs(routing=RoutingOutputs(services={"ml-team/qwen": state}))
    shown = the_only(outputs, documents_of(a_fleet(), a_service("qwen")))
    assert shown["spec"]["endpoints"][0]["selector"] == {"matchLabels": {"modelplane.ai/deployment": "qwen"}}
    assert shown["status"] == {
        "conditions": [{"type": "RoutingReady", "status": "True", "reason": "RouteConfigured"}],
        "address": "http://hub/ml-team/qwen",
        "endpoints": [{"endpoint": "ml-team/qwen-1", "weight": 9}],
        "emptyEntries": [1],
    }


def test_a_service_whose_address_is_not_known_has_none() -> None:
    state = ServiceState(address=UNKNOWN)
    shown = the_only(FleetOutputs(routing=RoutingOutputs(services={"ml-team/qwen": state})))
    assert "address" not in shown["status"]


CLUSTERS = {
    "a cluster that serves": (
        cluster_outputs(),
        serving_outputs(),
        {
            "ClusterReady": ("True", "ClusterRunning"),
            "BackendReady": ("True", "BackendHealthy"),
            "Ready": ("True", "Available"),
        },
    ),
    "a cluster that is being installed": (
        cluster_outputs(),
        serving_outputs(ready=False, address=None),
        {
            "ClusterReady": ("True", "ClusterRunning"),
            "BackendReady": ("False", "Installing"),
            "Ready": ("False", "Installing"),
        },
    ),
    "a cluster without serving software": (
        cluster_outputs(),
        None,
        {
            "ClusterReady": ("True", "ClusterRunning"),
            "BackendReady": ("False", "WaitingForCluster"),
            "Ready": ("False", "WaitingForCluster"),
        },
    ),
    "a cluster that does not answer": (
        cluster_outputs(reachable=False, reason="BadCredentials: the token has expired", unreachable_since=THEN),
        serving_outputs(),
        {
            "ClusterReady": ("Unknown", "BadCredentials"),
            "BackendReady": ("True", "BackendHealthy"),
            "Ready": ("Unknown", "BadCredentials"),
        },
    ),
}


@pytest.mark.parametrize(("cluster", "serving", "want"), CLUSTERS.values(), ids=CLUSTERS)
def test_the_conditions_of_a_cluster(cluster: Any, serving: Any, want: dict[str, tuple[str, str]]) -> None:
    outputs = FleetOutputs(clusters={"us": cluster}, serving={"us": serving} if serving else {})
    assert conditions(the_only(outputs)) == want


def test_a_cluster_that_does_not_answer_says_why_and_since_when() -> None:
    cluster = cluster_outputs(reachable=False, reason="Unreachable: connection refused", unreachable_since=THEN)
    ready = condition_of(the_only(FleetOutputs(clusters={"us": cluster})), "ClusterReady")
    assert (ready["message"], ready["lastTransitionTime"]) == ("connection refused", THEN)


def test_a_cluster_shows_what_it_offers_and_no_secret() -> None:
    facts = pool_facts(nodes=2).model_copy(update={"nodes": NodeCounts(configured=2, present=1)})
    outputs = FleetOutputs(
        clusters={"us": cluster_outputs(pools=[facts], storage_class="fast")}, serving={"us": serving_outputs()}
    )
    shown = the_only(outputs, documents_of(a_fleet(), a_cluster("us", labels={"region": "us-east"})))
    status = shown["status"]
    assert shown["metadata"] == {"name": "us", "labels": {"region": "us-east"}}
    assert (status["gateway"], status["cache"]) == ({"address": "10.0.0.1"}, {"storageClassName": "fast"})
    assert status["namespace"] == "modelplane-system"
    (pool,) = status["gpuPools"]
    assert (pool["name"], pool["nodes"], pool["nodesPresent"]) == ("gpu", 2, 1)
    assert pool["devices"][0]["capacity"] == {"memory": {"value": "81559Mi"}}
    assert "kubeconfig of us" not in str(shown)


@pytest.mark.parametrize(
    ("address", "want"), [("203.0.113.1", ("True", "ControllerHealthy")), (None, ("False", "Installing"))]
)
def test_the_gateway_shows_its_address(address: str | None, want: tuple[str, str]) -> None:
    shown = the_only(FleetOutputs(gateway=gateway_outputs(address)))
    assert (shown["kind"], shown["metadata"]["name"]) == ("InferenceGateway", "default")
    assert shown["status"].get("address") == address
    assert conditions(shown)["ControllerReady"] == want
    assert "kubeconfig of the hub" not in str(shown)


def test_objects_come_in_one_order_whatever_order_outputs_have() -> None:
    entries = (an_entry("b"), an_entry("a"))
    states = {f"ml-team/{name}": DeploymentState(wanted=1, placed=1) for name in ("b", "a")}
    outputs = FleetOutputs(
        placement=PlacementOutputs(ledger=a_ledger(*entries), deployments=states),
        clusters={"us": cluster_outputs("us"), "eu": cluster_outputs("eu")},
        gateway=gateway_outputs(),
    )
    shown = [(item["kind"], item["metadata"]["name"].partition("-")[0]) for item in objects(NOTHING, outputs)]
    assert shown == [
        ("ModelDeployment", "a"),
        ("ModelDeployment", "b"),
        ("ModelReplica", "a"),
        ("ModelReplica", "b"),
        ("InferenceCluster", "eu"),
        ("InferenceCluster", "us"),
        ("InferenceGateway", "default"),
    ]
