"""`up` around the pass: what it refuses before a stack is touched, what it prints where, and how it ends."""

import json
from pathlib import Path
from typing import Any

import pytest
from states import a_ledger, an_entry, cluster_outputs
from unit.cli.running import IdleEngine, Run, files_below

from api.base import Condition
from api.errors import ModelplaneError
from api.names import StackName
from programs.outputs import (
    ClusterVerdict,
    DeploymentState,
    PlacementOutputs,
    RoutingOutputs,
    ServiceBackend,
    ServiceState,
)
from stacks.lock import pass_lock
from stacks.operation import Operation, OperationFailed, ProgramBug
from stacks.report import Report

READY = (Condition(type="Ready", status="True", reason="Available"),)
SHORT = (Condition(type="Ready", status="False", reason="PartiallyScheduled", message="1 of 2 replicas scheduled"),)


def operation(kind: str, cluster: str | None = None, **fields: Any) -> Operation:
    return Operation(stack=StackName("demo", kind, cluster), action="up", seconds=1.25, **fields)


def a_report(*operations: Operation, **fields: Any) -> Report:
    deployments = {"ml-team/qwen": DeploymentState(wanted=1, placed=1, ready=1, conditions=READY)}
    service = ServiceState(
        address="http://127.0.0.1:8080/ml-team/qwen", backends=(ServiceBackend(endpoint="e", weight=1),)
    )
    plain: dict[str, Any] = {
        "operations": operations,
        "placement": PlacementOutputs(ledger=a_ledger(an_entry()), deployments=deployments),
        "routing": RoutingOutputs(services={"ml-team/qwen": service}),
        "clusters": {"us": cluster_outputs("us")},
    }
    return Report(**(plain | fields))


class FakePass:
    """Stands in for the pass: tells its operations, and returns its report."""

    report = Report()
    given: dict[str, Any]

    def __init__(
        self, documents: Any, engine: Any, options: Any, on_operation: Any, on_note: Any, _: Any = None
    ) -> None:
        type(self).given = {"documents": documents, "options": options}
        self._on_operation, self._on_note = on_operation, on_note

    def run(self) -> Report:
        for done in self.report.operations:
            self._on_operation(done)
        self._on_note("waiting for 1 replica to become ready")
        return self.report


@pytest.fixture
def a_pass(monkeypatch: pytest.MonkeyPatch) -> type[FakePass]:
    monkeypatch.setattr("stacks.converge.Pass", FakePass)
    monkeypatch.setattr("stacks.engine.Engine", IdleEngine)
    return FakePass


def test_progress_goes_to_one_stream_and_tables_to_the_other(run: Run, fleet: Path, a_pass: type[FakePass]) -> None:
    a_pass.report = a_report(
        operation("gateway", changes={"create": 3, "same": 1}),
        operation("workloads", "us", changes={"create": 2, "update": 1, "replace": 1}),
        operation("routing", changes={"same": 4}),
    )
    done = run("up", "-f", fleet)
    assert done.code == 0
    assert done.out == (
        "DEPLOYMENT    WANTED  PLACED  READY  STATUS\n"
        "ml-team/qwen  1       1       1      Ready\n"
        "\n"
        "SERVICE       ENDPOINTS  URL\n"
        "ml-team/qwen  1          http://127.0.0.1:8080/ml-team/qwen\n"
    )
    *lines, last = done.err.splitlines()
    assert lines == [
        "demo.gateway                up       3 created  1.2s",
        "demo.workloads.us           up       2 created, 1 updated, 1 replaced  1.2s",
        "demo.routing                up       no change  1.2s",
        "waiting for 1 replica to become ready",
    ]
    assert last.startswith("demo: 7 resources changed in 3 stacks, ")


def test_json_is_the_report_and_nothing_else(run: Run, fleet: Path, a_pass: type[FakePass]) -> None:
    a_pass.report = a_report(operation("gateway", changes={"create": 3}))
    done = run("up", "-f", fleet, "-o", "json")
    told = json.loads(done.out)
    assert told.items() >= a_pass.report.plain().items()
    assert told.keys() - a_pass.report.plain().keys() == {"fleet", "capacity", "findings"}
    assert done.err.startswith("demo.gateway")


def test_a_short_deployment_says_why_cluster_by_cluster(run: Run, fleet: Path, a_pass: type[FakePass]) -> None:
    verdicts = {
        "us": (ClusterVerdict(code="NotEnoughNodes", message="pool gpu has 0 of 1 nodes free, needs 1"),),
        "eu": (ClusterVerdict(code="Cordoned", message=""), ClusterVerdict(code="X", message="and more")),
    }
    state = DeploymentState(wanted=2, placed=1, ready=1, conditions=SHORT, verdicts=verdicts)
    a_pass.report = a_report(placement=PlacementOutputs(deployments={"ml-team/qwen": state}), routing=None)
    done = run("up", "-f", fleet)
    assert done.code == 20
    assert done.out == (
        "DEPLOYMENT    WANTED  PLACED  READY  STATUS\n"
        "ml-team/qwen  2       1       1      PartiallyScheduled\n"
        "  eu: Cordoned; and more\n"
        "  us: pool gpu has 0 of 1 nodes free, needs 1\n"
    )


