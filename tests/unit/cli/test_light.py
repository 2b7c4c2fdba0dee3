"""Looking at a fleet costs little: neither Pulumi nor an SDK is loaded, and no other program is started."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from states import an_entry, cluster_outputs, earlier, gateway_outputs
from unit.cli.running import ROOT

from programs.outputs import Outputs
from stacks.exported import SIGNATURE, STACK_TYPE

HEAVY = ("pulumi", "pulumi_kubernetes", "grpc", "lightkube")
ALONE = f"""
import subprocess, sys
import cli
def refused(*told, **_):
    raise AssertionError(told)
subprocess.Popen = refused
code = cli.main(sys.argv[1:])
assert not (loaded := set({HEAVY!r}) & sys.modules.keys()), loaded
sys.exit(code)
"""
ENTRY = an_entry("mock-demo", "gpu-us-east")
EXPORTED: dict[str, Outputs] = {
    "demo.cluster.gpu-us-east": cluster_outputs("gpu-us-east"),
    "demo.gateway": gateway_outputs(),
    "demo.placement": earlier(ENTRY),
}
ANSWERS = {
    "status": "mock-demo",
    "status -o yaml": "gpu-us-east",
    "get modeldeployments": "mock-demo",
    "get mr -o name": ENTRY.name,
    "describe mr": ENTRY.name,
    "stacks": "demo.cluster.gpu-us-east",
    "validate --against-state": "ok",
}
"""A word of each command's answer once it has read these."""


@pytest.fixture
def state(fleet: Path) -> Path:
    """The example's fleet with states of three stacks, one of which holds a secret."""
    folder = fleet / ".modelplane" / "state" / ".pulumi" / "stacks" / "modelplane"
    folder.mkdir(parents=True)
    for name, outputs in EXPORTED.items():
        plain = {**outputs.plain(), "kubeconfig": {SIGNATURE: "1b47061264138c4ac30d75fd1eb44270", "ciphertext": "x"}}
        root = {"type": STACK_TYPE, "urn": f"urn:pulumi:{name}::modelplane::{STACK_TYPE}::it", "outputs": plain}
        (folder / f"{name}.json").write_text(
            json.dumps({"version": 3, "checkpoint": {"stack": name, "latest": {"resources": [root]}}})
        )
    return fleet


@pytest.mark.parametrize("command", ANSWERS)
def test_it_takes_no_pulumi_to_look(state: Path, command: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ALONE, *command.split(), "-f", str(state)],
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if not name.startswith(("PULUMI_", "MODELPLANE_F"))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert ANSWERS[command] in done.stdout
    assert "ciphertext" not in done.stdout
