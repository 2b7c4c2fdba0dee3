"""Runs that are stopped, cancelled or killed, and runs side by side, with the real engine and no cluster.

The clusters' API servers refuse connections, and the hub's takes them and never answers, so that its engine hangs.
"""

import getpass
import json
import os
import random
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from engine.fleets import Scratch, free_port
from engine.runs import GONE_SECONDS, checkpoint, marked, running, wait_until

from api.errors import InvocationError, LockHeld, ModelplaneError
from api.loader import load
from api.names import StackName
from programs.probe import Answer
from stacks.engine import Engine
from stacks.environment import environment_of
from stacks.operation import Operation, ProgramBug

pytestmark = [pytest.mark.engine, pytest.mark.timeout(300)]

EAST, WEST = "gpu-us-east", "gpu-eu-west"
REPETITIONS = 3


def kubeconfig(port: int) -> str:
    cluster = {"name": "it", "cluster": {"server": f"http://127.0.0.1:{port}"}}
    context = {"name": "it", "context": {"cluster": "it", "user": "it"}}
    users = [{"name": "it", "user": {"token": "a-token"}}]
    plain = {"apiVersion": "v1", "kind": "Config", "clusters": [cluster], "contexts": [context], "users": users}
    return json.dumps({**plain, "current-context": "it"})


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scratch]:
    for name in ("PULUMI_BACKEND_URL", "PULUMI_CONFIG_PASSPHRASE", "PULUMI_CONFIG_PASSPHRASE_FILE"):
        monkeypatch.delenv(name, raising=False)
    scratch = Scratch(tmp_path / "fleet")
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(50)
        for cluster, port in (("hub", silent.getsockname()[1]), (EAST, free_port()), (WEST, free_port())):
            file = scratch.kubeconfig(cluster)
            file.parent.mkdir(parents=True)
            file.write_text(kubeconfig(port))
        yield scratch
    assert not marked(scratch.directory)


def an_engine(fleet: Scratch, said: list[str] | None = None) -> Engine:
    return Engine(environment_of(fleet.directory), load(fleet.directory), say=(said if said is not None else []).append)


def test_an_engine_that_hangs_is_ended_with_a_killed_run_and_by_a_second_ctrl_c(fleet: Scratch, tmp_path: Path) -> None:
    for victims, seconds in (("driver", "engine"), 5.0), (("driver",), GONE_SECONDS):
        with running(fleet.directory, tmp_path / "runs", "up", "--wait", "5s") as run:
            wait_until(run.providers, 60, "the hub's provider runs")
            run.kill(*victims)
            run.ended(5)
            wait_until(lambda: not marked(fleet.directory), seconds, "engine and provider are gone")
    assert "took over the lock of a run that was killed: pid " in run.said
    assert "demo.gateway: took over the lock of an engine that was killed: pid " in run.said
    with running(fleet.directory, tmp_path / "runs", "up", "-o", "json", "--wait", "5s") as run:
        wait_until(run.providers, 60, "the hub's provider runs again")
        run.interrupt()
        wait_until(lambda: "stopping: " in run.said, 5, "the first Ctrl-C is told")
        assert run.engines(), "and lets the engine be"
        run.interrupt()
        done = run.ended(30)
    assert not marked(fleet.directory)
    assert done.code == 8, done.err
    assert "took over the lock of a run that was killed: pid " in done.err
    assert "cancelling: 1 engine is told to end" in done.err
    report = done.json()
    assert report["exitCode"] == 8
    assert {"demo.gateway", "demo.placement", "demo.routing"} <= set(report["notDone"])
    assert "demo.cluster.gpu-us-east" not in report["notDone"]
    [error] = report["errors"]
    assert (error["code"], error["where"]) == ("MP308", "stack demo.gateway")
    assert "Traceback" not in done.err
    assert "Warning" not in done.err
    assert not (fleet.directory / ".modelplane" / "pass.lock").exists()


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program with a bug, for the cluster in the west."""
    real = "programs.cluster.probe"

    def probe(kubeconfig: str, **_: Any) -> Answer:
        if kubeconfig == WEST:
            raise ZeroDivisionError
        return Answer(reachable=False, reason="Unreachable: not asked")

    monkeypatch.setattr(real, probe)


def test_side_by_side_one_program_that_raises_disturbs_no_other(fleet: Scratch, broken: None) -> None:
    repeat(fleet, REPETITIONS)


def repeat(fleet: Scratch, times: int) -> None:
    """Three stacks at a time of which one or two raise; each keeps to itself, and nothing is left of any."""
    for cluster in (EAST, WEST):
        fleet.kubeconfig(cluster).write_text(cluster)
    names = {"good": EAST, "bug": WEST, "refused": "not-there"}
    stacks = [StackName("demo", "cluster", name) for name in names.values()]
    engine = an_engine(fleet)
    order = random.Random(times)
    for _ in range(times):
        order.shuffle(stacks)
        with ThreadPoolExecutor(3) as pool:
            done = {it.stack.cluster: it for it in pool.map(lambda stack: engine.up(stack, refresh=False), stacks)}
        assert {name: type(done[cluster].error) for name, cluster in names.items()} == {
            "good": type(None),
            "bug": ProgramBug,
            "refused": InvocationError,
        }
        assert "not-there" in error_of(done["not-there"]).message
        assert "ZeroDivisionError" in error_of(done[WEST]).message
        for stack in stacks:
            outputs = engine.outputs(stack) or {}
            assert outputs.get("cluster") == (EAST if stack.cluster == EAST else None)
            text = checkpoint(fleet.directory, str(stack)).read_text()
            assert [other for other in names.values() if other != stack.cluster and f"cluster.{other}::" in text] == []
        assert not marked(fleet.directory)


def error_of(operation: Operation) -> ModelplaneError:
    assert operation.error is not None
    return operation.error


GATE = StackName("demo", "cluster", EAST)


def leave_lock(fleet: Scratch, **facts: Any) -> Path:
    folder = fleet.directory / ".modelplane" / "state" / ".pulumi" / "locks" / "organization" / "modelplane" / str(GATE)
    folder.mkdir(parents=True, exist_ok=True)
    plain = {"pid": 0, "username": "root", "hostname": socket.gethostname(), "timestamp": datetime.now(UTC).isoformat()}
    file = folder / "12345678-0000-0000-0000-000000000000.json"
    file.write_text(json.dumps(plain | facts))
    return file


def test_the_lock_of_a_dead_engine_is_taken_over_and_any_other_is_respected(fleet: Scratch) -> None:
    said: list[str] = []
    engine = an_engine(fleet, said)
    assert engine.up(GATE, refresh=False).ok
    user = {"username": getpass.getuser()}

    for facts, words in ({"hostname": "elsewhere"}, "pulumi cancel"), ({"pid": os.getpid()}, "wait for it"):
        file = leave_lock(fleet, **user, **facts)
        held = error_of(engine.up(GATE, refresh=False))
        assert isinstance(held, LockHeld)
        assert held.exit_code == 24
        assert held.where == f"stack {GATE}"
        assert str(facts.get("hostname", f"pid {os.getpid()}")) in held.message
        assert words in held.hint
        assert file.exists()
    assert said == []

    with running(fleet.directory, fleet.directory / "runs", "version") as dead:
        dead.ended(60)
    file = leave_lock(fleet, **user, pid=dead.process.pid)
    assert engine.up(GATE, refresh=False).ok
    [line] = said
    assert line.startswith(f"{GATE}: took over the lock of an engine that was killed: pid {dead.process.pid} of ")
    assert not file.exists()
