"""When a Deployment serves: only with its newest template observed and every pod of it ready."""

from typing import Any

import pytest

from components.readiness import (
    Readiness,
    counted,
    deployment_readiness,
    readiness_of,
    replica_readiness,
    together,
)

Plain = dict[str, Any]

SERVING = {"observedGeneration": 3, "replicas": 2, "updatedReplicas": 2, "readyReplicas": 2, "availableReplicas": 2}

CASES: dict[str, tuple[Plain, Plain, Plain, Readiness]] = {
    "it was made a moment ago and has no status": (
        {"replicas": 2},
        {"generation": 1},
        {},
        Readiness(ready=False, reason="Deploying", message="the cluster has not acted on it yet"),
    ),
    "its status is about an older template": (
        {"replicas": 2},
        {"generation": 4},
        SERVING,
        Readiness(ready=False, reason="Deploying", message="the cluster has not acted on it yet"),
    ),
    "it rolls, and all that is ready are old pods": (
        {"replicas": 2},
        {"generation": 3},
        SERVING | {"updatedReplicas": 0, "readyReplicas": 2},
        Readiness(ready=False, reason="ModelStarting", message="0 of 2 pods ready"),
    ),
    "it rolls, one new pod is ready and one old one is left": (
        {"replicas": 2},
        {"generation": 3},
        SERVING | {"updatedReplicas": 1, "readyReplicas": 2},
        Readiness(ready=False, reason="ModelStarting", message="1 of 2 pods ready"),
    ),
    "an old pod has not gone yet": (
        {"replicas": 2},
        {"generation": 3},
        SERVING | {"replicas": 3},
        Readiness(ready=False, reason="ModelStarting", message="2 of 2 pods ready"),
    ),
    "a pod is loading its model": (
        {"replicas": 2},
        {"generation": 3},
        SERVING | {"readyReplicas": 1},
        Readiness(ready=False, reason="ModelStarting", message="1 of 2 pods ready"),
    ),
    "no pod is ready, so the count is left out": (
        {"replicas": 1},
        {"generation": 1},
        {"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "unavailableReplicas": 1},
        Readiness(ready=False, reason="ModelStarting", message="0 of 1 pods ready"),
    ),
    "it is scaled up, and the new pods are not there yet": (
        {"replicas": 4},
        {"generation": 3},
        SERVING,
        Readiness(ready=False, reason="ModelStarting", message="2 of 4 pods ready"),
    ),
    "it is scaled to 0": (
        {"replicas": 0},
        {"generation": 2},
        {"observedGeneration": 2},
        Readiness(ready=True, reason="Serving", message="0 of 0 pods ready"),
    ),
    "it is scaled to 0 and a pod is still there": (
        {"replicas": 0},
        {"generation": 2},
        {"observedGeneration": 2, "replicas": 1, "readyReplicas": 1},
        Readiness(ready=False, reason="ModelStarting", message="0 of 0 pods ready"),
    ),
    "replicas is left out and means one": (
        {},
        {"generation": 1},
        {"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "readyReplicas": 1},
        Readiness(ready=True, reason="Serving", message="1 of 1 pods ready"),
    ),
    "all pods are new and ready": (
        {"replicas": 2},
        {"generation": 3},
        SERVING,
        Readiness(ready=True, reason="Serving", message="2 of 2 pods ready"),
    ),
    "numbers came over the wire as floats": (
        {"replicas": 2.0},
        {"generation": 3.0},
        {key: float(value) for key, value in SERVING.items()},
        Readiness(ready=True, reason="Serving", message="2 of 2 pods ready"),
    ),
    "fields are null": (
        {"replicas": None},
        {"generation": 1},
        {"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "readyReplicas": None},
        Readiness(ready=False, reason="ModelStarting", message="0 of 1 pods ready"),
    ),
}


@pytest.mark.parametrize(("spec", "metadata", "status", "want"), CASES.values(), ids=CASES)
def test_readiness(spec: Plain, metadata: Plain, status: Plain, want: Readiness) -> None:
    assert deployment_readiness(spec, metadata, status) == want


READY = Readiness(ready=True, reason="Serving", message="1 of 1 pods ready")
STARTING = Readiness(ready=False, reason="ModelStarting", message="0 of 1 pods ready")
DEPLOYING = Readiness(ready=False, reason="Deploying", message="the cluster has not acted on it yet")

TOGETHER = {
    "one engine that serves": ([READY], READY),
    "every engine serves": ([READY, READY], READY),
    "the engine that does not serve speaks": ([READY, STARTING], STARTING),
    "the first of several that do not serve speaks": ([DEPLOYING, STARTING], DEPLOYING),
}


@pytest.mark.parametrize(("parts", "want"), TOGETHER.values(), ids=TOGETHER)
def test_a_replica_is_ready_when_all_its_engines_are(parts: list[Readiness], want: Readiness) -> None:
    assert together(parts) == want


def test_nothing_applied_is_not_ready() -> None:
    assert not together([]).ready


def _available(status: str = "True", **fields: Any) -> Plain:
    return {"type": "Available", "status": status, "reason": "r", "message": "m"} | fields


GANGS: dict[str, tuple[str, Plain, Plain, Plain, tuple[bool, str, str]]] = {
    "LWS: all gangs serve": (
        "LeaderWorkerSet",
        {"replicas": 2},
        {"generation": 3},
        {"replicas": 2, "readyReplicas": 2, "updatedReplicas": 2, "conditions": [_available()]},
        (True, "Serving", "2 of 2 gangs ready"),
    ),
    "LWS: no status": ("LeaderWorkerSet", {"replicas": 2}, {"generation": 1}, {}, (False, "Deploying", "")),
    "LWS: one gang of two": (
        "LeaderWorkerSet",
        {"replicas": 2},
        {"generation": 3},
        {"replicas": 2, "readyReplicas": 1, "updatedReplicas": 2, "conditions": [_available()]},
        (False, "ModelStarting", "1 of 2 gangs ready"),
    ),
    "LWS: an older template serves": (
        "LeaderWorkerSet",
        {"replicas": 1},
        {"generation": 3},
        {"replicas": 1, "readyReplicas": 1, "updatedReplicas": 0, "conditions": [_available()]},
        (False, "ModelStarting", "0 of 1 gangs ready"),
    ),
    "LWS: available, said of an older generation": (
        "LeaderWorkerSet",
        {"replicas": 1},
        {"generation": 3},
        {"replicas": 1, "readyReplicas": 1, "updatedReplicas": 1, "conditions": [_available(observedGeneration=2)]},
        (False, "Deploying", ""),
    ),
    "LWS: a gang too many has not gone": (
        "LeaderWorkerSet",
        {"replicas": 1},
        {"generation": 3},
        {"replicas": 2, "readyReplicas": 2, "updatedReplicas": 2, "conditions": [_available()]},
        (False, "ModelStarting", "2 of 1 gangs ready"),
    ),
    "Grove: available": (
        "PodCliqueSet",
        {"replicas": 1},
        {"generation": 3},
        {"observedGeneration": 3, "availableReplicas": 1, "replicas": 1},
        (True, "Serving", "1 of 1 sets available"),
    ),
    "Grove: said of an older generation": (
        "PodCliqueSet",
        {"replicas": 1},
        {"generation": 3},
        {"observedGeneration": 2, "availableReplicas": 1},
        (False, "Deploying", ""),
    ),
    "Grove: not available": (
        "PodCliqueSet",
        {"replicas": 1},
        {"generation": 3},
        {"observedGeneration": 3, "replicas": 1},
        (False, "ModelStarting", "0 of 1 sets available"),
    ),
    "Grove: an update is under way": (
        "PodCliqueSet",
        {"replicas": 1},
        {"generation": 3},
        {"observedGeneration": 3, "availableReplicas": 1, "updateProgress": {"updateStartedAt": "then"}},
        (False, "ModelStarting", "an update is under way"),
    ),
    "Grove: no replicas are wanted": (
        "PodCliqueSet",
        {},
        {"generation": 3},
        {"observedGeneration": 3},
        (False, "ModelStarting", "0 of 0 sets available"),
    ),
}


@pytest.mark.parametrize(("kind", "spec", "metadata", "status", "want"), GANGS.values(), ids=GANGS)
def test_when_a_gang_serves(
    kind: str, spec: Plain, metadata: Plain, status: Plain, want: tuple[bool, str, str]
) -> None:
    found = readiness_of(kind, spec, metadata, status)
    assert (found.ready, found.reason) == want[:2]
    assert not want[2] or found.message == want[2]


SERVES = Readiness(ready=True, reason="Serving", message="1 of 1 sets available")


def test_a_set_is_ready_when_all_its_gangs_were_seen_to_be() -> None:
    """Grove calls a set available with its first gang."""
    assert counted(SERVES, None, 2) == SERVES
    assert counted(SERVES, 1, 2) == Readiness(ready=False, reason="ModelStarting", message="1 of 2 gangs ready")
    assert counted(SERVES, 2, 2) == Readiness(ready=True, reason="Serving", message="2 of 2 gangs ready")


@pytest.mark.parametrize(
    ("status", "ready"), [({}, False), ({"availableReplicas": 0}, False), ({"availableReplicas": 1}, True)]
)
def test_a_picker_answers_while_a_pod_of_it_does(status: dict[str, int], ready: bool) -> None:
    assert (
        readiness_of("Picker", {"replicas": 1}, {"generation": 9}, {"observedGeneration": 8, **status}).ready is ready
    )


STARTS = Readiness(ready=False, reason="ModelStarting", message="0 of 1 pods ready")


@pytest.mark.parametrize(
    ("engine", "picker", "was_ready", "want"),
    [
        (SERVES, None, False, (True, "Serving")),
        (SERVES, SERVES, False, (True, "Serving")),
        (SERVES, STARTS, False, (False, "PickerStarting")),
        (SERVES, STARTS, True, (False, "PickerDown")),
        (STARTS, SERVES, True, (False, "ModelStarting")),
        (STARTS, STARTS, True, (False, "ModelStarting")),
    ],
)
def test_a_picker_that_is_down_is_told_apart_from_an_engine_that_is(
    engine: Readiness, picker: Readiness | None, was_ready: bool, want: tuple[bool, str]
) -> None:
    found = replica_readiness([engine], picker, was_ready=was_ready)
    assert (found.ready, found.reason) == want
