"""Outputs as state: what is exported under which name, and that every model comes back as it went out."""

import inspect
import json
from typing import Any

import pytest
from pydantic import ValidationError
from states import FACTS, TEMPLATE, a_claim, a_ledger, an_entry, retiring, some_facts

from api.base import Condition
from programs import outputs as module
from programs.outputs import (
    NOT_MADE,
    UNKNOWN,
    CacheRefusal,
    CacheState,
    Capabilities,
    ClusterInputs,
    ClusterOutputs,
    ClusterVerdict,
    DeploymentState,
    EndpointState,
    GatewayOutputs,
    LedgerCache,
    LedgerEngine,
    LedgerMember,
    LedgerReplica,
    NodeCounts,
    ObservedDevices,
    Outputs,
    PlacementOutputs,
    PoolFacts,
    ReplicaState,
    RoutingOutputs,
    ServiceBackend,
    ServiceState,
    ServingOutputs,
    WorkloadsOutputs,
)
from programs.reading import whole_numbers

MARKER = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"

DATED = Condition(
    type="Ready", status="False", reason="Starting", message="1 of 2", last_transition_time="2026-08-01T10:00:00Z"
)
DEVICE = {
    "name": "gpu",
    "driver": "gpu.nvidia.com",
    "deviceClassName": "gpu.nvidia.com",
    "count": 8,
    "attributes": {"arch": {"string": "Hopper"}, "cc": {"version": "9.0.0"}, "ecc": {"bool": False}, "n": {"int": 3}},
    "capacity": {"memory": {"value": "81559Mi"}},
}
MEMBER = LedgerMember(
    role="Worker", node_pool_name="gpu", nodes=3, device_requests=(a_claim(),), template=TEMPLATE, facts=FACTS
)
ENGINE = LedgerEngine(name="main", copies=2, phase="Decode", members=(MEMBER,))
OLD = an_entry("qwen", "us", 1)
NEW = an_entry("qwen", "eu", waits_for=(OLD.key,), engines=(ENGINE,), model_cache_ref="qwen")
REFUSED = {"us": CacheRefusal(reason="Unsupported", message="no storage")}
LEDGER = a_ledger(NEW, retiring(OLD, NEW)).model_copy(
    update={
        "caches": (
            LedgerCache(namespace="ml-team", name="qwen", spec={"sizeGiB": 20}, clusters=("eu",), refused=REFUSED),
        )
    }
)
OBSERVED = ObservedDevices(
    driver="gpu.nvidia.com", count=8, nodes=2, attributes={"arch": "Hopper", "n": 3, "ecc": True}, capacity={"m": "1Gi"}
)
POOL = PoolFacts(
    name="gpu",
    class_name="h100x8",
    nodes=NodeCounts(configured=2, present=1),
    devices=some_facts(DEVICE),
    observed=(OBSERVED,),
)
CLUSTER = ClusterOutputs(
    cluster="us",
    inputs=ClusterInputs(source="Existing", stack="Standard", region="r", credentials="c"),
    kubeconfig="text",
    pools=(POOL,),
    reachable=False,
    reason="Unreachable: ConnectError",
    unreachable_since="2026-08-01T10:00:00Z",
    kube_system_uid="uid",
    foreign_namespaces=("theirs",),
    storage_class="nfs",
    stack="Dynamo",
    assumed=True,
)
SERVICE = ServiceState(
    address="http://203.0.113.1/ml-team/qwen",
    backends=(ServiceBackend(endpoint="ml-team/a", weight=9),),
    empty_entries=(1,),
    accepted=True,
    conditions=(DATED,),
)
ENDPOINT = EndpointState(url="http://10.0.0.1/ml-team/a/v1", cluster="us", backend="endpoint-a", port=80)
STATE = ReplicaState(
    namespace="ml-team",
    deployment="qwen",
    index=1,
    applied=True,
    ready=UNKNOWN,
    reason=UNKNOWN,
    message="0 of 1 pods ready",
    since="2026-08-01T10:00:00Z",
    template_hash="abc",
)
CACHE = CacheState(phase="Failed", reason="OutOfSpace", message=UNKNOWN, since="then", identity="a", claim_uid="uid")
VERDICTS = {"us": (ClusterVerdict(code="NotReady", message="is not ready"),)}

WHOLE: dict[str, Outputs] = {
    "cluster": CLUSTER,
    "cluster with as little as can be": ClusterOutputs(
        cluster="us", inputs=ClusterInputs(source="Existing", stack="Standard"), kubeconfig=""
    ),
    "serving": ServingOutputs(
        cluster="us",
        ready=True,
        gateway_address="10.0.0.1",
        capabilities=Capabilities(inference_pools=False, gangs=False, rank=False),
        versions={"traefik": "37.1.0"},
    ),
    "serving that a failed update left unresolved": ServingOutputs(
        cluster="us", ready=UNKNOWN, gateway_address=UNKNOWN
    ),
    "serving without an address": ServingOutputs(cluster="us"),
    "gateway": GatewayOutputs(
        kubeconfig="text", address="203.0.113.1", ready=True, foreign_namespaces=("theirs",), conditions=(DATED,)
    ),
    "placement": PlacementOutputs(
        ledger=LEDGER,
        deployments={
            "ml-team/qwen": DeploymentState(wanted=2, placed=1, ready=1, conditions=(DATED,), verdicts=VERDICTS)
        },
        assumed=True,
    ),
    "placement of nothing": PlacementOutputs(),
    "workloads": WorkloadsOutputs(
        cluster="us", replicas={"ml-team/a": STATE}, caches={"ml-team/qwen": CACHE}, pools=("gpu",)
    ),
    "routing": RoutingOutputs(
        services={"ml-team/qwen": SERVICE}, endpoints={"ml-team/a": ENDPOINT}, withdrawn=("ml-team/b",)
    ),
}


