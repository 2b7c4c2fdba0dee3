"""What each program registers and exports, from documents and other stacks' outputs alone."""

from dataclasses import dataclass, field
from typing import Any

import pulumi
import pytest
from builders import a_class, a_cluster, a_deployment, a_fleet, a_service, an_endpoint
from program_runs import DOOR, FLEET, HUSH, NOW, THEN, US, a_directory, a_secret, ran
from recording import SECRET
from states import (
    a_ledger,
    a_replica_state,
    an_entry,
    cluster_outputs,
    documents_of,
    gateway_outputs,
    listed_workloads,
    retiring,
    routing_listing,
    serving_outputs,
)
from syrupy.assertion import SnapshotAssertion

from api.errors import DeletionRefused, MissingInput, ModelplaneError
from api.fleets import ServingStackSettings, Switch, serving_stack_for
from api.names import child
from components.charts import STACK_CHARTS
from programs import cluster, gateway
from programs.conditions import condition
from programs.outputs import (
    UNKNOWN,
    ClusterInputs,
    ClusterOutputs,
    GatewayOutputs,
    NodeCounts,
    Outputs,
    PlacementOutputs,
    RoutingOutputs,
    ServingOutputs,
    WorkloadsOutputs,
)
from programs.placement_plan import Observed, plan_placement
from programs.probe import Answer
from programs.serving import capabilities_of


@dataclass
class Probes:
    """Answers of clusters, and the namespaces they were asked about."""

    answer: Answer = field(default_factory=lambda: Answer(reachable=True, kube_system_uid="uid", nodes={"gpu": 1}))
    asked: list[set[str]] = field(default_factory=list)

    def __call__(
        self,
        kubeconfig: str,
        *,
        fleet: str,
        namespaces: Any,
        definitions: Any = (),
        wanted: Any = None,
        pools: bool = True,
    ) -> Answer:
        assert (kubeconfig, fleet) == (HUSH, "prod")
        self.asked.append(set(namespaces))
        return self.answer


@pytest.fixture
def probes(monkeypatch: pytest.MonkeyPatch) -> Probes:
    found = Probes()
    monkeypatch.setattr(cluster, "probe", found)
    monkeypatch.setattr(gateway, "probe", found)
    return found


def test_the_gateway(probes: Probes, snapshot: SnapshotAssertion) -> None:
    recording = ran("gateway", a_directory())
    assert recording.plain() == snapshot
    assert recording.secret == {"kubeconfig"}
    assert GatewayOutputs.model_validate(recording.exports).model_copy(update={"conditions": ()}) == GatewayOutputs(
        kubeconfig=HUSH, address="10.0.0.1", own_address="10.0.0.1", ready=True
    )


def test_the_address_that_clients_use_may_be_another_than_the_gateway_s_own(probes: Probes) -> None:
    settings = FLEET.spec.gateway.model_copy(update={"address": "127.0.0.1:8080"})
    fleet = FLEET.model_copy(update={"spec": FLEET.spec.model_copy(update={"gateway": settings})})
    recording = ran("gateway", documents_of(fleet, DOOR, a_secret("hub")))
    assert recording.exports["address"] == "127.0.0.1:8080"


def test_a_gateway_without_an_address_is_not_ready(probes: Probes) -> None:
    exports = ran("gateway", a_directory(), status={}).exports
    assert (exports.get("address"), exports["ready"]) == (None, False)


def test_a_cluster_owns_nothing_and_says_what_is_there(probes: Probes) -> None:
    recording = ran("cluster.us", a_directory())
    assert recording.resources == []
    assert recording.secret == {"kubeconfig"}
    found = ClusterOutputs.model_validate(recording.exports)
    (pool,) = cluster_outputs("us").pools
    present = pool.model_copy(update={"nodes": NodeCounts(configured=1, present=1)})
    assert found == cluster_outputs("us", kubeconfig=HUSH, kube_system_uid="uid", pools=[present])


