"""Why pods do not serve: the worst reason, in the kubelet's words, the same in every run."""

from typing import Any

import pytest

from components.pod_reasons import LONGEST_MESSAGE, is_ready, last_words, trouble, worst

Plain = dict[str, Any]
SINCE = "2026-08-01T00:00:00Z"


def a_pod(name: str = "p", *, conditions: Plain | None = None, phase: str = "Running", **status: Any) -> Plain:
    """A pod; conditions are statuses by type, or whole conditions."""
    found = [
        {"type": kind, **(given if isinstance(given, dict) else {"status": given})}
        for kind, given in (conditions or {}).items()
    ]
    return {"metadata": {"name": name, "namespace": "ns"}, "status": {"phase": phase, "conditions": found, **status}}


def a_container(name: str = "engine", *, last: Plain | None = None, **state: Plain) -> Plain:
    return {"name": name, "state": state, "lastState": {"terminated": last} if last else {}}


CRASHED = a_pod(
    containerStatuses=[
        a_container(
            waiting={"reason": "CrashLoopBackOff"}, last={"exitCode": 1, "reason": "Error", "message": "no NIXL"}
        )
    ]
)
PULLING = a_pod(containerStatuses=[a_container(waiting={"reason": "ImagePullBackOff", "message": "no such image"})])
NO_SECRET = a_pod(
    containerStatuses=[
        a_container(waiting={"reason": "CreateContainerConfigError", "message": 'secret "hf" not found'})
    ]
)
UNSCHEDULED = {"status": "False", "reason": "Unschedulable", "message": "0/3 nodes are available"}
CLAIMS = [{"name": "devices", "resourceClaimName": "p-devices-x"}]
UNCLAIMED = a_pod(phase="Pending", conditions={"PodScheduled": UNSCHEDULED}, resourceClaimStatuses=CLAIMS)
LOADING = a_pod(conditions={"Ready": {"status": "False", "lastTransitionTime": SINCE}})
WELL = a_pod(conditions={"Ready": "True"})

CASES: dict[str, tuple[Plain, str | None, str]] = {
    "it crashes": (CRASHED, "CrashLoopBackOff", "engine in pod p ends with 1 (Error), no NIXL"),
    "it ended a moment ago": (
        a_pod(containerStatuses=[a_container(terminated={"exitCode": 137, "reason": "OOMKilled"})]),
        "CrashLoopBackOff",
        "engine in pod p ends with 137 (OOMKilled)",
    ),
    "its image is not there": (PULLING, "ImagePullBackOff", "engine in pod p: no such image"),
    "its Secret is not there": (NO_SECRET, "CreateContainerConfigError", 'engine in pod p: secret "hf" not found'),
    "no device for its claim": (
        UNCLAIMED,
        "ClaimNotAllocated",
        "no node has the devices that claim p-devices-x of pod p asks for: 0/3 nodes are available",
    ),
    "no node has room": (
        a_pod(phase="Pending", conditions={"PodScheduled": UNSCHEDULED}),
        "Unschedulable",
        "pod p: 0/3 nodes are available",
    ),
    "it loads": (LOADING, "NotReady", f"pod p runs and is not ready since {SINCE}"),
    "it serves": (WELL, None, ""),
    "it is just being made": (
        a_pod(phase="Pending", containerStatuses=[a_container(waiting={"reason": "ContainerCreating"})]),
        None,
        "",
    ),
    "it was made a moment ago": ({"metadata": {"name": "p"}}, None, ""),
}


@pytest.mark.parametrize(("pod", "reason", "message"), CASES.values(), ids=CASES)
def test_the_trouble_of_a_pod(pod: Plain, reason: str | None, message: str) -> None:
    found = trouble(pod, {("ns", "p-devices-x")})
    assert (found.reason if found else None) == reason
    assert (found.message if found else "") == message


def test_a_claim_that_was_allocated_is_not_what_a_pod_waits_for() -> None:
    found = trouble(UNCLAIMED, set())
    assert found is not None
    assert found.reason == "Unschedulable"


def test_the_worst_pod_speaks() -> None:
    """D19 and a crash beside a pod that loads."""
    for pods, reason in (
        ([LOADING, UNCLAIMED, CRASHED], "CrashLoopBackOff"),
        ([LOADING, UNCLAIMED, PULLING], "ImagePullBackOff"),
        ([LOADING, UNCLAIMED], "ClaimNotAllocated"),
        ([WELL, LOADING], "NotReady"),
    ):
        found = worst(pods, {("ns", "p-devices-x")})
        assert found is not None
        assert found.reason == reason
    assert worst([WELL]) is None
    assert worst([]) is None


def test_a_long_message_is_cut() -> None:
    pod = a_pod(containerStatuses=[a_container(waiting={"reason": "ErrImagePull", "message": "x" * 1000})])
    found = trouble(pod)
    assert found is not None
    assert len(found.message) == LONGEST_MESSAGE


def test_a_pod_that_is_being_ended_is_not_ready() -> None:
    assert is_ready(WELL)
    assert not is_ready(LOADING)
    assert not is_ready({**WELL, "metadata": {"name": "p", "deletionTimestamp": SINCE}})


def test_last_words() -> None:
    ended = a_pod(containerStatuses=[a_container("hydrate", terminated={"exitCode": 12, "message": "full"})])
    assert last_words(ended, "hydrate") == "full"
    assert last_words(ended, "engine") == ""
    assert last_words(CRASHED, "engine") == "no NIXL"
    assert last_words(WELL, "engine") == ""