@pytest.mark.parametrize("outputs", WHOLE.values(), ids=WHOLE)
def test_what_is_exported_reads_back_the_same(outputs: Outputs) -> None:
    """Through JSON as Pulumi keeps it, where a number is a float."""
    stored = _floats(json.loads(json.dumps(outputs.plain())))
    assert type(outputs).model_validate(whole_numbers(stored)) == outputs


def test_the_examples_above_use_every_model() -> None:
    models = {
        found
        for _, found in inspect.getmembers(module, inspect.isclass)
        if issubclass(found, Outputs) and found is not Outputs
    }
    assert {type(part) for outputs in WHOLE.values() for part in _parts(outputs)} == models


@pytest.mark.parametrize("outputs", WHOLE.values(), ids=WHOLE)
def test_names_are_camel_case_and_nothing_is_null(outputs: Outputs) -> None:
    plain = outputs.plain()
    assert plain["version"] == 1
    assert not [key for key in plain if "_" in key]
    assert "null" not in json.dumps(plain)


def test_fields_of_a_newer_release_are_passed_over() -> None:
    newer = {"version": 2, "cluster": "us", "ready": True, "color": "blue", "capabilities": {"gangs": False, "tpu": 1}}
    read = ServingOutputs.model_validate(newer)
    assert read == ServingOutputs(version=2, cluster="us", ready=True, capabilities=Capabilities(gangs=False))


REPLICA = {"namespace": "ml-team", "deployment": "qwen", "index": 0}

UNRESOLVED: dict[str, tuple[type[Outputs], dict[str, Any], str]] = {
    "a gateway's address": (ServingOutputs, {"cluster": "us", "gatewayAddress": MARKER}, "gateway_address"),
    "whether a cluster is served": (ServingOutputs, {"cluster": "us", "ready": MARKER}, "ready"),
    "the hub's address": (GatewayOutputs, {"kubeconfig": "", "address": MARKER}, "address"),
    "a replica's readiness": (
        ReplicaState,
        REPLICA | {"ready": MARKER},
        "ready",
    ),
    "a replica's reason": (ReplicaState, REPLICA | {"reason": MARKER}, "reason"),
    "a replica's since": (ReplicaState, REPLICA | {"since": MARKER}, "since"),
    "whether a replica is applied": (
        ReplicaState,
        REPLICA | {"applied": MARKER},
        "applied",
    ),
    "whether a route is accepted": (ServiceState, {"accepted": MARKER}, "accepted"),
}


@pytest.mark.parametrize(("model", "stored", "field"), UNRESOLVED.values(), ids=UNRESOLVED)
def test_what_a_failed_update_left_unresolved_reads_as_unknown(
    model: type[Outputs], stored: dict[str, Any], field: str
) -> None:
    found = getattr(model.model_validate(stored), field)
    assert found is UNKNOWN
    assert model.model_validate(stored).plain()[model.model_fields[field].alias or field] == MARKER


def test_conditions_that_a_failed_update_left_unresolved_read_as_none() -> None:
    """The whole list hangs on a resource that failed: the stack has to stay readable, or nothing brings it up again."""
    stored = {"services": {"ml-team/qwen": {"accepted": MARKER, "address": "http://h/a/b", "conditions": MARKER}}}
    service = RoutingOutputs.model_validate(stored).services["ml-team/qwen"]
    assert service == ServiceState(accepted=UNKNOWN, address="http://h/a/b")


def test_a_kubeconfig_is_not_in_the_text_of_its_outputs() -> None:
    assert "hush" not in repr(ClusterOutputs(cluster="us", inputs=CLUSTER.inputs, kubeconfig="hush"))
    assert "hush" not in repr(GatewayOutputs(kubeconfig="hush"))


def test_a_replica_is_active_or_retiring() -> None:
    plain = an_entry().plain() | {"state": "gone"}
    with pytest.raises(ValidationError):
        LedgerReplica.model_validate(plain)


def _parts(value: Any) -> list[Outputs]:
    if isinstance(value, Outputs):
        return [value, *(part for field in type(value).model_fields for part in _parts(getattr(value, field)))]
    items = value.values() if isinstance(value, dict) else value if isinstance(value, tuple) else ()
    return [part for item in items for part in _parts(item)]


def _floats(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _floats(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_floats(item) for item in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def test_a_pool_of_a_cloud_of_which_nothing_is_told_is_not_counted_on() -> None:
    told = {"name": "gpu", "className": "l4", "nodes": {"configured": 2, "present": 1}}
    assert PoolFacts.model_validate(told).usable_nodes == 2
    assert PoolFacts.model_validate({**told, "recipe": {"pool": {}}}).usable_nodes == 1
    assert PoolFacts.model_validate({**told, "recipe": {"pool": {}}, "provisioned": True}).usable_nodes == 2


def test_a_cluster_whose_unknown_outputs_were_left_out_is_not_made() -> None:
    found = ClusterOutputs.model_validate({"cluster": "us", "inputs": {"source": "EKS", "stack": "Standard"}})
    assert (found.reachable, found.reason) == (False, NOT_MADE)