def test_a_cluster_that_stops_answering_keeps_what_it_said_and_when_that_was(probes: Probes) -> None:
    first = ClusterOutputs.model_validate(ran("cluster.us", a_directory()).exports)
    probes.answer = Answer(reachable=False, reason="Unreachable: ConnectError")
    second = ClusterOutputs.model_validate(ran("cluster.us", a_directory(), {"cluster.us": first}).exports)
    silent = {"reachable": False, "reason": "Unreachable: ConnectError", "unreachable_since": NOW}
    assert second == first.model_copy(update=silent)
    earlier = second.model_copy(update={"unreachable_since": THEN})
    third = ClusterOutputs.model_validate(ran("cluster.us", a_directory(), {"cluster.us": earlier}).exports)
    assert third.unreachable_since == THEN
    probes.answer = Answer(reachable=True, kube_system_uid="uid", nodes={"gpu": 1})
    assert ClusterOutputs.model_validate(ran("cluster.us", a_directory(), {"cluster.us": third}).exports) == first


def test_what_is_found_of_a_cluster_s_fitness_is_exported_with_its_time(probes: Probes) -> None:
    fault = condition("PoolsLabelled", status=False, reason="PoolUnlabelled", message="label them")
    probes.answer = Answer(reachable=True, kube_system_uid="uid", nodes={"gpu": 1}, conditions=(fault,))
    first = ClusterOutputs.model_validate(ran("cluster.us", a_directory()).exports)
    assert first.conditions == (fault.model_copy(update={"last_transition_time": NOW}),)
    earlier = first.model_copy(update={"conditions": (fault.model_copy(update={"last_transition_time": THEN}),)})
    second = ClusterOutputs.model_validate(ran("cluster.us", a_directory(), {"cluster.us": earlier}).exports)
    assert second.conditions == earlier.conditions
    previewed = ran("cluster.us", a_directory(), {"cluster.us": earlier}, preview=True).exports
    assert ClusterOutputs.model_validate(previewed).conditions == earlier.conditions
    hub = GatewayOutputs.model_validate(ran("gateway", a_directory()).exports)
    assert [each.type for each in hub.conditions] == ["ControllerReady", "Ready", "PoolsLabelled"]


def test_a_preview_asks_nobody(probes: Probes) -> None:
    exports = ran("cluster.us", a_directory(), preview=True).exports
    ran("gateway", a_directory(), preview=True)
    assert probes.asked == []
    assert exports["assumed"] is True


def test_a_pool_that_left_the_documents_stays_while_replicas_are_on_it(probes: Probes) -> None:
    old = cluster_outputs("us", pools=[*cluster_outputs().pools, *_renamed("old"), *_renamed("empty")])
    in_use = WorkloadsOutputs(cluster="us", pools=("old",))
    exports = ran("cluster.us", a_directory(), {"cluster.us": old, "workloads.us": in_use}).exports
    assert [pool["name"] for pool in exports["pools"]] == ["gpu", "old"]


def _renamed(name: str) -> list[Any]:
    return [pool.model_copy(update={"name": name}) for pool in cluster_outputs().pools]


def test_a_cluster_asks_about_every_namespace_that_it_may_use(probes: Probes) -> None:
    """A replica outlives its deployment's document: its namespace must not be taken for ours in the meantime."""
    orphan = an_entry("old", "us", namespace="theirs")
    ran("cluster.us", a_directory(a_deployment()), {"workloads.us": listed_workloads("us", orphan)})
    assert probes.asked == [{"modelplane-system", "ml-team", "theirs"}]


def test_the_hub_asks_about_every_namespace_that_it_may_use(probes: Probes) -> None:
    documents = a_directory(
        a_deployment(), a_service(namespace="services"), an_endpoint("outside", namespace="endpoints")
    )
    ran("gateway", documents, {"routing": routing_listing(an_entry("old", "us", namespace="theirs"))})
    assert probes.asked == [{"modelplane-system", "ml-team", "services", "endpoints", "theirs"}]


def test_serving(probes: Probes, snapshot: SnapshotAssertion) -> None:
    recording = ran("serving.us", a_directory(), {"cluster.us": cluster_outputs("us", kubeconfig=HUSH)})
    assert recording.plain() == snapshot
    found = ServingOutputs.model_validate(recording.exports)
    assert (found.cluster, found.ready, found.gateway_address) == ("us", True, "10.0.0.1")
    assert not found.capabilities.inference_pools