def test_what_failed_is_told_once_at_the_end(run: Run, fleet: Path, a_pass: type[FakePass]) -> None:
    error = OperationFailed("the provider said no", where="stack demo.workloads.us", hint="look")
    a_pass.report = a_report(
        operation("placement", error=ModelplaneError("gone", where="us"), messages=("gone",)),
        operation(
            "workloads", "us", error=error, changes={"create": 1}, messages=("the provider said no", "and again")
        ),
    )
    done = run("up", "-f", fleet)
    assert done.code == 1
    assert "demo.workloads.us           up       failed after 1 created  1.2s\n" in done.err
    assert done.err.count("error MP300: us: gone\n") == 1
    assert done.err.count("error MP340: stack demo.workloads.us: the provider said no\nhint: look\n") == 1
    assert done.err.count("  demo.workloads.us: and again\n") == 1
    assert "2 errors" in done.err.splitlines()[-1]


def test_what_starts_is_told(run: Run, fleet: Path, a_pass: type[FakePass]) -> None:
    a_pass.report = a_report(starting=["ml-team/b", "ml-team/a"], timed_out=True)
    done = run("up", "-f", fleet, "--wait", "1m30s")
    assert done.code == 9
    assert done.out.endswith("\nstarting: ml-team/a, ml-team/b\n")
    assert (a_pass.given["options"].wait, a_pass.given["options"].wait_given) == (90.0, True)


def test_without_a_bound_ten_minutes_are_waited(run: Run, fleet: Path, a_pass: type[FakePass]) -> None:
    a_pass.report = a_report()
    assert run("up", "-f", fleet, "--parallel", "5").code == 0
    options = a_pass.given["options"]
    assert (options.wait, options.wait_given, options.parallel) == (600.0, False, 5)


def test_warnings_of_programs_are_told_once(run: Run, fleet: Path, a_pass: type[FakePass]) -> None:
    warned = operation("cluster", "us", messages=("cluster us does not answer",))
    a_pass.report = a_report(warned, warned)
    assert run("up", "-f", fleet).err.count("warning: demo.cluster.us: cluster us does not answer\n") == 1


def test_a_value_that_cannot_be_had_stops_it_before_anything(run: Run, fleet: Path) -> None:
    (fleet / ".modelplane/local/hub/kubeconfig").unlink()
    before = files_below(fleet)
    done = run("up", "-f", fleet)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"error MP123: {fleet}/fleet.yaml:")
    assert files_below(fleet) == before


def test_a_broken_document_stops_it_before_anything(run: Run, fleet: Path) -> None:
    (fleet / "mock.yaml").write_text("")
    before = files_below(fleet)
    assert run("up", "-f", fleet).code == 2
    assert files_below(fleet) == before


def test_a_fleet_without_a_front_door_stops_it_before_anything(run: Run, fleet: Path) -> None:
    (fleet / "gateway.yaml").unlink()
    before = files_below(fleet)
    done = run("up", "-f", fleet)
    assert (done.code, done.out) == (2, "")
    assert "error MP160: " in done.err
    assert files_below(fleet) == before


def test_a_bug_in_a_program_keeps_its_traceback(run: Run, fleet: Path, a_pass: type[FakePass]) -> None:
    with pytest.raises(ZeroDivisionError) as raised:
        divmod(1, 0)
    bug = ProgramBug(StackName("demo", "placement"), raised.value)
    a_pass.report = a_report(operation("placement", error=bug))
    done = run("up", "-f", fleet)
    assert done.code == 255
    assert "error MP399: stack demo.placement: ZeroDivisionError: integer division or modulo by zero\n" in done.err
    assert done.err.count("Traceback") == 1


def test_one_pass_at_a_time(run: Run, fleet: Path, a_pass: type[FakePass]) -> None:
    with pass_lock(fleet / ".modelplane"):
        done = run("up", "-f", fleet)
    assert (done.code, done.out) == (24, "")
    assert "another run works on this fleet: pid " in done.err


def test_a_run_that_was_stopped_says_what_is_not_done(run: Run, fleet: Path, a_pass: type[FakePass]) -> None:
    a_pass.report = a_report(operation("gateway"), not_done=["demo.placement", "demo.routing"])
    done = run("up", "-f", fleet)
    assert done.code == 8
    assert "stopped; not done: demo.placement, demo.routing\nhint: run the same command again" in done.err
    a_pass.report = a_report(operation("gateway"), not_done=[])
    assert "stopped; every stack is done\n" in run("up", "-f", fleet).err
