"""One pass: which stacks are brought up, in which order, and how often; and what one failure leaves alone."""

from collections.abc import Callable
from typing import Any, cast

import pytest
from builders import a_class, a_cluster, a_deployment, a_fleet, a_member, a_service, an_engine
from simulation import Simulation
from states import an_entry, documents_of
from unit.stacks.examples import AT_FIRST, WITH_CANARY

from api.base import Kind
from api.documents import FleetDocuments
from api.errors import DeletionRefused, UnreadableStack
from programs.ledger import template_hash
from programs.outputs import PlacementOutputs, RoutingOutputs
from stacks import converge
from stacks.converge import Options, Pass
from stacks.engine import Engine
from stacks.operation import Operation, OperationFailed
from stacks.report import Report

EU, US = an_entry("mock-demo", "gpu-eu-west"), an_entry("mock-demo", "gpu-us-east")
V2 = an_entry("mock-demo-v2", "gpu-us-east")

INFRASTRUCTURE = ["gateway", "cluster.gpu-eu-west", "serving.gpu-eu-west", "cluster.gpu-us-east", "serving.gpu-us-east"]
WORKLOADS = ["workloads.gpu-eu-west", "workloads.gpu-us-east"]

Run = Callable[..., Report]


def the_example(*kinds: Kind) -> FleetDocuments:
    clusters = (a_cluster("gpu-us-east"), a_cluster("gpu-eu-west"))
    return documents_of(a_fleet("local"), a_class(), *clusters, *kinds)


FIRST = the_example(*AT_FIRST)
CANARY = the_example(*WITH_CANARY)


def test_the_first_up_of_two_clusters(run: Run) -> None:
    simulation = Simulation(FIRST)
    report = run(simulation)
    assert simulation.calls == [
        *INFRASTRUCTURE,
        "placement",
        "routing",
        *WORKLOADS,
        "wait",
        *WORKLOADS,
        "placement",
        "routing",
        "routing",
    ]
    assert simulation.endpoints() == sorted([EU.key, US.key])
    assert report.exit_code == 0
    assert report.starting == []


def test_the_second_up_runs_every_stack_once_and_changes_nothing(run: Run) -> None:
    simulation = Simulation(FIRST)
    run(simulation)
    simulation.refreshed.clear()
    report = run(simulation)
    assert simulation.calls == [*INFRASTRUCTURE, "placement", "routing", *WORKLOADS]
    assert report.changed == 0
    assert report.exit_code == 0
    assert simulation.refreshed == {*INFRASTRUCTURE, "routing", *WORKLOADS}, "placement holds nothing to look at"


def test_only_what_is_there_is_refreshed_and_one_bad_object_stops_no_other(run: Run) -> None:
    simulation = Simulation(FIRST)
    run(simulation, wait=0.0)
    assert simulation.refreshed == {"routing"}, "brought up again for the routes that were accepted"
    assert simulation.continued == {*INFRASTRUCTURE, *WORKLOADS} - {"gateway"}


def test_the_canary_s_replica_takes_the_node_that_the_old_one_leaves(run: Run) -> None:
    simulation = Simulation(FIRST)
    run(simulation)
    simulation.documents = CANARY
    report = run(simulation)
    assert simulation.calls == [
        *INFRASTRUCTURE,
        "placement",  # the old one retires, the new one waits for its node
        "routing",  # the old one's endpoint is withdrawn
        *WORKLOADS,  # the old one goes and the new one comes, in one run
        "placement",  # the old one is forgotten
        "wait",
        "workloads.gpu-us-east",
        "placement",
        "routing",  # the new one's endpoint is there
    ]
    assert simulation.rendered() == sorted([EU.key, V2.key])
    assert simulation.endpoints() == sorted([EU.key, V2.key])
    service = simulation.read(RoutingOutputs, "routing").services["ml-team/mock-demo"]
    assert [(backend.endpoint, backend.weight) for backend in service.backends] == [(EU.key, 9), (V2.key, 1)]
    assert [entry.key for entry in ledger(simulation)] == [EU.key, V2.key]
    assert report.exit_code == 0
    run(simulation)
    assert simulation.calls == [*INFRASTRUCTURE, "placement", "routing", *WORKLOADS]


def test_a_canary_whose_replica_never_becomes_ready_keeps_what_answers(run: Run) -> None:
    simulation = Simulation(FIRST)
    run(simulation)
    simulation.documents = CANARY
    simulation.never_ready = {"mock-demo-v2"}
    report = run(simulation)
    assert simulation.endpoints() == [EU.key]
    assert report.starting == [V2.key]
    service = simulation.read(RoutingOutputs, "routing").services["ml-team/mock-demo"]
    assert [(backend.endpoint, backend.weight) for backend in service.backends] == [(EU.key, 1)]


