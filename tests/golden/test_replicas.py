"""Everything that a replica registers, for every kind of engine, stack and serving mode."""

from typing import Any

import pytest
from pulumi import ResourceOptions
from recording import Recording, record
from replicas import CASES
from syrupy.assertion import SnapshotAssertion

from components.kubernetes_objects import provider
from components.model_replica import ModelReplica, ModelReplicaArgs
from components.setting import Setting


def recorded(setting: Setting) -> Recording:
    def program() -> None:
        access = provider("us", "a kubeconfig", "prod/us", ResourceOptions())
        ModelReplica("part", ModelReplicaArgs(**vars(setting)), ResourceOptions(providers=[access]))

    return record(program)


def by_name(recording: Recording) -> dict[str, Any]:
    return {found.name: found for found in recording.resources}


@pytest.mark.parametrize("setting", CASES.values(), ids=CASES)
def test_golden(setting: Setting, snapshot: SnapshotAssertion) -> None:
    assert recorded(setting).plain() == snapshot


COUNTS = {
    "standalone": 10,
    "standalone with a Service": 4,
    "gang on Standard": 11,
    "gang on Dynamo": 11,
    "gang with an unclaiming leader": 10,
    "split": 12,
}


@pytest.mark.parametrize(("case", "count"), COUNTS.items(), ids=COUNTS)
def test_how_many_objects_a_replica_has(case: str, count: int) -> None:
    """Reference: workloads, section 15."""
    assert len(recorded(CASES[case]).objects()) == count


def test_what_a_gang_cannot_change_replaces_it() -> None:
    standard = recorded(CASES["gang on Standard"]).one("LeaderWorkerSet")
    assert standard.replace_on_changes == ("spec.leaderWorkerTemplate.size",)
    dynamo = recorded(CASES["gang on Dynamo"]).one("PodCliqueSet")
    assert dynamo.replace_on_changes == (
        "spec.template.cliques[*].spec.minAvailable",
        "spec.template.podCliqueScalingGroups[*].minAvailable",
    )
    assert standard.delete_before_replace
    assert dynamo.delete_before_replace


def test_a_deployment_changes_in_place() -> None:
    found = recorded(CASES["standalone"]).of_kind("Deployment")
    assert [(each.replace_on_changes, each.delete_before_replace) for each in found] == [((), False)] * 2


def test_a_picker_comes_after_what_it_reads() -> None:
    found = by_name(recorded(CASES["standalone"]))
    needed = {"part/picker/account", "part/picker/role", "part/picker/binding", "part/picker/configuration"}
    assert set(found["part/picker/deployment"].depends_on) >= needed


def test_a_gang_comes_after_both_its_claims() -> None:
    found = by_name(recorded(CASES["gang on Standard"]))["part/qwen3-coder"]
    assert found.depends_on == ("part/qwen3-coder/leader/devices", "part/qwen3-coder/worker/devices")
