"""Replicas that move while requests flow: drains, rolls, dead clusters and clusters that leave. Real parts throughout.

The fleet has room for three replicas: two nodes on gpu-eu-west, one on gpu-us-east. Steps build on each other.
"""

import json
import re
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from engine.fleets import Scratch

pytestmark = [pytest.mark.engine, pytest.mark.cluster, pytest.mark.timeout(1200)]

EAST, WEST = "gpu-us-east", "gpu-eu-west"
BOTH = [{"selector": {"matchLabels": {"modelplane.ai/deployment": "mock-demo"}}}]
CRASH = {"local.modelplane.ai/hold": "crash"}


class Fleet(Scratch):
    """The scratch fleet with edits that tests make to its documents."""

    def taint(self, cluster: str, effect: str | None) -> None:
        def change(document: dict[str, Any]) -> Any:
            document["spec"]["taints"] = [{"key": "modelplane.ai/maintenance", "effect": effect}] if effect else []
            return document

        self.edit("InferenceCluster", cluster, change)

    @contextmanager
    def requests_flowing(self) -> Iterator["Flow"]:
        """Requests one after the other, from before the block until after it."""
        flow = Flow(self)
        flow.start()
        flow.reaches(10)
        try:
            yield flow
        finally:
            flow.reaches(flow.count + 20)
            flow.end()


class Flow(threading.Thread):
    """Sends requests until told to stop and remembers who answered and what failed."""

    def __init__(self, fleet: Scratch) -> None:
        super().__init__(daemon=True)
        self._fleet = fleet
        self._stop_now = threading.Event()
        self.answers: Counter[str] = Counter()
        self.failures: list[str] = []

    @property
    def count(self) -> int:
        return self.answers.total() + len(self.failures)

    def run(self) -> None:
        while not self._stop_now.is_set():
            try:
                self.answers[self._fleet.ask().deployment] += 1
            except OSError as error:
                self.failures.append(f"after {self.count} requests: {error}")

    def reaches(self, count: int) -> None:
        deadline = time.monotonic() + 60
        while self.count < count:
            assert time.monotonic() < deadline, "requests do not flow"
            time.sleep(0.05)

    def end(self) -> None:
        self._stop_now.set()
        self.join(30)


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    scratch = Fleet(tmp_path_factory.mktemp("moves") / "fleet")
    scratch.nodes(WEST, 2)
    with scratch.clusters_up():
        up = scratch.run("up", "--wait", "3m")
        assert up.code == 0, up.err
        yield scratch


def up(fleet: Fleet, *arguments: str) -> Any:
    return fleet.run("up", "-o", "json", "--wait", "3m", *arguments)


def readiness(fleet: Fleet) -> dict[str, str]:
    """Ready condition by replica."""
    return {
        name: {it["type"]: it["status"] for it in item["status"]["conditions"]}["Ready"]
        for (kind, name), item in fleet.status().items()
        if kind == "ModelReplica"
    }


def pin(fleet: Fleet, cluster: str | None) -> None:
    def change(document: dict[str, Any]) -> Any:
        labels = {"modelplane.ai/deployment": "mock-demo"} | ({"modelplane.ai/cluster": cluster} if cluster else {})
        document["spec"]["endpoints"] = [{"selector": {"matchLabels": labels}}]
        return document

    fleet.edit("ModelService", "mock", change)


def answering(fleet: Fleet, requests: int) -> Counter[str]:
    answers = [fleet.ask() for _ in range(requests)]
    return Counter({key.lower(): value for key, value in it.headers.items()}["x-modelplane-cluster"] for it in answers)


def test_a_pinned_service_reaches_one_cluster_and_both_again_when_unpinned(fleet: Fleet) -> None:
    assert set(fleet.replicas().values()) == {EAST, WEST}
    pin(fleet, EAST)
    assert up(fleet).code == 0
    assert answering(fleet, 60) == {EAST: 60}
    assert set(readiness(fleet).values()) == {"True"}, "the other stays ready"
    pin(fleet, None)
    assert up(fleet).code == 0
    assert answering(fleet, 60) == {EAST: 30, WEST: 30}


def test_a_drain_with_room_elsewhere_loses_no_request(fleet: Fleet) -> None:
    assert set(fleet.replicas().values()) == {EAST, WEST}
    fleet.taint(EAST, "NoExecute")
    with fleet.requests_flowing() as flow:
        done = up(fleet)
    assert done.code == 0, done.err
    assert flow.failures == []
    assert set(fleet.replicas().values()) == {WEST}
    assert fleet.objects(EAST, "deployments", "-l", "modelplane.ai/fleet=demo") == []


def test_taking_the_taint_away_moves_nothing_back(fleet: Fleet) -> None:
    fleet.taint(EAST, None)
    done = up(fleet)
    assert done.code == 0, done.err
    assert done.json()["changed"] == 0
    assert set(fleet.replicas().values()) == {WEST}


