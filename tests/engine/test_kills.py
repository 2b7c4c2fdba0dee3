"""An `up` of the example that is stopped or killed: nothing keeps running, and the next one ends where it would have.

Each test takes the fleet as the one before it leaves it.

Kills come at moments drawn from a seed, which is printed; MODELPLANE_SEED sets it. `make soak` has more of them.
"""

import json
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from engine.fleets import Scratch
from engine.kills import SEED
from engine.runs import (
    checkpoint,
    ends_like,
    killed_up,
    locks,
    marked,
    objects,
    running,
    state,
    tell,
    wait_until,
    whole,
)
from ruamel.yaml import YAML

pytestmark = [pytest.mark.engine, pytest.mark.cluster, pytest.mark.timeout(600)]

HOLD = "local.modelplane.ai/hold"
KILLS = [
    (("driver", "engine", "provider"), (0.0, 3.0)),
    (("provider",), (3.0, 9.0)),
    (("driver", "engine"), (3.0, 9.0)),
]
"""Who is killed, and between which seconds after the first engine was there."""


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scratch]:
    scratch = Scratch(tmp_path_factory.mktemp("kills") / "fleet")
    with scratch.clusters_up():
        yield scratch


@pytest.fixture(scope="module")
def undisturbed(fleet: Scratch) -> dict[str, Any]:
    """What an `up` comes to that nobody disturbs; the fleet is taken down again."""
    up = fleet.run("up", "--wait", "2m")
    assert up.code == 0, up.err
    found = whole(fleet)
    down = fleet.run("destroy", "--yes")
    assert down.code == 0, down.err
    return found


def hold_engines(fleet: Scratch, *, hold: bool) -> None:
    """Let the example's engines run without becoming ready, or no longer."""
    file = fleet.directory / "mock-demo.yaml"
    document = YAML(typ="safe").load(file.read_text())
    for engine in document["spec"]["template"]["spec"]["engines"]:
        for member in engine["members"]:
            annotations = member["template"].setdefault("metadata", {}).setdefault("annotations", {})
            annotations.pop(HOLD, None)
            if hold:
                annotations[HOLD] = "true"
    file.write_text(json.dumps(document))


def test_up_ends_where_it_would_have_ended_though_it_was_killed(
    fleet: Scratch, undisturbed: dict[str, Any], tmp_path: Path
) -> None:
    tell(f"MODELPLANE_SEED={SEED}")
    moments = random.Random(SEED)
    for victims, between in KILLS:
        killed_up(fleet, tmp_path / "runs", victims, moments.uniform(*between))
    ends_like(fleet, undisturbed)


def test_ctrl_c_ends_a_wait_at_once_and_tells_what_is_not_done(
    fleet: Scratch, undisturbed: dict[str, Any], tmp_path: Path
) -> None:
    hold_engines(fleet, hold=True)
    with running(fleet.directory, tmp_path / "runs", "up", "-o", "json", "--wait", "5m") as run:
        wait_until(lambda: "waiting for 1 replica to become ready" in run.said, 180, "the run waits for replicas")
        began = time.monotonic()
        run.interrupt()
        done = run.ended(20)
        tell(f"ended after {time.monotonic() - began:.1f} s")
    assert done.code == 8, done.err
    assert "stopping: what runs is finished, nothing new is begun" in done.err
    report = done.json()
    assert len(report["starting"]) == 1, "replicas change one at a time"
    assert report["errors"] == []
    assert (locks(fleet.directory), marked(fleet.directory)) == ([], [])

    hold_engines(fleet, hold=False)
    ends_like(fleet, undisturbed)


def interrupt_creation(fleet: Scratch, stack: str, kind: str) -> str:
    """Make the state as if the engine had been killed while it created an object; what the object is called."""
    file = checkpoint(fleet.directory, stack)
    plain = json.loads(file.read_text())
    latest = plain["checkpoint"]["latest"]
    entry = next(it for it in latest["resources"] if it["type"] == kind)
    latest["resources"].remove(entry)
    latest["pending_operations"] = [{"type": "creating", "resource": {**entry, "id": "", "outputs": {}}}]
    file.write_text(json.dumps(plain))
    return str(entry["urn"]).rpartition("::")[2]


def test_destroy_can_be_stopped_and_takes_what_an_interrupted_creation_made(fleet: Scratch, tmp_path: Path) -> None:
    route = interrupt_creation(fleet, "demo.routing", "kubernetes:gateway.networking.k8s.io/v1:HTTPRoute")
    with running(fleet.directory, tmp_path / "runs", "destroy", "--yes", "-o", "json") as run:
        wait_until(lambda: "demo.routing  " in run.said, 120, "the first stack is gone")
        run.interrupt()
        done = run.ended(60)
    assert done.code == 8, done.err
    assert f"demo.routing: HTTPRoute {route}: interrupted while creating, found and kept" in done.err
    report = done.json()
    assert "demo.routing" not in report["notDone"]
    assert {"demo.gateway", "demo.cluster.gpu-us-east"} <= set(report["notDone"])
    assert report["errors"] == []
    assert (locks(fleet.directory), marked(fleet.directory)) == ([], [])

    down = fleet.run("destroy", "--yes")
    assert down.code == 0, down.err
    assert objects(fleet) == {}
    assert state(fleet.directory) == {}
