"""A preview of a whole fleet: in which order, on what each stack is planned, and that it tells where a pass ends."""

from typing import Any, cast

import pytest
from builders import (
    a_class,
    a_cluster,
    a_deployment,
    a_fleet,
    a_member,
    a_pool,
    a_service,
    a_taint,
    an_engine,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rehearsal import preview
from simulation import Simulation
from states import an_entry, documents_of
from unit.stacks.previewing import (
    CANARY,
    DECIDING,
    EU,
    FIRST,
    INFRASTRUCTURE,
    US,
    V2,
    Up,
    ledger,
    operations,
    the_example,
    weights,
)

from api.documents import FleetDocuments
from api.errors import MissingInput, UnreadableStack
from api.names import StackName
from programs.ledger import template_hash
from programs.outputs import UNKNOWN, PlacementOutputs, RoutingOutputs, ServingOutputs
from stacks.changes import CREATE, DELETE, UPDATE
from stacks.operation import OperationFailed


def test_on_an_empty_backend_every_stack_is_previewed_once_in_order() -> None:
    simulation = Simulation(FIRST)
    report, rehearsal = preview(simulation)
    assert rehearsal.calls == [*INFRASTRUCTURE, *DECIDING]
    assert ledger(report) == [("place", US.key), ("place", EU.key)]
    assert weights(report) == [(US.key, None, 1), (EU.key, None, 1)]
    assert operations(report)["routing"] == {CREATE: [US.key, EU.key, "service ml-team/mock-demo"]}
    assert (report.exit_code, report.assumed, report.errors) == (0, True, [])
    assert simulation.kept == {}, "nothing is made"


def test_programs_are_told_that_nobody_is_to_be_called() -> None:
    _, rehearsal = preview(Simulation(FIRST))
    assert all(context.preview and context.offline for context in rehearsal.contexts)
    assert len({context.now for context in rehearsal.contexts}) == 1, "one moment for all"


def test_live_objects_are_looked_at_only_where_that_is_asked_for(running: Simulation) -> None:
    _, quiet = preview(running)
    _, looking = preview(running, refresh=True)
    assert quiet.refreshed == set()
    assert looking.refreshed == {*INFRASTRUCTURE, *DECIDING} - {"placement"}


def test_what_only_an_update_can_tell_stays_unknown() -> None:
    report, rehearsal = preview(Simulation(FIRST))
    marker = UNKNOWN.value
    replicas = rehearsal.planned["workloads.gpu-us-east"]["replicas"]
    assert {replicas[US.key][name] for name in ("ready", "applied", "reason", "since")} == {marker}
    assert {state["url"] for state in rehearsal.planned["routing"]["endpoints"].values()} == {marker}
    assert report.plain()["services"]["ml-team/mock-demo"]["address"] == "unknown"


def test_after_an_up_nothing_changes(running: Simulation) -> None:
    report, rehearsal = preview(running, expect_no_changes=True)
    assert rehearsal.calls == [*INFRASTRUCTURE, *DECIDING]
    assert (operations(report), report.ledger, report.has_changes) == ({}, (), False)
    assert (report.exit_code, report.assumed) == (0, False)


def test_all_levels_show_an_edit_before_anything_is_applied(running: Simulation) -> None:
    running.documents = CANARY
    report, _ = preview(running, expect_no_changes=True)
    assert ledger(report) == [("retire", US.key), ("place", V2.key)]
    assert report.ledger[0].reason == "2 replicas run and 1 are wanted"
    assert operations(report) == {
        "workloads.gpu-us-east": {DELETE: [US.key], CREATE: [V2.key]},
        "routing": {DELETE: [US.key], CREATE: [V2.key], UPDATE: ["service ml-team/mock-demo"]},
    }
    assert weights(report) == [(EU.key, 1, 9), (V2.key, None, 1), (US.key, 1, None)]
    assert report.exit_code == 7
    assert running.rendered() == sorted([EU.key, US.key]), "nothing was touched"


def test_a_replica_more_is_placed_and_takes_its_share(up: Up) -> None:
    one = the_example(
        a_deployment("mock-demo", replicas=1),
        a_service("mock-demo", entries=[(1, {"modelplane.ai/deployment": "mock-demo"})]),
    )
    simulation = Simulation(one)
    up(simulation)
    simulation.documents = FIRST
    report, _ = preview(simulation)
    assert ledger(report) == [("place", US.key)]
    assert operations(report) == {
        "workloads.gpu-us-east": {CREATE: [US.key]},
        "routing": {CREATE: [US.key], UPDATE: ["service ml-team/mock-demo"]},
    }


def test_a_changed_template_is_shown_for_all_replicas_though_they_roll_one_by_one(up: Up) -> None:
    def of(image: str) -> FleetDocuments:
        engines = [
            an_engine(members=[a_member(template={"spec": {"containers": [{"name": "engine", "image": image}]}})])
        ]
        deployment = a_deployment("mock-demo", replicas=6, engines=engines)
        return documents_of(
            a_fleet("local"), a_class(), a_cluster("us", pools=[a_pool(nodes=6)]), deployment, a_service("mock-demo")
        )

    simulation = Simulation(of("engine:1"))
    up(simulation)
    simulation.documents = of("engine:2")
    report, _ = preview(simulation)
    keys = [an_entry("mock-demo", "us", index).key for index in range(6)]
    assert sorted((change.key, change.kind, change.fields) for change in report.ledger) == sorted(
        (key, "change", ("template",)) for key in keys
    )
    assert {kind: sorted(names) for kind, names in operations(report)["workloads.us"].items()} == {UPDATE: sorted(keys)}
    assert report.assumed
    assert report.exit_code == 0


def test_a_replica_known_not_to_be_ready_gets_no_endpoint(up: Up) -> None:
    simulation = Simulation(FIRST, never_ready={"mock-demo"})
    up(simulation)
    report, _ = preview(simulation, expect_no_changes=True)
    assert weights(report) == []
    assert report.exit_code == 0, "an update would only go on waiting"


def test_too_little_room_is_told_as_an_update_would(running: Simulation) -> None:
    running.documents = the_example(a_deployment("mock-demo", replicas=3), a_service("mock-demo"))
    report, _ = preview(running, expect_no_changes=True)
    assert report.exit_code == 20
    assert report.plain()["deployments"]["ml-team/mock-demo"]["placed"] == 2


def test_other_outputs_are_no_changes(running: Simulation) -> None:
    route = running.read(RoutingOutputs, "routing")
    stale = {
        key: state.model_copy(update={"address": "http://old/", "accepted": False})
        for key, state in route.services.items()
    }
    running.kept[next(stack for stack in running.kept if stack.kind == "routing")] = route.model_copy(
        update={"services": stale}
    )
    report, _ = preview(running, expect_no_changes=True)
    assert report.exit_code == 0


FAILED = OperationFailed("the provider said no")


def test_a_cluster_that_cannot_be_previewed_takes_no_replica_and_the_others_go_on() -> None:
    report, rehearsal = preview(Simulation(FIRST), failing={"cluster.gpu-us-east": FAILED})
    assert "serving.gpu-us-east" not in rehearsal.calls
    assert "workloads.gpu-us-east" not in rehearsal.calls
    assert ledger(report) == [("place", EU.key)]
    assert report.exit_code == 21
    assert report.errors == [FAILED]


def test_serving_that_cannot_be_previewed_takes_no_replica() -> None:
    report, _ = preview(Simulation(FIRST), failing={"serving.gpu-us-east": FAILED})
    assert ledger(report) == [("place", EU.key)]
    assert report.exit_code == 21


def test_a_cluster_that_fails_later_keeps_its_replicas(running: Simulation) -> None:
    report, _ = preview(running, failing={"cluster.gpu-us-east": FAILED})
    assert (report.ledger, operations(report)) == ((), {})
    assert report.exit_code == 21


def test_without_a_gateway_nothing_is_routed_and_replicas_are_shown() -> None:
    report, rehearsal = preview(Simulation(FIRST), failing={"gateway": FAILED})
    assert rehearsal.calls == [*INFRASTRUCTURE, *DECIDING[:-1]]
    assert ledger(report) == [("place", US.key), ("place", EU.key)]
    assert [type(error) for error in report.errors] == [OperationFailed, MissingInput]
    assert report.exit_code == 1


def test_a_stack_that_cannot_be_read_ends_what_reads_it(running: Simulation) -> None:
    running.unreadable = {"placement"}
    report, rehearsal = preview(running)
    assert rehearsal.calls == INFRASTRUCTURE
    assert (report.ledger, operations(report)) == ((), {}), "nothing goes because something could not be read"
    assert {type(error) for error in report.errors} == {UnreadableStack}
    assert report.exit_code == 1


def test_outputs_that_lack_what_is_needed_name_stack_and_field_and_plan_no_deletion(
    running: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = running.outputs

    def lacking(stack: StackName) -> dict[str, Any] | None:
        found = given(stack)
        if found and str(stack) == "local.cluster.gpu-us-east":
            del found["inputs"]
        return found

    monkeypatch.setattr(running, "outputs", lacking)
    report, _ = preview(running)
    assert (report.ledger, operations(report)) == ((), {})
    told = {error.message for error in report.errors}
    assert any("local.cluster.gpu-us-east" in message and "inputs" in message for message in told), told
    assert report.exit_code in {1, 21}


def test_unknown_readiness_is_read_as_such(running: Simulation) -> None:
    serving = next(stack for stack in running.kept if str(stack) == "local.serving.gpu-us-east")
    running.kept[serving] = cast("ServingOutputs", running.kept[serving]).model_copy(
        update={"ready": UNKNOWN, "gateway_address": UNKNOWN}
    )
    report, _ = preview(running, expect_no_changes=True)
    assert (report.ledger, operations(report)) == ((), {}), "what is in use stays in use"
    assert report.assumed


CLUSTERS = {"ap": 1, "eu": 2, "us": 3}
DEPLOYMENTS = ("mock-demo", "mock-demo-v2", "qwen")
IMAGES = ("registry.example/engine:1", "registry.example/engine:2")


@st.composite
def fleets(draw: st.DrawFn) -> FleetDocuments:
    """Documents of one moment, of clusters that all answer."""
    tainted = draw(st.sets(st.sampled_from(sorted(CLUSTERS)), max_size=2))
    effect = draw(st.sampled_from(["NoSchedule", "NoExecute"]))
    clusters = [
        a_cluster(name, pools=[a_pool(nodes=nodes)], taints=[a_taint(effect=effect)] if name in tainted else ())
        for name, nodes in CLUSTERS.items()
    ]
    deployments = []
    for name in sorted(draw(st.sets(st.sampled_from(DEPLOYMENTS)))):
        template = {"spec": {"containers": [{"name": "engine", "image": draw(st.sampled_from(IMAGES))}]}}
        engines = [an_engine("main", members=[a_member(template=template)])]
        deployments.append(a_deployment(name, replicas=draw(st.integers(0, 4)), engines=engines))
    weight = draw(st.sampled_from([1, 10, 90]))
    entries = [(90, {"modelplane.ai/deployment": "mock-demo"}), (weight, {"modelplane.ai/deployment": "mock-demo-v2"})]
    fleet = a_fleet("prod", deletion={"maxShare": "100%"})
    return documents_of(fleet, a_class(), *clusters, *deployments, a_service("svc", entries=entries))


@settings(deadline=None, derandomize=True, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(history=st.lists(fleets(), max_size=2), end=fleets())
def test_it_tells_where_an_update_ends(up: Up, history: list[FleetDocuments], end: FleetDocuments) -> None:
    simulation = Simulation(end)
    for documents in history:
        simulation.documents = documents
        up(simulation)
    simulation.documents = end
    live = {
        cluster: {key: found.template for key, found in replicas.items()}
        for cluster, replicas in simulation.live.items()
    }
    report, _ = preview(simulation)
    assert not report.errors

    done = up(simulation)

    assert done.errors == []
    ended = simulation.read(PlacementOutputs, "placement").ledger
    planned = report.after.placement.ledger
    assert [(entry.key, entry.state, template_hash(entry)) for entry in planned.replicas] == [
        (entry.key, entry.state, template_hash(entry)) for entry in ended.replicas
    ]
    routing = simulation.read(RoutingOutputs, "routing")
    assert sorted(report.after.routing.endpoints) == sorted(routing.endpoints)
    assert {key: state.backends for key, state in report.after.routing.services.items()} == {
        key: state.backends for key, state in routing.services.items()
    }
    changed = {
        key
        for cluster in CLUSTERS
        for key in {*live.get(cluster, {}), *simulation.live[cluster]}
        if live.get(cluster, {}).get(key) != getattr(simulation.live[cluster].get(key), "template", None)
    }
    told = {
        step.name
        for operation in report.operations
        if operation.stack.kind == "workloads"
        for step in operation.steps
        if step.operation != "same"
    }
    assert told == changed
    assert report.exit_code == done.exit_code