def test_a_drain_with_nowhere_to_go_gives_its_share_away_without_a_failed_request(fleet: Fleet) -> None:
    fleet.step("canary")
    fleet.edit("ModelDeployment", "mock-demo", lambda it: it["spec"].update(replicas=2) or it)
    assert up(fleet).code == 0
    assert fleet.replicas()["mock-demo-v2-5ef67"] == EAST
    fleet.taint(EAST, "NoExecute")
    with fleet.requests_flowing() as flow:
        done = up(fleet)
    assert done.code == 20, done.err
    assert flow.failures == []
    assert fleet.count(200) == {"mock-demo": 200}
    verdicts = done.json()["deployments"]["ml-team/mock-demo-v2"]["verdicts"]
    assert set(verdicts) == {EAST, WEST}
    fleet.taint(EAST, None)
    assert up(fleet).code == 0
    assert fleet.count(20) == {"mock-demo": 18, "mock-demo-v2": 2}


def annotate(fleet: Fleet, annotations: dict[str, str]) -> None:
    def change(document: dict[str, Any]) -> Any:
        template = document["spec"]["template"]["spec"]["engines"][0]["members"][0]["template"]
        template.setdefault("metadata", {})["annotations"] = annotations
        return document

    fleet.edit("ModelDeployment", "mock-demo", change)


def test_a_dead_cluster_hurts_nobody_and_a_bad_template_stops_at_one(fleet: Fleet) -> None:
    fleet.edit("ModelDeployment", "mock-demo-v2", lambda _: None)
    fleet.edit("ModelDeployment", "mock-demo", lambda it: it["spec"].update(replicas=3) or it)
    fleet.edit("ModelService", "mock", lambda it: it["spec"].update(endpoints=BOTH) or it)
    assert up(fleet).code == 0
    assert fleet.places() == {WEST: 2, EAST: 1}
    fleet.kill(EAST, "kube-apiserver")
    annotate(fleet, CRASH)
    bad = fleet.run("up", "-o", "json", "--wait", "25s")
    assert bad.code == 9, bad.err
    before = bad.json()
    assert EAST in bad.err
    found = readiness(fleet)
    west = [name for name, cluster in fleet.replicas().items() if cluster == WEST]
    assert sorted(found[name] for name in west) == ["False", "True"], "the roll stopped at the first"
    assert fleet.places() == {WEST: 2, EAST: 1}, "nothing was re-placed"
    assert before["deployments"]["ml-team/mock-demo"]["wanted"] == 3

    annotate(fleet, {"example.com/release": "2"})
    fixed = fleet.run("up", "-o", "json", "--wait", "2m")
    assert fixed.code == 22, fixed.err
    found = readiness(fleet)
    assert [found[name] for name in west] == ["True", "True"]

    assert fleet.run("local", "up").code == 0
    back = up(fleet)
    assert back.code == 0, back.err
    pods = fleet.objects(EAST, "pods", "-l", "modelplane.ai/serving")
    assert [pod["metadata"]["annotations"].get("example.com/release") for pod in pods] == ["2"], "it caught up"


def test_a_cluster_that_left_the_documents_is_held_until_it_is_named(fleet: Fleet) -> None:
    fleet.edit("ModelDeployment", "mock-demo", lambda it: it["spec"].update(replicas=2) or it)
    assert up(fleet).code == 0
    assert set(fleet.replicas().values()) == {EAST, WEST}
    fleet.edit("InferenceCluster", EAST, lambda _: None)
    with fleet.requests_flowing() as flow:
        held = up(fleet)
        assert held.code == 26, held.err
        assert f"--delete-cluster {EAST}" in held.err
        assert set(fleet.replicas().values()) == {EAST, WEST}
        gone = up(fleet, "--delete-cluster", EAST)
    assert gone.code == 0, gone.err
    assert flow.failures == []
    assert set(fleet.replicas().values()) == {WEST}
    stacks = {stack["name"] for stack in fleet.run("stacks", "-o", "json").json() if stack["exists"]}
    assert not [name for name in stacks if EAST in name]
    assert fleet.objects(EAST, "deployments,gateways,httproutes") == []


def test_the_guard_stops_what_half_a_directory_would_delete(fleet: Fleet) -> None:
    source = json.dumps(next(it for _, found in fleet.documents() for it in found if it["kind"] == "ModelDeployment"))
    for number in range(2):
        document = json.loads(source)
        document["metadata"]["name"] = f"extra-{number}"
        document["spec"]["replicas"] = 1
        (fleet.directory / f"extra-{number}.yaml").write_text(json.dumps(document))
    fleet.edit("ModelDeployment", "mock-demo", lambda it: it["spec"].update(replicas=1) or it)
    assert up(fleet).code == 20, "two of three find room"
    placed = fleet.replicas()
    assert len(placed) == 2

    for file in fleet.directory.glob("extra-*.yaml"):
        file.unlink()
    fleet.edit("ModelDeployment", "mock-demo", lambda _: None)
    refused = up(fleet)
    assert refused.code == 26, refused.err
    digest = re.search(r"--allow (\w+)", refused.err)
    assert digest is not None
    assert fleet.replicas() == placed
    assert up(fleet, "--allow", "0000000000").code == 26
    allowed = up(fleet, "--allow", digest[1])
    assert allowed.code == 0, allowed.err
    assert fleet.replicas() == {}
