"""Parts that die, and fleets that are half there: named, brought back, or gone for good."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from cluster.local.manifests import TEAM, a_whole_route, an_engine
from cluster.local.running import Eventually, Running

from api.errors import LocalFleetError
from local import fleet, namespace, network, processes
from local import state as remembered

pytestmark = pytest.mark.cluster

PARTS = [
    "east/etcd",
    "east/kube-apiserver",
    "east/kube-controller-manager",
    "east/kube-scheduler",
    "east/kwok-controller",
    "hub/etcd",
    "hub/kube-apiserver",
    "hub/gateway",
    "traffic/relay",
    "traffic/engine",
    "traffic/node",
    "traffic/namespace",
]
RECOVERY_SECONDS = 300
"""Controllers back off for up to 47 s after an API server was away, and the node leases of a killed KWOK last 200."""


def kill(running: Running, *names: str) -> None:
    for name in names:
        os.kill(running.parts()[name].pid, signal.SIGKILL)


def is_answering(running: Running) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{running.port}/{TEAM}/mock/health", timeout=10) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


@pytest.fixture(scope="module")
def routed(east: Running, eventually: Eventually) -> Running:
    """The fleet `east` with an engine that answers through both gateways."""
    a_whole_route(east, eventually)
    eventually(lambda: is_answering(east), RECOVERY_SECONDS)
    return east


@pytest.mark.parametrize("name", PARTS)
def test_a_killed_part_is_named_and_comes_back_alone(routed: Running, name: str, eventually: Eventually) -> None:
    before = routed.parts()
    inode = routed.state.namespace
    kill(routed, name)
    eventually(lambda: routed.parts()[name].state == "dead", 10)
    assert [other for other, part in routed.parts().items() if part.state == "dead"] == [name]
    after = routed.up()
    assert {part.state for part in after.values()} == {"running"}
    assert {other for other in after if after[other].pid != before[other].pid} == {name}
    assert routed.state.namespace == inode

    fresh = f"after-{name.replace('/', '-')}"
    routed.apply("east", *an_engine(fresh, gpus=1))
    try:

        def is_new_engine_up() -> bool:
            pods = routed.get("east", "pods", "-n", TEAM, "-l", f"modelplane.ai/serving={fresh}")["items"]
            addresses = [pod["status"].get("podIP") for pod in pods]
            return bool(addresses and addresses[0]) and routed.fetch(f"http://{addresses[0]}:8000/health")[0] == 200

        eventually(is_new_engine_up, RECOVERY_SECONDS)
        eventually(lambda: is_answering(routed), RECOVERY_SECONDS)
        pods = routed.get("east", "pods", "-A")["items"]
        addresses = [pod["status"]["podIP"] for pod in pods if pod["status"].get("podIP")]
        assert len(set(addresses)) == len(addresses)
    finally:
        routed.kubectl("east", "delete", "-n", TEAM, f"deployment/{fresh}", f"resourceclaimtemplate/{fresh}")


def test_everything_in_the_network_at_once_can_die(routed: Running, eventually: Eventually) -> None:
    before = routed.parts()
    inside = ["traffic/namespace", "traffic/engine", "traffic/relay", "hub/gateway", "traffic/node"]
    kill(routed, *inside)
    eventually(lambda: sum(part.state == "dead" for part in routed.parts().values()) == len(inside), 10)
    after = routed.up()
    assert {name for name in after if after[name].pid != before[name].pid} == set(inside)
    eventually(lambda: is_answering(routed), RECOVERY_SECONDS)


def test_a_recycled_pid_is_neither_taken_for_a_part_nor_ended(scratch: Running) -> None:
    scratch.up()
    bystander = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    try:
        kill(scratch, "hub/kube-scheduler", "traffic/engine")
        state = scratch.state
        for name in ("hub/kube-scheduler", "traffic/engine"):
            state.parts[name].pid = bystander.pid
        remembered.save(state, scratch.home)
        pids = scratch.home / ".kwok/clusters/hub/pids/kube-scheduler.pid"
        pids.write_text(str(bystander.pid))
        assert scratch.parts()["hub/kube-scheduler"].state == "dead"
        parts = scratch.up()
        assert bystander.pid not in {part.pid for part in parts.values()}
        state = scratch.state
        state.parts["traffic/engine"].pid = bystander.pid
        remembered.save(state, scratch.home)
        assert scratch.down()
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


def test_down_leaves_no_process_namespace_port_or_file(scratch: Running) -> None:
    scratch.up()
    parts, inode = scratch.parts(), scratch.state.namespace
    assert namespaces(inode)
    assert fleet.down(scratch.directory, held={"demo.gateway": 3}, discard_state=True)
    assert not [part for part in parts.values() if processes.identify(part.pid)]
    assert not processes.marked(scratch.home)
    assert not namespaces(inode)
    assert network.is_free("127.0.0.1", scratch.port)
    assert sorted(path.name for path in scratch.directory.iterdir()) == ["fleet.yaml"]
    assert fleet.status(scratch.directory) == ()
    assert not scratch.down()


def namespaces(inode: int) -> list[int]:
    """The processes in a network namespace."""
    pids = (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())
    return [pid for pid in pids if namespace.inode(pid) == inode]


def test_down_is_refused_while_stacks_hold_resources(east: Running) -> None:
    held = {"demo.workloads.east": 4, "demo.gateway": 0}
    with pytest.raises(LocalFleetError) as refused:
        fleet.down(east.directory, held=held)
    assert refused.value.error_code == "MP509"
    assert "demo.workloads.east (4)" in str(refused.value)
    assert "demo.gateway" not in str(refused.value)
    assert "modelplane destroy" in refused.value.hint
    assert {part.state for part in east.parts().values()} == {"running"}


def test_a_hub_port_in_use_is_named_before_anything_starts(scratch: Running) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", scratch.port))
        other.listen()
        with pytest.raises(LocalFleetError) as refused:
            scratch.up()
    assert refused.value.error_code == "MP504"
    assert f"127.0.0.1:{scratch.port} is in use by" in str(refused.value)
    assert f"({os.getpid()})" in str(refused.value)
    assert not processes.marked(scratch.home)


def take(listener: socket.socket, port: int) -> None:
    """Listen on a port as soon as the process that had it is gone."""
    deadline = time.monotonic() + 30
    while True:
        try:
            listener.bind(("127.0.0.1", port))
        except OSError:
            assert time.monotonic() < deadline, f"port {port} does not become free"
            time.sleep(0.1)
        else:
            listener.listen()
            return


def test_a_components_port_in_use_is_named(east: Running) -> None:
    port = int(east.parts()["hub/kwok-controller"].address.rpartition(":")[2])
    kill(east, "hub/kwok-controller")
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        take(other, port)
        with pytest.raises(LocalFleetError) as refused:
            east.up()
    assert refused.value.error_code == "MP504"
    assert "hub/kwok-controller" in str(refused.value)
    assert str(port) in str(refused.value)
    east.up()


def test_a_component_that_does_not_start_is_named_with_the_end_of_its_log(scratch: Running) -> None:
    scratch.up()
    kill(scratch, "hub/etcd", "hub/kube-apiserver")
    for log in (scratch.home / ".kwok/clusters/hub/etcd/member/wal").iterdir():
        log.write_bytes(b"not a log")
    with pytest.raises(LocalFleetError) as refused:
        scratch.up()
    assert refused.value.error_code == "MP505"
    assert str(refused.value).startswith("hub: etcd did not start; the last lines of ")
    assert "\n  | " in str(refused.value)
    assert scratch.down()
    assert not processes.marked(scratch.home)


@pytest.fixture
def interrupted(scratch: Running) -> Running:
    """A fleet whose `up` was killed while its cluster was being made."""
    code = f"""
