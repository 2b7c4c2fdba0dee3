"""What a plan is made from: documents as they are now, and what stacks last exported."""

from pathlib import Path

import pytest
from builders import a_class, a_cluster, a_deployment, a_fleet, a_pool
from states import (
    an_entry,
    cluster_outputs,
    documents_of,
    earlier,
    listed_workloads,
    pool_facts,
    serving_outputs,
)

from api.errors import DeletionRefused, InvocationError, UnreadableStack
from scheduler import Snapshot, schedule
from stacks import observation
from stacks.environment import environment_of
from stacks.observation import observe
from stacks.status import FleetOutputs

DOCUMENTS = documents_of(a_fleet(), a_class(), a_cluster("us", pools=[a_pool(nodes=2)]), a_deployment(replicas=2))
ENTRY = an_entry("qwen", "us")
UP = FleetOutputs(
    clusters={"us": cluster_outputs("us", pools=[pool_facts(nodes=1)])},
    serving={"us": serving_outputs("us")},
    placement=earlier(ENTRY),
    workloads={"us": listed_workloads("us", ENTRY)},
)


def placements(snapshot: Snapshot) -> dict[str, bool]:
    plan = schedule(snapshot).deployments["ml-team", "qwen"]
    return {f"{each.key.cluster}{each.key.index}": each.retained for each in plan.placements}


def test_without_any_state_clusters_are_assumed_ready(tmp_path: Path) -> None:
    found = observe(DOCUMENTS, environment_of(tmp_path, {}))
    assert found.assumed == ("us",)
    assert placements(found.snapshot) == {"us0": False, "us1": False}
    assert list(tmp_path.iterdir()) == []


def test_nodes_are_those_of_the_documents_and_replicas_those_of_the_ledger() -> None:
    found = observation.observation(DOCUMENTS, UP)
    assert found.assumed == ()
    assert placements(found.snapshot) == {"us0": True, "us1": False}


def test_what_is_known_not_to_be_ready_takes_nothing_new() -> None:
    away = cluster_outputs("us", reachable=False, reason="Unreachable")
    unready = FleetOutputs(clusters={"us": away}, serving=UP.serving, placement=UP.placement, workloads=UP.workloads)
    assert placements(observation.observation(DOCUMENTS, unready).snapshot) == {"us0": True}


def test_a_cluster_without_its_document_is_held() -> None:
    left = documents_of(a_fleet(), a_class(), a_cluster("eu"), a_deployment(replicas=2))
    found = observation.observation(left, UP)
    assert {each.name: each.held for each in found.snapshot.clusters} == {"eu": False, "us": True}
    assert found.assumed == ("eu",)


def test_nothing_is_planned_without_the_ledger_of_what_runs() -> None:
    lost = FleetOutputs(clusters=UP.clusters, serving=UP.serving, workloads=UP.workloads)
    with pytest.raises(DeletionRefused):
        observation.observation(DOCUMENTS, lost)


def test_an_input_that_cannot_change_is_told() -> None:
    edited = documents_of(a_fleet(), a_class(), a_cluster("us", stack="Dynamo"), a_deployment())
    with pytest.raises(InvocationError, match=r"spec\.stack: cannot be changed"):
        observation.observation(edited, UP)


def test_a_stack_that_cannot_be_read_is_not_taken_for_absent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".modelplane" / "state" / ".pulumi" / "stacks").mkdir(parents=True)
    monkeypatch.setattr("stacks.engine.Engine", lambda *_, **__: object())
    monkeypatch.setattr("stacks.state.observe", lambda *_: (FleetOutputs(), [UnreadableStack("unreadable")]))
    with pytest.raises(UnreadableStack):
        observe(DOCUMENTS, environment_of(tmp_path, {}))
