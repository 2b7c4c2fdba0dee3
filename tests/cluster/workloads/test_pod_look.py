"""What is told of pods that do not serve, by a real API server and the real scheduler."""

import time
from typing import Any

from cluster.workloads.conftest import Acceptance
from replicas import CASES

from api import names
from components.pod_manifests import claim_template
from components.replica_manifests import workload
from programs.pod_look import look

NAMESPACE = "ml-team"
SECONDS = 60.0


def test_a_claim_that_no_device_answers_is_told_apart_from_starting(server: Acceptance) -> None:
    """D19: no node of this cluster has the devices."""
    setting = CASES["standalone"]
    engine = setting.replica.spec.engines[0]
    assert server.refusal(claim_template(setting, engine, engine.members[0]), dry=False) == ""
    assert server.refusal(workload(setting, engine), dry=False) == ""
    name = names.engine_workload(setting.replica.name, engine.name)
    deadline = time.monotonic() + SECONDS
    found: Any = None
    while found is None and time.monotonic() < deadline:
        seen = look(server.kubeconfig, [NAMESPACE])
        assert seen.answered
        found = seen.trouble(NAMESPACE, name)
        time.sleep(0.3)
    assert found is not None
    assert found.reason == "ClaimNotAllocated"
    assert f"pod {name}-" in found.message
    assert look(server.kubeconfig, [NAMESPACE]).ready(NAMESPACE, name) == 0


def test_a_cluster_that_does_not_answer_says_nothing() -> None:
    assert not look("no kubeconfig", [NAMESPACE]).answered
    assert look("no kubeconfig", [NAMESPACE]).ready(NAMESPACE, "any") is None
