"""What a pass leaves alone: clusters that are not asked for, and stacks that would do what the last run did."""

from pathlib import Path
from typing import Any, cast

import pytest
from builders import a_class, a_cluster, a_deployment, a_fleet, a_service
from simulation import Simulation
from states import documents_of
from unit.stacks.loop.test_loop import Looking

from api.base import Kind
from api.documents import FleetDocuments
from api.label_queries import label_query
from api.names import StackName
from programs.context import Permissions
from stacks import converge
from stacks.converge import Options, Pass
from stacks.engine import Engine
from stacks.environment import BACKEND, Environment
from stacks.loop.agenda import Limits
from stacks.loop.run import Loop, LoopOptions, Told
from stacks.operation import Operation, OperationFailed
from stacks.plan import left_out
from stacks.report import Report
from stacks.skipping import Notes

EAST, WEST = "gpu-us-east", "gpu-eu-west"


def the_fleet(*kinds: Kind) -> FleetDocuments:
    clusters = (a_cluster(EAST, labels={"region": "us"}), a_cluster(WEST, labels={"region": "eu"}))
    return documents_of(a_fleet("local"), a_class(), *clusters, *kinds)


FLEET = the_fleet(a_deployment("chat", replicas=2), a_service("chat"))
EDITED = the_fleet(a_deployment("chat", replicas=1), a_service("chat"))


class Fleet(Simulation):
    """A simulated fleet whose stacks leave files, as a backend that is a folder has them."""

    def __init__(self, folder: Path) -> None:
        super().__init__(FLEET)
        self.environment = Environment(directory=folder, variables={BACKEND: f"file://{folder}/state"})
        self.permissions = Permissions()
        self._files = folder / "state" / ".pulumi" / "stacks" / "modelplane"
        self._files.mkdir(parents=True)
        self.environment.folder.mkdir()
        self._written = 0

    def up(self, stack: StackName, **options: Any) -> Operation:
        operation = super().up(stack, **options)
        self.write(str(stack))
        return operation

    def write(self, stack: str) -> None:
        self._written += 1
        file = self._files / f"{stack}.json"
        file.write_text(str(self._written))

    def run(self, *, changed_only: bool = False, **options: Any) -> Report:
        self.calls.clear()
        notes = Notes(self.environment, self.documents, skip=changed_only)
        settings = Options(**({"parallel": 1, "drain": 0} | options))
        engine = cast("Engine", self)
        return Pass(self.documents, engine, settings, lambda operation: None, lambda note: None, notes).run()


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fleet:
    fleet = Fleet(tmp_path)
    monkeypatch.setattr(converge, "wait_for_change", fleet.wait_for_change)
    monkeypatch.setattr(converge, "routes_accepted", fleet.routes_accepted)
    fleet.run()
    return fleet


def test_where_nothing_changed_no_stack_is_brought_up(fleet: Fleet) -> None:
    report = fleet.run(changed_only=True)
    assert fleet.calls == []
    assert (report.exit_code, report.changed) == (0, 0)
    assert report.placement is not None
    assert report.routing is not None
    fleet.run(changed_only=True)
    assert fleet.calls == [], "a pass that did nothing keeps what the one before it noted"


def test_an_edit_of_one_deployment_brings_up_what_it_touches(fleet: Fleet) -> None:
    fleet.documents = EDITED
    fleet.run(changed_only=True)
    [workloads] = {call for call in fleet.calls if call.startswith("workloads")}
    assert set(fleet.calls) - {"wait"} == {"placement", "routing", workloads}
    fleet.run(changed_only=True)
    assert fleet.calls == []


def test_a_stack_that_somebody_else_wrote_is_brought_up(fleet: Fleet) -> None:
    fleet.write(f"local.serving.{EAST}")
    fleet.run(changed_only=True)
    assert fleet.calls == [f"serving.{EAST}"]


def test_what_failed_is_tried_again(fleet: Fleet) -> None:
    fleet.documents = EDITED
    fleet.failing["routing"] = OperationFailed("no")
    fleet.run(changed_only=True)
    fleet.failing.clear()
    fleet.run(changed_only=True)
    assert "routing" in fleet.calls


def test_a_cluster_that_did_not_answer_is_asked_again(fleet: Fleet) -> None:
    fleet.unreachable.add(EAST)
    fleet.run()
    fleet.unreachable.clear()
    fleet.run(changed_only=True)
    assert f"cluster.{EAST}" in fleet.calls
    assert f"cluster.{WEST}" not in fleet.calls


def test_a_replica_that_became_ready_meanwhile_gets_its_endpoint(fleet: Fleet) -> None:
    fleet.lose_pods(["chat"])
    fleet.run(wait=0.0)
    assert fleet.endpoints() == []
    fleet.run(changed_only=True)
    assert len(fleet.endpoints()) == 2
    assert not {call for call in fleet.calls if call.startswith(("cluster", "serving", "gateway"))}


def test_without_being_told_a_pass_brings_up_everything(fleet: Fleet) -> None:
    fleet.run()
    assert {f"cluster.{EAST}", f"serving.{WEST}", "placement", "routing", "gateway"} <= set(fleet.calls)


def test_a_loop_goes_on_where_a_pass_has_ended(fleet: Fleet) -> None:
    options = LoopOptions(limits=Limits(parallel=1, drain=0.0), once=True, go_on=True)
    fleet.calls.clear()
    Loop(FLEET, cast("Engine", fleet), options, Looking(cast("Any", fleet)), Told()).run()
    assert fleet.calls == []


def test_clusters_that_are_left_out_keep_what_they_have(fleet: Fleet) -> None:
    fleet.documents = EDITED
    report = fleet.run(left_out=left_out(FLEET, label_query("region=eu")))
    assert not {call for call in fleet.calls if call.endswith(EAST)}
    assert {"gateway", f"cluster.{WEST}", f"workloads.{WEST}", "placement", "routing"} <= set(fleet.calls)
    assert report.exit_code == 0


def test_labels_are_asked_of_documents(fleet: Fleet) -> None:
    assert left_out(FLEET, None) == frozenset()
    assert left_out(FLEET, label_query("region in (us,eu)")) == frozenset()
    assert left_out(FLEET, label_query("region!=us")) == {EAST}
    assert left_out(FLEET, label_query("gone")) == {EAST, WEST}