def test_clusters_of_one_fleet_get_the_charts_of_their_stacks(probes: Probes) -> None:
    spec = FLEET.spec.model_copy(update={"serving_stack": ServingStackSettings(crds=Switch(enabled=False))})
    settings = spec.serving_stack.model_copy(update={"inference_pools": False})
    fleet = FLEET.model_copy(update={"spec": spec.model_copy(update={"serving_stack": settings})})
    documents = documents_of(fleet, DOOR, a_secret("hub"), a_class(), a_cluster("us"), a_cluster("eu", stack="Dynamo"))
    found = {}
    for name in ("us", "eu"):
        stack = documents.clusters[name].spec.stack
        made = cluster_outputs(name, kubeconfig=HUSH).model_copy(
            update={"stack": stack, "inputs": ClusterInputs(source="Existing", stack=stack)}
        )
        recording = ran(f"serving.{name}", documents, {f"cluster.{name}": made})
        found[name] = {each.inputs["name"] for each in recording.of_kind("Release")}
        assert set(ServingOutputs.model_validate(recording.exports).versions) == set(STACK_CHARTS[stack])
    assert found["us"] - found["eu"] == {"mp-lws"}
    assert found["eu"] - found["us"] == {"mp-grove-charts", "mp-kai-scheduler"}


def test_a_serving_stack_is_not_made_into_another(probes: Probes) -> None:
    documents = documents_of(FLEET, DOOR, a_secret("hub"), a_class(), a_cluster("us", stack="Dynamo"))
    with pytest.raises(pulumi.RunError, match=r"MP135: InferenceCluster us: spec\.stack: cannot be changed"):
        ran("serving.us", documents, {"cluster.us": cluster_outputs("us", kubeconfig=HUSH)})


def test_placement_exports_what_was_planned() -> None:
    documents = a_directory(a_deployment())
    others = {"cluster.us": cluster_outputs(), "serving.us": serving_outputs(), "workloads.us": listed_workloads("us")}
    recording = ran("placement", documents, others)
    assert recording.resources == []
    observed = Observed(
        clusters={"us": cluster_outputs()},
        serving={"us": serving_outputs()},
        workloads={"us": listed_workloads("us")},
    )
    assert recording.exports == plan_placement(documents, observed, now=NOW).plain()


def test_placement_reads_clusters_that_left_the_documents() -> None:
    elsewhere = an_entry("qwen", "eu")
    others = {
        "cluster.eu": cluster_outputs("eu"),
        "workloads.eu": listed_workloads("eu", elsewhere),
        "placement": PlacementOutputs(ledger=a_ledger(elsewhere)),
    }
    exports = PlacementOutputs.model_validate(ran("placement", a_directory(a_deployment()), others).exports)
    assert exports.ledger == a_ledger(elsewhere)
    assert exports.deployments["ml-team/qwen"].ready == 1


def test_workloads(snapshot: SnapshotAssertion) -> None:
    others = {
        "cluster.us": cluster_outputs("us", kubeconfig=HUSH),
        "placement": PlacementOutputs(ledger=a_ledger(US, an_entry("qwen", "eu"))),
    }
    recording = ran("workloads.us", a_directory(), others)
    assert recording.plain() == snapshot
    found = WorkloadsOutputs.model_validate(recording.exports)
    state = a_replica_state(US, reason="Serving", message="1 of 1 pods ready", since=NOW)
    assert found.replicas == {US.key: state}
    assert found.pools == ("gpu",)


def test_workloads_come_from_the_ledger_and_never_from_the_documents() -> None:
    others = {"cluster.us": cluster_outputs("us", kubeconfig=HUSH), "placement": PlacementOutputs()}
    assert ran("workloads.us", a_directory(a_deployment()), others).objects() == []


SINCE: dict[str, tuple[dict[str, Any], str]] = {
    "it was ready before": ({"ready": True, "since": THEN}, THEN),
    "it was not ready before": ({"ready": False, "since": THEN}, NOW),
    "it was not known before": ({"ready": UNKNOWN, "since": THEN}, NOW),
    "the time was not known": ({"ready": True, "since": UNKNOWN}, NOW),
}


@pytest.mark.parametrize(("before", "want"), SINCE.values(), ids=SINCE)
def test_since_moves_when_readiness_does(before: dict[str, Any], want: str) -> None:
    last = WorkloadsOutputs(cluster="us", replicas={US.key: a_replica_state(US, **before)})
    others = {
        "cluster.us": cluster_outputs("us", kubeconfig=HUSH),
        "placement": PlacementOutputs(ledger=a_ledger(US)),
        "workloads.us": last,
    }
    assert ran("workloads.us", a_directory(), others).exports["replicas"][US.key]["since"] == want


