"""`make demo` as it is played, and what it leaves behind once it is stopped as it says."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from engine.fleets import ROOT, free_port

from stacks.state import held_resources

pytestmark = [pytest.mark.engine, pytest.mark.cluster, pytest.mark.timeout(3600)]


def run(*command: str, fleet: Path | None = None, seconds: float = 1800) -> "subprocess.CompletedProcess[str]":
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("PULUMI_", "MODELPLANE_F"))}
    if fleet:
        variables |= {"MODELPLANE_FLEET": str(fleet), "PATH": f"{ROOT}/.venv/bin:{variables['PATH']}"}
    return subprocess.run(
        command, cwd=ROOT, env=variables, capture_output=True, text=True, check=False, timeout=seconds
    )


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Where a demo plays; what runs of it is ended, however far it came."""
    yield tmp_path / "demo"
    down = run(sys.executable, "-m", "cli", "local", "down", "--discard-state", "-f", str(tmp_path / "demo" / "fleet"))
    assert down.returncode == 0, down.stderr


def test_the_demo_plays_to_its_end_and_is_stopped_as_it_says(folder: Path) -> None:
    address = f"127.0.0.1:{free_port()}"
    played = run(sys.executable, "-m", "local.demo", "--folder", str(folder), "--address", address)
    sys.stderr.write(played.stdout + played.stderr)
    assert played.returncode == 0
    assert re.search(r"^The first answer came \d+ s after the demo began\.", played.stdout, re.MULTILINE)
    assert "0 resources changed in 9 stacks" in played.stdout
    assert re.search(r"^  mock-demo +180 ", played.stdout, re.MULTILINE)
    assert re.search(r"^  mock-demo-v2 +20 ", played.stdout, re.MULTILINE)

    stop = played.stdout.partition("\nStop:\n")[2].splitlines()[0].strip()
    assert shlex.split(stop)[0] == "modelplane", "it says how it is stopped"
    stopped = run("bash", "-c", stop, fleet=folder / "fleet")
    assert stopped.returncode == 0, stopped.stderr
    assert held_resources(folder / "fleet") == {}
    assert not (folder / "fleet" / ".modelplane" / "local").exists()
