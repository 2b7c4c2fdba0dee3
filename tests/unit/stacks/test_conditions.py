"""Conditions of caches, classes, endpoints and clusters yet to be made; and no reason that is not listed."""

import itertools
from typing import Any

import pytest
from builders import a_class, a_cluster, a_deployment, a_fleet, an_endpoint
from states import a_ledger, a_replica_state, an_entry, cluster_outputs, documents_of, gateway_outputs, serving_outputs

from api.base import Condition
from api.caches import ModelCache
from api.status import CONDITIONS, CacheOnCluster, CachePhase
from api.terms import CacheRef
from programs.outputs import (
    UNKNOWN,
    EndpointState,
    LedgerCache,
    LedgerReplica,
    PlacementOutputs,
    ReplicaState,
    RoutingOutputs,
    WorkloadsOutputs,
)
from stacks.conditions import (
    cache_conditions,
    cache_resolved,
    class_conditions,
    cluster_conditions,
    endpoint_conditions,
    gateway_conditions,
    replica_conditions,
)
from stacks.status import FleetOutputs, condition_of, objects

THEN = "2026-03-04T12:00:00Z"
SPEC = {
    "source": "HuggingFace",
    "huggingFace": {"repo": "Qwen/Qwen3-8B", "sizeGiB": 20, "authSecret": {"name": "hub", "key": "token"}},
}
WITH_TOKEN = ModelCache.parse(
    {"apiVersion": "modelplane.ai/v1alpha1", "kind": "ModelCache", "metadata": {"name": "c"}, "spec": SPEC}
)


def on_clusters(phases: dict[str, CachePhase]) -> dict[str, CacheOnCluster]:
    return {name: CacheOnCluster(name=name, phase=phase) for name, phase in phases.items()}


def told(conditions: list[Condition]) -> dict[str, tuple[str, str]]:
    return {found.type: (found.status, found.reason) for found in conditions}


CACHES: dict[str, tuple[dict[str, CachePhase], bool, tuple[str, str, str]]] = {
    "no cluster": ({}, True, ("False", "NoClusters", "")),
    "staged everywhere": ({"a": "Ready", "b": "Ready"}, True, ("True", "Staged", "2 of 2 clusters ready")),
    "staged on some": ({"a": "Ready", "b": "Pending"}, True, ("False", "Partial", "1 of 2 clusters ready")),
    "staged nowhere": ({"a": "Hydrating", "b": "Pending"}, True, ("False", "Hydrating", "0 of 2 clusters ready")),
    "failed on one": ({"a": "Ready", "b": "Failed"}, True, ("False", "Failed", "failed on b")),
    "no token": ({"a": "Failed"}, False, ("False", "AuthSecretMissing", "Secret default/hub has no key token")),
    "no token, staged": ({"a": "Ready"}, False, ("True", "Staged", "1 of 1 clusters ready")),
}


@pytest.mark.parametrize(("phases", "has_token", "want"), CACHES.values(), ids=CACHES)
def test_the_conditions_of_a_cache(phases: dict[str, CachePhase], has_token: bool, want: tuple[str, str, str]) -> None:
    matched, artifact, ready = cache_conditions(WITH_TOKEN, on_clusters(phases), has_token=has_token)
    assert (artifact.status, artifact.reason, artifact.message) == want
    assert matched.status == ("True" if phases else "False")
    assert ready.status == artifact.status


def test_a_failed_cache_says_why() -> None:
    failed = CacheOnCluster(name="us", phase="Failed", message="Refused: not with this token; that was attempt 2")
    _, artifact, _ = cache_conditions(WITH_TOKEN, {"us": failed}, has_token=True)
    assert artifact.message == "failed on us: Refused: not with this token; that was attempt 2"


def test_a_replica_that_waits_for_its_cache_says_so() -> None:
    entry = an_entry(model_cache_ref="qwen")
    _, ready, *_ = replica_conditions(entry, None, is_known=True)
    assert ready.message == "waits until cache ml-team/qwen is staged on us"
    _, ready, *_ = replica_conditions(entry.model_copy(update={"starts_early": True}), None, is_known=True)
    assert ready.message == ""


def test_a_cache_is_shown_with_its_clusters() -> None:
    cache = LedgerCache(namespace="ml-team", name="qwen", spec={}, clusters=("us", "eu"))
    workloads = WorkloadsOutputs(cluster="us", caches={"ml-team/qwen": {"phase": "Ready"}})
    outputs = FleetOutputs(
        placement=PlacementOutputs(ledger=a_ledger().model_copy(update={"caches": (cache,)})),
        workloads={"us": workloads},
    )
    (shown,) = objects(documents_of(a_fleet()), outputs)
    assert (shown["kind"], shown["metadata"]) == ("ModelCache", {"name": "qwen", "namespace": "ml-team"})
    assert shown["status"]["summary"] == {"ready": "1/2"}
    assert [(found["name"], found["phase"]) for found in shown["status"]["clusters"]] == [
        ("eu", "Pending"),
        ("us", "Ready"),
    ]
    assert condition_of(shown, "Ready")["reason"] == "Partial"


def test_a_deployment_says_whether_its_cache_is_there() -> None:
    plain = a_deployment("qwen")
    shape = plain.spec.template.spec.model_copy(update={"model_cache_ref": CacheRef(name="qwen")})
    template = plain.spec.template.model_copy(update={"spec": shape})
    deployment = plain.model_copy(update={"spec": plain.spec.model_copy(update={"template": template})})
    assert cache_resolved(plain, ()) is None
    found, missing = cache_resolved(deployment, {("ml-team", "qwen")}), cache_resolved(deployment, ())
    assert found is not None
    assert missing is not None
    assert (found.status, missing.status, missing.reason) == ("True", "False", "ModelCacheNotFound")
    assert "ml-team/qwen" in missing.message