def test_a_changed_image_rolls_without_a_moment_of_silence(run: Run) -> None:
    simulation = Simulation(FIRST)
    run(simulation)
    simulation.rotations.clear()
    template = {"spec": {"containers": [{"name": "engine", "image": "registry.example/engine:2"}]}}
    engine = an_engine(members=[a_member(template=template)])
    simulation.documents = the_example(a_deployment("mock-demo", replicas=2, engines=[engine]), a_service("mock-demo"))
    run(simulation)
    assert all(simulation.rotations), "at least one replica answers at any time"
    assert simulation.endpoints() == sorted([EU.key, US.key])
    assert {live.template for replicas in simulation.live.values() for live in replicas.values()} == {
        template_hash(entry) for entry in ledger(simulation)
    }


def test_a_removed_deployment_leaves_in_order_and_leaves_nothing(run: Run) -> None:
    simulation = Simulation(FIRST)
    run(simulation)
    simulation.documents = the_example()
    report = run(simulation)
    assert simulation.calls == [*INFRASTRUCTURE, "placement", "routing", *WORKLOADS, "placement"]
    assert (simulation.rendered(), simulation.endpoints(), ledger(simulation)) == ([], [], ())
    assert report.exit_code == 0


def test_a_cluster_that_left_the_documents_keeps_what_runs_there(run: Run) -> None:
    simulation = Simulation(FIRST)
    run(simulation)
    without = documents_of(a_fleet("local"), a_class(), a_cluster("gpu-eu-west"), a_deployment("mock-demo", replicas=2))
    simulation.documents = without
    run(simulation)
    assert simulation.rendered() == sorted([EU.key, US.key])
    assert simulation.endpoints() == sorted([EU.key, US.key])
    assert not {"cluster.gpu-us-east", "serving.gpu-us-east"} & set(simulation.calls)


def test_a_cluster_stack_that_fails_at_first_leaves_the_others_alone(run: Run) -> None:
    simulation = Simulation(FIRST, failing={"cluster.gpu-us-east": OperationFailed("the provider said no")})
    report = run(simulation)
    assert "serving.gpu-us-east" not in simulation.calls
    assert "workloads.gpu-us-east" not in simulation.calls
    assert simulation.endpoints() == [EU.key]
    assert report.exit_code == 21
    state = simulation.read(PlacementOutputs, "placement").deployments["ml-team/mock-demo"]
    assert (state.wanted, state.placed) == (2, 1)


@pytest.mark.parametrize("failing", ["cluster.gpu-us-east", "serving.gpu-us-east", "workloads.gpu-us-east"])
def test_a_stack_that_fails_later_keeps_its_cluster_s_replicas(run: Run, failing: str) -> None:
    simulation = Simulation(FIRST)
    run(simulation)
    simulation.failing = {failing: OperationFailed("the provider said no")}
    report = run(simulation)
    assert simulation.rendered() == sorted([EU.key, US.key])
    assert simulation.endpoints() == sorted([EU.key, US.key])
    assert {entry.state for entry in ledger(simulation)} == {"active"}
    assert "workloads.gpu-eu-west" in simulation.calls
    assert simulation.calls.count(failing) == 1
    assert report.exit_code == 21


def test_without_a_decision_nothing_is_routed_and_nothing_rendered(run: Run) -> None:
    simulation = Simulation(FIRST)
    run(simulation)
    simulation.documents = CANARY
    simulation.failing = {"placement": DeletionRefused("more than a fifth would go")}
    report = run(simulation)
    assert simulation.calls == [*INFRASTRUCTURE, "placement"]
    assert simulation.rendered() == sorted([EU.key, US.key])
    assert report.exit_code == 26


def test_without_withdrawals_nothing_is_taken_away(run: Run) -> None:
    """The canary's first step fails on the hub: the old replica stays, and the new one goes on waiting."""
    simulation = Simulation(FIRST)
    run(simulation)
    simulation.documents = CANARY
    simulation.failing = {"routing": OperationFailed("the hub does not answer")}
    report = run(simulation)
    assert simulation.rendered() == sorted([EU.key, US.key])
    assert simulation.endpoints() == sorted([EU.key, US.key])
    assert report.exit_code == 1
    simulation.failing = {}
    assert run(simulation).exit_code == 0
    assert simulation.rendered() == sorted([EU.key, V2.key])


def test_a_gateway_that_fails_stops_neither_clusters_nor_workloads(run: Run) -> None:
    simulation = Simulation(FIRST, failing={"gateway": OperationFailed("the hub does not answer")})
    report = run(simulation)
    assert simulation.rendered() == sorted([EU.key, US.key])
    assert report.exit_code == 1, "routing says that the gateway is not there"
    simulation.failing = {}
    assert run(simulation).exit_code == 0
    assert simulation.endpoints() == sorted([EU.key, US.key])


