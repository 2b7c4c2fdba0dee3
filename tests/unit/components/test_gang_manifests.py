"""Gangs on both stacks: sizes, names, what the controllers' webhooks insist on."""

import pytest
from replicas import a_gang, a_replica, a_setting

from api import names
from components.gang_manifests import clique_set, leader_worker_set
from components.replica_manifests import workload
from components.setting import Setting

LONGEST = "x" * 56 + "-bfb38"


def only(setting: Setting) -> dict[str, object]:
    return workload(setting, setting.replica.spec.engines[0])


@pytest.mark.parametrize(("stack", "kind"), [("Standard", "LeaderWorkerSet"), ("Dynamo", "PodCliqueSet")])
def test_the_stack_decides_what_runs_a_gang(stack: str, kind: str) -> None:
    assert only(a_setting(a_gang(), stack=stack))["kind"] == kind
    assert only(a_setting(stack=stack))["kind"] == "Deployment"


def test_a_leader_worker_set() -> None:
    setting = a_setting(a_gang(copies=2, nodes=3))
    found = leader_worker_set(setting, setting.replica.spec.engines[0])
    spec = found["spec"]
    assert found["metadata"]["name"] == names.gang_workload(setting.replica.name, "qwen3-coder")
    assert (spec["replicas"], spec["leaderWorkerTemplate"]["size"]) == (2, 4)
    leader = spec["leaderWorkerTemplate"]["leaderTemplate"]["metadata"]["labels"]
    worker = spec["leaderWorkerTemplate"]["workerTemplate"]["metadata"]["labels"]
    assert leader["modelplane.ai/lws-role"] == "leader"
    assert "modelplane.ai/lws-role" not in worker
    assert leader["modelplane.ai/workload"] == worker["modelplane.ai/workload"] == found["metadata"]["name"]


def test_a_clique_set() -> None:
    setting = a_setting(a_gang(copies=2, nodes=3), stack="Dynamo")
    found = clique_set(setting, setting.replica.spec.engines[0])
    assert found["metadata"]["name"] == "qwen3-coder-414d1-5af9f"
    template = found["spec"]["template"]
    assert found["spec"]["replicas"] == 1
    assert template["terminationDelay"] == "4h"
    assert template["headlessServiceConfig"] == {"publishNotReadyAddresses": True}
    leader, worker = template["cliques"]
    assert (leader["name"], leader["spec"]["replicas"], leader["spec"]["minAvailable"]) == ("leader", 1, 1)
    assert (worker["name"], worker["spec"]["replicas"], worker["spec"]["minAvailable"]) == ("worker", 3, 3)
    assert template["podCliqueScalingGroups"] == [
        {"name": "gang", "cliqueNames": ["leader", "worker"], "replicas": 2, "minAvailable": 1}
    ]
    for clique in (leader, worker):
        assert clique["labels"]["kai.scheduler/queue"] == "modelplane"
        assert clique["spec"]["podSpec"]["schedulerName"] == "kai-scheduler"
        assert "startsAfter" not in clique["spec"]
        assert "labels" not in clique["spec"]["podSpec"]
    assert leader["labels"]["modelplane.ai/clique-role"] == "leader"
    assert "modelplane.ai/clique-role" not in worker["labels"]


@pytest.mark.parametrize("replica", [LONGEST, "0" + LONGEST[1:]])
def test_names_leave_room_for_what_controllers_add(replica: str) -> None:
    """D16, and Grove's own check: set, scaling group and clique together are 45 characters at most."""
    engine = "e" * 63
    setting = Setting(replica=a_replica([a_gang(engine)], name=replica))
    gang = leader_worker_set(setting, setting.replica.spec.engines[0])["metadata"]["name"]
    assert len(gang) <= 51
    assert gang != replica
    assert gang[0].isalpha()
    clique = clique_set(setting, setting.replica.spec.engines[0])["metadata"]["name"]
    assert len(clique + "gang" + "worker") <= 45