def test_a_retiring_replica_is_rendered_while_routing_lists_it() -> None:
    others = {
        "cluster.us": cluster_outputs("us", kubeconfig=HUSH),
        "placement": PlacementOutputs(ledger=a_ledger(retiring(US))),
        "workloads.us": listed_workloads("us", US),
        "routing": routing_listing(US),
    }
    assert ran("workloads.us", a_directory(), others).of_kind("ModelReplica")
    others["routing"] = RoutingOutputs()
    assert ran("workloads.us", a_directory(), others).objects() == []


@pytest.mark.parametrize(("foreign", "registered"), [((), 1), (("ml-team",), 0)], ids=["ours", "somebody else's"])
def test_a_namespace_is_registered_when_it_is_ours_to_make(foreign: tuple[str, ...], registered: int) -> None:
    on_cluster = {
        "cluster.us": cluster_outputs("us", kubeconfig=HUSH, foreign_namespaces=foreign),
        "placement": PlacementOutputs(ledger=a_ledger(US)),
    }
    on_hub = {
        "gateway": gateway_outputs(foreign_namespaces=foreign).model_copy(update={"kubeconfig": HUSH}),
        "placement": PlacementOutputs(),
    }
    for recording in (
        ran("workloads.us", a_directory(), on_cluster),
        ran("routing", a_directory(a_service()), on_hub),
    ):
        namespaces = recording.of_kind("Namespace")
        assert len(namespaces) == registered
        assert all(found.retain_on_delete for found in namespaces)


def test_routing(snapshot: SnapshotAssertion) -> None:
    documents = a_directory(
        a_service("svc", entries=[(90, {"modelplane.ai/deployment": "qwen"}), (10, {"own": "yes"}), (5, {"a": "b"})]),
        an_endpoint("outside", labels={"own": "yes"}),
    )
    others = {
        "gateway": gateway_outputs().model_copy(update={"kubeconfig": HUSH}),
        "placement": PlacementOutputs(ledger=a_ledger(US, an_entry("qwen", "eu"))),
        "serving.us": serving_outputs(),
        "workloads.us": listed_workloads("us", US),
    }
    recording = ran("routing", documents, others)
    assert recording.plain() == snapshot
    found = RoutingOutputs.model_validate(recording.exports)
    assert sorted(found.endpoints) == ["ml-team/outside", US.key]
    assert found.withdrawn == (an_entry("qwen", "eu").key,)
    service = found.services["ml-team/svc"]
    assert service.address == "http://203.0.113.1/ml-team/svc"
    assert [(share.endpoint, share.weight) for share in service.backends] == [(US.key, 9), ("ml-team/outside", 1)]
    assert service.empty_entries == (2,)
    assert service.accepted is True
    assert [(each.type, each.status, each.last_transition_time) for each in service.conditions] == [
        ("EndpointsResolved", "True", NOW),
        ("RoutingReady", "True", NOW),
        ("Ready", "True", NOW),
    ]


def test_a_service_that_nothing_answers_keeps_its_route_and_says_so() -> None:
    others = {
        "gateway": gateway_outputs().model_copy(update={"kubeconfig": HUSH}),
        "placement": PlacementOutputs(ledger=a_ledger(US)),
    }
    recording = ran("routing", a_directory(a_service()), others)
    nobody = child("qwen", "nobody")
    assert recording.objects() == [
        f"EndpointSlice ml-team/{nobody}",
        "HTTPRoute ml-team/qwen",
        "Namespace /ml-team",
        f"Service ml-team/{nobody}",
    ]
    service = RoutingOutputs.model_validate(recording.exports).services["ml-team/qwen"]
    assert [(each.type, each.status, each.reason) for each in service.conditions] == [
        ("EndpointsResolved", "False", "NoEndpoints"),
        ("RoutingReady", "False", "Configuring"),
        ("Ready", "False", "NoEndpoints"),
    ]


def test_a_route_comes_after_its_backends_and_its_namespace() -> None:
    others = {
        "gateway": gateway_outputs().model_copy(update={"kubeconfig": HUSH}),
        "placement": PlacementOutputs(ledger=a_ledger(US)),
        "serving.us": serving_outputs(),
        "workloads.us": listed_workloads("us", US),
    }
    route = ran("routing", a_directory(a_service()), others).one("HTTPRoute")
    assert set(route.depends_on) == {f"{US.key}/service", f"{US.key}/slice", "ml-team"}