def test_documents_whose_stacks_have_not_run_are_shown_too() -> None:
    documents = documents_of(a_fleet(), a_class("h100"), a_cluster("us"), a_cluster("eu"), an_endpoint("outside"))
    outputs = FleetOutputs(
        clusters={"us": cluster_outputs("us")},
        routing=RoutingOutputs(endpoints={"ml-team/made": EndpointState(url="http://a/", backend="b", port=80)}),
    )
    shown = {(item["kind"], item["metadata"]["name"]): item for item in objects(documents, outputs)}
    assert condition_of(shown["InferenceCluster", "eu"], "Ready")["status"] == "False"
    assert condition_of(shown["InferenceClass", "h100"], "Accepted")["status"] == "True"
    outside, made = shown["ModelEndpoint", "outside"], shown["ModelEndpoint", "made"]
    assert condition_of(outside, "RoutingReady")["reason"] == "WaitingForBackend"
    assert condition_of(made, "RoutingReady")["reason"] == "BackendConfigured"
    assert (made["status"]["routing"], made["spec"]) == ({"backendName": "b"}, {"url": "http://a/"})


def test_nothing_is_shown_where_no_stack_has_outputs() -> None:
    assert objects(documents_of(a_fleet(), a_class("h100")), FleetOutputs()) == []


def test_a_time_is_the_exported_one_while_the_status_stays() -> None:
    before = Condition(type="ControllerReady", status="True", reason="x", last_transition_time=THEN)
    ready = gateway_outputs().model_copy(update={"conditions": (before,)})
    lost = ready.model_copy(update={"ready": False})
    assert [found.last_transition_time for found in gateway_conditions(ready)] == [THEN, THEN]
    assert [found.last_transition_time for found in gateway_conditions(lost)] == ["", ""]


def test_a_cluster_on_vultr_is_ready_once_its_gpu_nodes_are_found_good() -> None:
    waits = Condition(type="GpuStackReady", status="False", reason="NodesNotValidated", message="0 of 1")
    waiting = cluster_outputs().model_copy(update={"conditions": (waits,)})
    found = told(cluster_conditions(waiting, serving_outputs()))
    assert (found["ClusterReady"], found["Ready"]) == (("False", "Provisioning"), ("False", "Provisioning"))
    good = waits.model_copy(update={"status": "True", "reason": "NodesValidated"})
    ready = waiting.model_copy(update={"conditions": (good,)})
    assert told(cluster_conditions(ready, serving_outputs()))["ClusterReady"] == ("True", "ClusterRunning")


def test_no_condition_has_a_reason_that_is_not_listed() -> None:
    flags: tuple[Any, ...] = (True, False, UNKNOWN)
    entry = an_entry()
    states: list[ReplicaState | None] = [
        a_replica_state(entry, applied=applied, ready=ready) for applied, ready in itertools.product(flags, flags)
    ]
    clusters = [None, cluster_outputs(), cluster_outputs(reachable=False, reason="BadCredentials: no")]
    serving = [None, *(serving_outputs(ready=flag) for flag in flags)]
    found: list[tuple[str, list[Condition]]] = [("InferenceClass", class_conditions())]
    found += [
        ("ModelReplica", replica_conditions(entry, state, is_known=known))
        for state in [*states, None]
        for known in (True, False)
    ]
    found += [
        ("InferenceCluster", cluster_conditions(one, two, missing))
        for one, two, missing in itertools.product(clusters, serving, ((), ("h100",)))
    ]
    found += [
        ("InferenceGateway", gateway_conditions(gateway_outputs().model_copy(update={"ready": flag}))) for flag in flags
    ]
    found += [("ModelEndpoint", endpoint_conditions(is_in_use=flag)) for flag in (True, False)]
    found += [
        ("ModelCache", cache_conditions(WITH_TOKEN, on_clusters(phases), has_token=token))
        for phases, token, _ in CACHES.values()
    ]
    for kind, conditions in found:
        *parts, ready = [one for one in conditions if one.type != "Retiring"]
        assert ready.type == "Ready"
        for one in parts:
            assert CONDITIONS[kind][one.type][one.reason] in {
                one.status,
                "False" if one.status == "Unknown" else one.status,
            }
        failing = next((one for one in parts if one.status != "True"), None)
        assert (ready.status, ready.reason) == ((failing.status, failing.reason) if failing else ("True", "Available"))


@pytest.mark.parametrize(
    ("picker", "ready", "want"),
    [
        (None, True, ("True", "Available")),
        (True, True, ("True", "Available")),
        (False, True, ("False", "PickerDown")),
        (False, False, ("False", "ModelStarting")),
    ],
)
def test_a_picker_that_is_down_is_told_apart_from_an_engine_that_is(
    picker: bool | None,
    ready: bool,
    want: tuple[str, str],
) -> None:
    entry = an_entry()
    found = {each.type: each for each in replica_conditions(entry, _state(entry, picker, ready=ready), is_known=True)}
    assert (found["Ready"].status, found["Ready"].reason) == want
    assert ("PickerReady" in found) == (picker is not None)


def _state(entry: LedgerReplica, picker: bool | None, *, ready: bool) -> ReplicaState:
    return a_replica_state(entry, ready=ready, picker=picker)
