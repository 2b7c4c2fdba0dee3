"""What a replica is said to be doing, with the trouble of its worst pod."""

from typing import Any

import pytest
from states import a_claim, a_replica_state, an_engine_entry, an_entry

from api import names
from components.readiness import Readiness
from programs.outputs import LedgerEngine, LedgerMember
from programs.pod_look import PodLook
from programs.replica_state import Watched, told, workload_name

Plain = dict[str, Any]
SERVES = Readiness(ready=True, reason="Serving", message="1 of 1 pods ready")
STARTS = Readiness(ready=False, reason="ModelStarting", message="0 of 1 pods ready")


def a_gang_entry(copies: int = 2) -> LedgerEngine:
    (plain,) = an_engine_entry().members
    roles: tuple[Any, ...] = ("Leader", "Worker")
    members = tuple(
        LedgerMember(
            role=role, node_pool_name="gpu", device_requests=(a_claim(),), template=plain.template, facts=plain.facts
        )
        for role in roles
    )
    return LedgerEngine(name="main", copies=copies, members=members)


ALONE = an_entry()
GANG = an_entry(engines=(a_gang_entry(),))


def pod(name: str, *, ready: bool = False, crashes: bool = False, serving: bool = True) -> Plain:
    statuses = [
        {
            "name": "engine",
            "state": {"waiting": {"reason": "CrashLoopBackOff"}},
            "lastState": {"terminated": {"exitCode": 1}},
        }
    ]
    return {
        "metadata": {"name": name, "labels": {names.LABEL_SERVING: "r"} if serving else {}},
        "status": {
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": "True" if ready else "False", "lastTransitionTime": "then"}],
            "containerStatuses": statuses if crashes else [],
        },
    }


def seeing(entry: Any, stack: Any, *pods: Plain) -> PodLook:
    _, name = workload_name(entry.name, entry.engines[0], stack)
    return PodLook(answered=True, workloads={(entry.namespace, name): pods})


def watched(entry: Any = ALONE, look: PodLook | None = None, *, stack: Any = "Standard", **fields: Any) -> Watched:
    plain: Plain = {"entry": entry, "stack": stack, "look": look or PodLook(), "before": None, "template_hash": "h"}
    return Watched(**(plain | fields))


def before(*, ready: bool = True, template_hash: str = "h") -> Any:
    return a_replica_state(ALONE, ready=ready, template_hash=template_hash)


def test_the_object_that_runs_an_engine() -> None:
    assert workload_name("r", ALONE.engines[0], "Dynamo") == ("Deployment", names.engine_workload("r", "main"))
    assert workload_name("r", GANG.engines[0], "Standard") == ("LeaderWorkerSet", names.gang_workload("r", "main"))
    assert workload_name("r", GANG.engines[0], "Dynamo") == ("PodCliqueSet", names.clique_set("r", "main"))


def test_a_replica_that_serves_is_not_asked_about_its_pods() -> None:
    look = seeing(ALONE, "Standard", pod("old", crashes=True))
    assert told(watched(look=look), {"main": SERVES}, None) == SERVES


def test_the_worst_pod_says_why() -> None:
    look = seeing(ALONE, "Standard", pod("a"), pod("b", crashes=True))
    found = told(watched(look=look), {"main": STARTS}, None)
    assert found.reason == "CrashLoopBackOff"
    assert found.message == "0 of 1 pods ready; CrashLoopBackOff: engine in pod b ends with 1"


def test_a_pod_that_loads_is_starting_and_says_since_when() -> None:
    """D14."""
    found = told(watched(look=seeing(ALONE, "Standard", pod("a"))), {"main": STARTS}, None)
    assert found.reason == "ModelStarting"
    assert found.message.endswith("pod a runs and is not ready since then")


def test_a_secret_that_nothing_brings_is_named() -> None:
    look = seeing(ALONE, "Standard", pod("b", crashes=True))
    found = told(watched(look=look, missing=["Secret ml-team/hf"]), {"main": STARTS}, None)
    assert found.message.endswith("; nothing brings Secret ml-team/hf")


def test_where_nobody_answers_the_workloads_speak() -> None:
    assert told(watched(), {"main": STARTS}, None) == STARTS


@pytest.mark.parametrize(("ready", "want"), [(1, False), (2, True)])
def test_a_set_of_cliques_is_ready_with_all_its_gangs(ready: int, want: bool) -> None:
    pods = [pod(str(each), ready=each < ready) for each in range(2)]
    workers = [pod("worker", ready=True, serving=False)] * 2
    found = told(watched(GANG, seeing(GANG, "Dynamo", *pods, *workers), stack="Dynamo"), {"main": SERVES}, None)
    assert found.ready is want
    assert found.message.startswith(f"{ready} of 2 gangs ready")


def test_a_gang_that_is_changed_in_this_run_is_not_ready_yet() -> None:
    """Its status does not say which template it is about."""
    changed = watched(GANG, before=before(template_hash="old"))
    assert told(changed, {"main": SERVES}, None).reason == "Deploying"
    assert told(watched(GANG, before=before()), {"main": SERVES}, None) == SERVES
    assert told(watched(ALONE, before=before(template_hash="old")), {"main": SERVES}, None) == SERVES


def test_a_picker_that_goes_down_takes_its_replica_out_of_rotation() -> None:
    assert told(watched(before=before()), {"main": SERVES}, STARTS).reason == "PickerDown"
    assert not told(watched(before=before()), {"main": SERVES}, STARTS).ready
    assert told(watched(before=before(ready=False)), {"main": SERVES}, STARTS).reason == "PickerStarting"
    assert not told(watched(before=before()), {"main": STARTS}, SERVES).ready
