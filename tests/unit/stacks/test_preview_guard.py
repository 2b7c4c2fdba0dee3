"""A preview stops where an update would be stopped, and shows what is permitted: deletions, clusters that leave."""

from builders import (
    a_class,
    a_cluster,
    a_deployment,
    a_fleet,
    a_pool,
    a_service,
    an_endpoint,
)
from rehearsal import preview
from simulation import Simulation
from states import documents_of
from unit.stacks.previewing import CANARY, INFRASTRUCTURE, US, Up, ledger, operations

from api.base import Kind
from api.documents import FleetDocuments
from api.errors import DeletionRefused
from programs.context import Permissions
from stacks.changes import DELETE, UPDATE


def test_a_lost_ledger_stops_the_preview_and_plans_no_deletion(running: Simulation) -> None:
    running.kept = {stack: kept for stack, kept in running.kept.items() if stack.kind != "placement"}
    report, rehearsal = preview(running)
    assert rehearsal.calls == INFRASTRUCTURE
    assert operations(report) == {}
    assert report.exit_code == 26


MANY = {"deletion": {"maxShare": "20%"}}


def guarded(*kinds: Kind) -> FleetDocuments:
    clusters = [a_cluster(name, pools=[a_pool(nodes=5)]) for name in ("gpu-us-east", "gpu-eu-west")]
    return documents_of(a_fleet("local", **MANY), a_class(), *clusters, *kinds)


def test_what_the_guard_would_stop_is_stopped_here_too_and_its_digest_lets_it_through(up: Up) -> None:
    simulation = Simulation(guarded(a_deployment("mock-demo", replicas=8), a_service("mock-demo")))
    up(simulation)
    simulation.documents = guarded(a_deployment("mock-demo", replicas=2), a_service("mock-demo"))
    report, rehearsal = preview(simulation)
    assert rehearsal.calls == INFRASTRUCTURE
    assert report.ledger == ()
    (error,) = report.errors
    assert isinstance(error, DeletionRefused)
    assert report.exit_code == 26

    digest = error.hint.rpartition(" ")[2]
    allowed, _ = preview(simulation, permissions=Permissions(deletions=frozenset({digest})))
    assert [change.kind for change in allowed.ledger] == ["retire"] * 6
    assert allowed.exit_code == 0


def test_a_guarded_endpoint_stops_what_follows_from_routing(up: Up) -> None:
    written = [an_endpoint(f"outside-{number}") for number in range(4)]
    simulation = Simulation(guarded(a_deployment("mock-demo"), a_service("mock-demo"), *written))
    up(simulation)
    simulation.documents = guarded(a_deployment("mock-demo"), a_service("mock-demo"))
    report, rehearsal = preview(simulation)
    assert rehearsal.calls == INFRASTRUCTURE
    assert [str(operation.stack) for operation in report.operations if operation.error] == ["local.routing"]
    assert report.exit_code == 26


ONE_CLUSTER = documents_of(
    a_fleet("local", deletion={"maxShare": "100%"}),
    a_class(),
    a_cluster("gpu-eu-west"),
    a_deployment("mock-demo", replicas=2),
    a_service("mock-demo"),
)


def test_a_cluster_that_left_the_documents_is_held(running: Simulation) -> None:
    running.documents = ONE_CLUSTER
    report, rehearsal = preview(running)
    assert "workloads.gpu-us-east" in rehearsal.calls, "it still serves what is on it"
    assert (report.ledger, operations(report)) == ((), {})
    assert report.exit_code == 26
    (error,) = report.errors
    assert "gpu-us-east left the documents; it and its 1 replica(s) are held" in error.message


def test_a_cluster_to_delete_is_drained_and_its_stacks_go(running: Simulation) -> None:
    running.documents = ONE_CLUSTER
    report, rehearsal = preview(running, permissions=Permissions(delete_clusters=frozenset({"gpu-us-east"})))
    assert ledger(report) == [("retire", US.key)]
    destroyed = {call for call in rehearsal.calls if call.startswith("destroy")}
    assert destroyed == {"destroy workloads.gpu-us-east", "destroy serving.gpu-us-east", "destroy cluster.gpu-us-east"}
    assert operations(report)["routing"] == {DELETE: [US.key], UPDATE: ["service ml-team/mock-demo"]}
    assert report.exit_code == 20


def test_a_cluster_to_forget_is_dropped_without_being_looked_at(running: Simulation) -> None:
    running.documents = ONE_CLUSTER
    report, rehearsal = preview(running, permissions=Permissions(forget=frozenset({"gpu-us-east"})))
    assert ledger(report) == [("retire", US.key)]
    assert not [call for call in rehearsal.calls if call.endswith("gpu-us-east")]
    forgotten = {str(operation.stack) for operation in report.operations if operation.action == "forget"}
    assert forgotten == {f"local.{kind}.gpu-us-east" for kind in ("cluster", "serving", "workloads")}


def test_a_cluster_that_did_not_answer_keeps_what_it_has(running: Simulation, up: Up) -> None:
    running.unreachable = {"gpu-us-east"}
    up(running)
    running.documents = CANARY
    report, rehearsal = preview(running)
    assert "workloads.gpu-us-east" not in rehearsal.calls
    assert report.exit_code == 22