from pathlib import Path
from api.loader import load
from local.fleet import up
from local.plan import make_plan

up(make_plan(load(Path({str(scratch.directory)!r}))), progress=lambda line: print(line, flush=True))
"""
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=os.environ | processes.python_path()) as starting:
        assert starting.stdout
        for line in starting.stdout:
            if b"starting etcd" in line:
                break
        starting.kill()
    return scratch


def test_up_goes_on_after_a_killed_up(interrupted: Running) -> None:
    parts = interrupted.up()
    assert {part.state for part in parts.values()} == {"running"}
    known = {part.pid for part in parts.values()}
    strangers = {found.pid for found in processes.marked(interrupted.home)} - known
    assert {processes.parent(pid) for pid in strangers} <= {parts["traffic/relay"].pid, parts["traffic/node"].pid}


def test_down_ends_what_a_killed_up_left(interrupted: Running) -> None:
    assert interrupted.down()
    assert not processes.marked(interrupted.home)
    assert not interrupted.home.exists()


def test_down_works_without_a_usable_state(scratch: Running) -> None:
    scratch.up()
    (scratch.home / "state.json").write_text("{")
    with pytest.raises(LocalFleetError, match=r"state\.json"):
        scratch.parts()
    assert scratch.down()
    assert not processes.marked(scratch.home)


def test_down_finds_the_processes_of_a_removed_folder(scratch: Running) -> None:
    scratch.up()
    shutil.rmtree(scratch.home)
    assert fleet.exists(scratch.directory)
    assert scratch.down()
    assert not processes.marked(scratch.home)


def test_a_copied_directory_is_no_part_of_the_fleet(east: Running, tmp_path: Path) -> None:
    copy = tmp_path / "fleet"
    shutil.copytree(east.directory, copy, ignore=shutil.ignore_patterns("*.sock"))
    with pytest.raises(LocalFleetError) as refused:
        fleet.status(copy)
    assert refused.value.error_code == "MP508"
    assert fleet.down(copy, held={})
    assert not copy.joinpath(".modelplane").exists()
    assert {part.state for part in east.parts().values()} == {"running"}