REFUSED: dict[str, tuple[str, dict[str, Outputs], type[ModelplaneError]]] = {
    "serving before its cluster": ("serving.us", {}, MissingInput),
    "workloads before their cluster": ("workloads.us", {}, MissingInput),
    "routing before the gateway": ("routing", {}, MissingInput),
    "placement without a ledger while replicas run": (
        "placement",
        {"workloads.us": listed_workloads("us", US)},
        DeletionRefused,
    ),
    "workloads without a ledger while replicas run": (
        "workloads.us",
        {"cluster.us": cluster_outputs("us", kubeconfig=HUSH), "workloads.us": listed_workloads("us", US)},
        DeletionRefused,
    ),
    "routing without a ledger while endpoints are in use": (
        "routing",
        {"gateway": gateway_outputs().model_copy(update={"kubeconfig": HUSH}), "routing": routing_listing(US)},
        DeletionRefused,
    ),
}


@pytest.mark.parametrize(("stack", "others", "want"), REFUSED.values(), ids=REFUSED)
def test_what_its_reader_can_fix_ends_in_one_clean_line(
    stack: str, others: dict[str, Outputs], want: type[ModelplaneError]
) -> None:
    with pytest.raises(pulumi.RunError) as caught:
        ran(stack, a_directory(), others)
    cause = caught.value.__cause__
    assert isinstance(cause, want)
    assert str(caught.value) == f"{cause.error_code}: {cause}"


def test_a_bug_keeps_its_own_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> Answer:
        raise ZeroDivisionError

    monkeypatch.setattr(cluster, "probe", broken)
    with pytest.raises(ZeroDivisionError):
        ran("cluster.us", a_directory())


def test_providers_are_the_same_whatever_the_kubeconfig_says() -> None:
    def identity(text: str) -> dict[str, Any]:
        others = {"cluster.us": cluster_outputs("us", kubeconfig=text), "placement": PlacementOutputs()}
        return ran("workloads.us", a_directory(), others).one("kubernetes").inputs

    assert identity(HUSH) == identity(f"another {HUSH}")
    assert identity(HUSH)["kubeconfig"] == SECRET
    assert identity(HUSH)["clusterIdentifier"] == "prod/us"


def test_pools_are_routed_to_where_the_serving_stack_has_them() -> None:
    others: dict[str, Outputs] = {
        "cluster.us": cluster_outputs("us", kubeconfig=HUSH),
        "placement": PlacementOutputs(ledger=a_ledger(US)),
        "serving.us": serving_outputs("us"),
    }
    first = ran("workloads.us", a_directory(), others)
    assert first.one("InferencePool")
    last = WorkloadsOutputs.model_validate(first.exports)
    assert last.replicas[US.key].picker is True
    del others["serving.us"]
    assert ran("workloads.us", a_directory(), {**others, "workloads.us": last}).one("InferencePool")


CAPABILITIES: dict[str, tuple[dict[str, Any], tuple[str, ...], tuple[bool, bool, bool]]] = {
    "with all charts": ({}, (), (True, True, True)),
    "without pools": ({"inferencePools": False}, (), (False, True, True)),
    "without the chart for gangs": ({"charts": {"leader-worker-set": {"enabled": False}}}, (), (True, False, True)),
    "with software for gangs that was there": (
        {"charts": {"leader-worker-set": {"enabled": False}}},
        ("leaderworkersets.leaderworkerset.x-k8s.io",),
        (True, True, True),
    ),
}


@pytest.mark.parametrize(("settings", "there", "want"), CAPABILITIES.values(), ids=CAPABILITIES)
def test_what_a_cluster_can_carry(
    settings: dict[str, Any], there: tuple[str, ...], want: tuple[bool, bool, bool]
) -> None:
    made = cluster_outputs(foreign_definitions=there)
    found = capabilities_of("Standard", serving_stack_for(a_fleet(servingStack=settings), "us"), made)
    assert (found.inference_pools, found.gangs, found.rank) == want


def test_a_dynamo_cluster_sets_no_rank() -> None:
    found = capabilities_of("Dynamo", serving_stack_for(a_fleet(), "eu"), cluster_outputs("eu"))
    assert (found.gangs, found.rank) == (True, False)
