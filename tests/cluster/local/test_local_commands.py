"""`modelplane local …` as a user types it."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from cluster.local.running import Eventually, Running

from local import processes

pytestmark = pytest.mark.cluster


def modelplane(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "cli", "local", *(str(argument) for argument in arguments)]
    environment = os.environ | processes.python_path()
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=300)


def test_status_lists_every_part_for_people_and_for_programs(east: Running) -> None:
    table = modelplane("status", "-f", east.directory)
    assert (table.returncode, table.stderr) == (0, "")
    head, *rows = table.stdout.splitlines()
    assert head.split() == ["CLUSTER", "PART", "STATE", "PID", "ADDRESS"]
    assert len(rows) == len(east.parts()) == 15
    told = json.loads(modelplane("status", "-f", east.directory, "-o", "json").stdout)
    assert {f"{part['cluster']}/{part['part']}": part["pid"] for part in told} == {
        name: part.pid for name, part in east.parts().items()
    }
    assert all(Path(part["log"]).exists() for part in told)


def test_a_dead_part_is_named_and_up_says_what_it_started(east: Running, eventually: Eventually) -> None:
    os.kill(east.parts()["hub/gateway"].pid, signal.SIGKILL)
    eventually(lambda: east.parts()["hub/gateway"].state == "dead", 10)
    status = modelplane("status", "-f", east.directory)
    assert status.returncode == 1
    assert status.stderr == "dead: hub/gateway\nhint: `modelplane local up` starts what is missing\n"
    up = modelplane("up", "-f", east.directory)
    assert up.returncode == 0, up.stderr
    assert up.stdout == ""
    started, summary = up.stderr.splitlines()
    assert started.startswith("hub/gateway: started")
    assert f"15 parts run, the hub answers at http://127.0.0.1:{east.port}" in summary
    assert modelplane("status", "-f", east.directory).returncode == 0


def test_a_shell_talks_to_the_cluster_that_was_named(east: Running) -> None:
    nodes = modelplane("shell", "east", "-f", east.directory, "-c", "kubectl get nodes -o name")
    assert nodes.returncode == 0, nodes.stderr
    assert set(nodes.stdout.split()) == {"node/system-0", "node/h100-0", "node/h100-1"}
    unknown = modelplane("shell", "west", "-f", east.directory)
    assert unknown.returncode == 1
    assert "no cluster west of this fleet is up" in unknown.stderr
    assert "there are hub, east" in unknown.stderr


def test_a_traffic_shell_is_inside_the_private_network(east: Running) -> None:
    inside = "readlink /proc/self/ns/net; kubectl get namespace default -o name"
    shell = modelplane("shell", "--traffic", "-f", east.directory, "-c", inside)
    assert shell.returncode == 0, shell.stderr
    assert shell.stdout.split() == [f"net:[{east.state.namespace}]", "namespace/default"]


def test_where_nothing_is_up_every_command_says_so(tmp_path: Path) -> None:
    status = modelplane("status", "-f", tmp_path, "-o", "json")
    assert (status.returncode, json.loads(status.stdout)) == (0, [])
    assert "`modelplane local up` starts it" in status.stderr
    down = modelplane("down", "-f", tmp_path)
    assert (down.returncode, down.stderr) == (0, "no local fleet is up\n")
    shell = modelplane("shell", "-f", tmp_path)
    assert shell.returncode == 1
    assert "`modelplane local up` starts the fleet" in shell.stderr
    assert list(tmp_path.iterdir()) == []