def test_an_unreachable_cluster_keeps_its_replicas_and_endpoints(run: Run) -> None:
    simulation = Simulation(FIRST)
    run(simulation)
    simulation.unreachable = {"gpu-us-east"}
    report = run(simulation)
    assert not {"serving.gpu-us-east", "workloads.gpu-us-east"} & set(simulation.calls)
    assert simulation.endpoints() == sorted([EU.key, US.key])
    assert {entry.state for entry in ledger(simulation)} == {"active"}
    assert report.exit_code == 22


def test_nothing_is_taken_from_an_unreachable_cluster(run: Run) -> None:
    """What should leave stays in the ledger until its cluster can be asked again; its node is not given away."""
    simulation = Simulation(FIRST)
    run(simulation)
    simulation.unreachable = {"gpu-us-east"}
    simulation.documents = CANARY
    run(simulation)
    assert simulation.rendered() == sorted([EU.key, US.key])
    states = {entry.key: entry.state for entry in ledger(simulation)}
    assert states == {EU.key: "active", US.key: "retiring"}
    simulation.unreachable = set()
    assert run(simulation).exit_code == 0
    assert simulation.rendered() == sorted([EU.key, V2.key])


def test_a_replica_that_never_becomes_ready_is_reported_as_starting(run: Run) -> None:
    simulation = Simulation(FIRST, never_ready={"mock-demo"})
    report = run(simulation)
    assert simulation.calls == [*INFRASTRUCTURE, "placement", "routing", *WORKLOADS, "wait", *WORKLOADS, "routing"]
    assert report.starting == [EU.key, US.key]
    assert not report.timed_out
    assert report.exit_code == 0


DEADLINES = {"a bound that the caller gave": (True, 9), "the bound of the program": (False, 0)}


@pytest.mark.parametrize(("given", "exit_code"), DEADLINES.values(), ids=DEADLINES)
def test_the_wait_ends_at_its_deadline(run: Run, given: bool, exit_code: int) -> None:
    simulation = Simulation(FIRST)
    report = run(simulation, wait=0.0, wait_given=given)
    assert "wait" not in simulation.calls
    assert report.starting == [EU.key, US.key]
    assert report.timed_out is given
    assert report.exit_code == exit_code


def test_what_becomes_ready_late_gets_its_endpoint_in_the_next_pass(run: Run) -> None:
    simulation = Simulation(FIRST, never_ready={"mock-demo"})
    run(simulation)
    simulation.never_ready = set()
    report = run(simulation)
    assert simulation.endpoints() == sorted([EU.key, US.key])
    assert report.starting == []


def test_what_cannot_be_read_at_the_start_ends_the_pass_before_anything_is_touched(run: Run) -> None:
    simulation = Simulation(FIRST)
    run(simulation)
    simulation.unreadable = {"placement"}
    with pytest.raises(UnreadableStack):
        run(simulation)
    assert simulation.calls == []


def test_stacks_run_side_by_side_and_a_serving_stack_after_its_own_cluster(run: Run) -> None:
    simulation = Simulation(FIRST)
    run(simulation, parallel=3)
    assert sorted(simulation.calls[:5]) == sorted(INFRASTRUCTURE)
    for name in ("gpu-eu-west", "gpu-us-east"):
        assert simulation.calls.index(f"cluster.{name}") < simulation.calls.index(f"serving.{name}")
    assert sorted(simulation.calls[7:9]) == WORKLOADS


def test_every_operation_and_every_wait_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    simulation = Simulation(FIRST)
    monkeypatch.setattr(converge, "wait_for_change", simulation.wait_for_change)
    monkeypatch.setattr(converge, "routes_accepted", simulation.routes_accepted)
    operations: list[Operation] = []
    notes: list[str] = []
    report = Pass(
        FIRST, cast("Engine", simulation), Options(parallel=1, drain=0), operations.append, notes.append
    ).run()
    assert [str(operation.stack) for operation in operations] == [
        f"local.{name}" for name in simulation.calls if name != "wait"
    ]
    assert list(report.operations) == operations
    assert notes == ["waiting for 2 replicas to become ready"]


@pytest.mark.parametrize(("moments", "left"), [(0, 0), (2, 0), (9, 2)])
def test_what_was_ready_for_a_moment_is_waited_for_again_a_few_times(run: Run, moments: int, left: int) -> None:
    simulation = Simulation(FIRST)
    simulation.moments = moments
    assert len(run(simulation).starting) == left
    assert simulation.calls.count("wait") == min(moments + 1, converge.MOST_SEEN_READY)


def ledger(simulation: Simulation) -> Any:
    return simulation.read(PlacementOutputs, "placement").ledger.replicas
