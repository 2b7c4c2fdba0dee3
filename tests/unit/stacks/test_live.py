"""Waiting for replicas, on a clock of the test's own: until all are ready, or a little after the last, or in vain."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx2
import pytest
from lightkube import ApiError
from lightkube.resources.apps_v1 import Deployment

from stacks import live
from stacks.live import SETTLE_SECONDS, Waiting, wait_for_change

READY = {"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "readyReplicas": 1}
STARTING = {"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1}
SPEC: dict[str, Any] = {"replicas": 1, "selector": {}, "template": {}}
NEVER = 1e9


@dataclass
class Clock:
    time: float = 100.0
    slept: list[float] = field(default_factory=list)

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        assert seconds > 0, "a loop without a pause"
        self.slept.append(seconds)
        self.time += seconds


@dataclass
class Client:
    """A cluster whose Deployments become ready at a time each; one that is not named is not there."""

    clock: Clock
    ready_at: dict[str, float]
    failing: Exception | None = None
    closed: bool = False

    def get(self, kind: type[Deployment], name: str, namespace: str) -> Deployment:
        assert kind is Deployment
        if self.failing:
            raise self.failing
        if name not in self.ready_at:
            raise _refused(404)
        status = READY if self.clock.time >= self.ready_at[name] else STARTING
        metadata = {"name": name, "namespace": namespace, "generation": 1}
        return Deployment.from_dict({"metadata": metadata, "spec": SPEC, "status": status})  # type: ignore[return-value]  # typed as its base

    def close(self) -> None:
        self.closed = True


def _refused(code: int) -> ApiError:
    request = httpx2.Request("GET", "http://cluster/")
    answer = httpx2.Response(code, request=request, json={"code": code, "message": "no"})
    return ApiError(request=request, response=answer)


Wait = Callable[..., dict[str, set[str]]]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def wait(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> Wait:
    """Wait at clusters for all their Deployments, a replica each, called like them."""

    def waited(clusters: dict[str, Client], seconds: float, extra: tuple[str, ...] = ()) -> dict[str, set[str]]:
        monkeypatch.setattr(live, "connect", clusters.__getitem__)
        asked: dict[str, Any] = {
            name: (name, [Waiting(key, "ml-team", (key,)) for key in (*client.ready_at, *extra)])
            for name, client in clusters.items()
        }
        found = wait_for_change(asked, clock.time + seconds, now=clock.now, sleep=clock.sleep)
        assert all(client.closed for client in clusters.values())
        return found

    return waited


def test_it_ends_as_soon_as_all_are_ready(wait: Wait, clock: Clock) -> None:
    clusters = {"us": Client(clock, {"a": 103.0}), "eu": Client(clock, {"b": 105.0})}
    assert wait(clusters, 600) == {"us": {"a"}, "eu": {"b"}}
    assert 105 <= clock.time < 106


def test_it_does_not_wait_at_all_where_all_are_ready(wait: Wait, clock: Clock) -> None:
    assert wait({"us": Client(clock, {"a": 0.0})}, 600) == {"us": {"a"}}
    assert clock.slept == []


def test_it_ends_a_little_after_the_last_that_became_ready(wait: Wait, clock: Clock) -> None:
    """One refresh for several replicas that come up together, and none is kept from traffic by one that never does."""
    clusters = {"us": Client(clock, {"a": 110.0, "b": 112.0, "c": NEVER})}
    assert wait(clusters, 600) == {"us": {"a", "b"}}
    assert 112 + SETTLE_SECONDS < clock.time < 112 + SETTLE_SECONDS + 2


def test_it_ends_at_the_deadline(wait: Wait, clock: Clock) -> None:
    assert wait({"us": Client(clock, {"a": NEVER})}, 60) == {}
    assert clock.time == pytest.approx(160)


def test_it_does_not_begin_after_the_deadline(wait: Wait, clock: Clock) -> None:
    assert wait({"us": Client(clock, {"a": 0.0})}, 0) == {}
    assert clock.slept == []


def test_what_is_not_there_yet_is_waited_for(wait: Wait, clock: Clock) -> None:
    assert wait({"us": Client(clock, {"a": 0.0})}, 10, extra=("absent",)) == {"us": {"a"}}


SILENT = {
    "it refuses": _refused(403),
    "it breaks": _refused(500),
    "it cannot be reached": httpx2.ConnectError("no route"),
    "it takes too long": httpx2.ReadTimeout("too long"),
    "it says something else": ValueError("not JSON"),
}


@pytest.mark.parametrize("failing", SILENT.values(), ids=SILENT)
def test_a_cluster_that_does_not_answer_is_not_waited_for(wait: Wait, clock: Clock, failing: Exception) -> None:
    clusters = {"us": Client(clock, {"a": NEVER}, failing=failing), "eu": Client(clock, {"b": 104.0})}
    assert wait(clusters, 600) == {"eu": {"b"}}
    assert clock.time < 106


def test_nobody_answers(wait: Wait, clock: Clock) -> None:
    assert wait({"us": Client(clock, {"a": 0.0}, failing=_refused(500))}, 600) == {}
    assert clock.time < 102


def test_a_cluster_whose_kubeconfig_cannot_be_used_is_not_waited_for() -> None:
    garbage = {"us": ("not a kubeconfig", [Waiting("a", "ml-team", ("a",))])}
    assert wait_for_change(garbage, 1e9) == {}


def test_a_replica_of_several_engines_is_ready_when_all_are(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    client = Client(clock, {"prefill": 101.0, "decode": 107.0})
    monkeypatch.setattr(live, "connect", lambda _: client)
    both = {"us": ("us", [Waiting("replica", "ml-team", ("prefill", "decode"))])}
    assert wait_for_change(both, clock.time + 600, now=clock.now, sleep=clock.sleep) == {"us": {"replica"}}
    assert 107 <= clock.time < 108
