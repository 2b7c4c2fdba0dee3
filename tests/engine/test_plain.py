"""Plain Pulumi and the driver on the same stacks: made by one, the other finds nothing to change.

The steps build on each other and run in the order they are written in; one fleet is made twice, once by each.
"""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from engine.fleets import ROOT, Done, Scratch
from ruamel.yaml import YAML

pytestmark = [pytest.mark.engine, pytest.mark.cluster, pytest.mark.timeout(1200)]

EAST = "gpu-us-east"
STACKS = [
    "demo.gateway",
    "demo.cluster.gpu-eu-west",
    "demo.cluster.gpu-us-east",
    "demo.serving.gpu-eu-west",
    "demo.serving.gpu-us-east",
    "demo.placement",
    "demo.workloads.gpu-eu-west",
    "demo.workloads.gpu-us-east",
    "demo.routing",
]
CREATED = [*STACKS[:2], STACKS[3], STACKS[2], *STACKS[4:6], STACKS[8], *STACKS[6:8]]
"""The same in the order of the script, which brings a cluster's serving up before the next cluster."""


class Fleet(Scratch):
    """The scratch fleet, with what plain Pulumi and the driver make of it."""

    def preview(self, stack: str, *arguments: str, **variables: str) -> Done:
        return self.pulumi("preview", "--expect-no-changes", "--stack", stack, *arguments, **variables)

    @property
    def settings(self) -> Path:
        return self.directory / ".modelplane" / "work"

    def changed(self) -> dict[str, int]:
        """What `modelplane up` changes, by stack."""
        up = self.run("up", "-o", "json", "--wait", "3m")
        assert up.code == 0, up.err
        return {name: stack["changed"] for name, stack in up.json()["stacks"].items()}


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    scratch = Fleet(tmp_path_factory.mktemp("plain") / "fleet")
    beside = set(ROOT.iterdir())
    with scratch.clusters_up():
        try:
            yield scratch
            assert set(ROOT.iterdir()) <= beside, "plain Pulumi left a file in the checkout"
        finally:
            scratch.run("destroy", "--yes")


def errors(done: Done) -> list[str]:
    """What the engine tells of its stack below `Diagnostics:`, without warnings."""
    _, _, told = done.out.partition("Diagnostics:\n")
    told, _, _ = told.partition("\nResources:")
    lines = [line.strip() for line in told.splitlines()[1:]]
    return [line for line in lines if line and not line.startswith("warning:")]


def test_a_stack_before_those_it_reads_names_the_first_one(fleet: Fleet) -> None:
    stack = f"demo.workloads.{EAST}"
    assert fleet.pulumi("stack", "select", "--create", stack).code == 0
    up = fleet.pulumi("up", "--yes", "--skip-preview", "--stack", stack)
    assert up.code != 0
    assert errors(up) == [
        f"error: MP302: the outputs of demo.cluster.{EAST} are not there yet",
        "hint: bring that stack up first",
    ]
    assert "Traceback" not in up.out + up.err


def test_a_stack_of_another_fleet_is_refused(fleet: Fleet) -> None:
    assert fleet.pulumi("stack", "select", "--create", "prod.placement").code == 0
    first, _ = errors(fleet.pulumi("preview", "--stack", "prod.placement"))
    assert first == f"error: MP136: stack prod.placement: the documents in {fleet.directory} are those of fleet demo"
    assert fleet.pulumi("stack", "rm", "--yes", "prod.placement").code == 0


def test_what_the_driver_made_plain_pulumi_finds_right(fleet: Fleet) -> None:
    up = fleet.run("up", "--wait", "3m")
    assert up.code == 0, up.err
    for stack in STACKS:
        preview = fleet.preview(stack)
        assert preview.code == 0, f"{stack}:\n{preview.out}{preview.err}"
        assert errors(preview) == []
    assert sorted(path.name for path in fleet.settings.iterdir()) == sorted(
        ["Pulumi.yaml", *(f"Pulumi.{stack}.yaml" for stack in STACKS)]
    )


def test_the_directory_of_the_configuration_wins_over_the_variable(fleet: Fleet, tmp_path: Path) -> None:
    assert fleet.preview("demo.placement", MODELPLANE_FLEET="/nowhere").code != 0
    own = tmp_path / "settings.yaml"
    own.write_text(json.dumps({"config": {"modelplane:fleet": str(fleet.directory)}}))
    named = fleet.preview("demo.placement", "--config-file", str(own), MODELPLANE_FLEET="/nowhere")
    assert named.code == 0, named.out + named.err


def test_the_checkout_is_a_project_of_its_own(fleet: Fleet, tmp_path: Path) -> None:
    own = tmp_path / "settings.yaml"
    preview = fleet.preview("demo.placement", "--cwd", str(ROOT), "--config-file", str(own))
    assert preview.code == 0, preview.out + preview.err


def test_settings_that_are_lost_come_back_from_the_state(fleet: Fleet) -> None:
    file = fleet.settings / "Pulumi.demo.gateway.yaml"
    salt = YAML(typ="safe").load(file.read_text())["encryptionsalt"]
    file.unlink()
    assert fleet.pulumi("refresh", "--yes", "--skip-preview", "--stack", "demo.gateway").code == 0
    assert YAML(typ="safe").load(file.read_text())["encryptionsalt"] == salt


def test_plain_pulumi_takes_routing_down_and_brings_it_back(fleet: Fleet) -> None:
    down = fleet.pulumi("destroy", "--yes", "--skip-preview", "--stack", "demo.routing")
    assert down.code == 0, down.out
    assert fleet.objects("hub", "httproutes", "-l", "modelplane.ai/fleet=demo") == []
    up = fleet.pulumi("up", "--yes", "--skip-preview", "--stack", "demo.routing")
    assert up.code == 0, up.out
    assert set(fleet.changed().values()) == {0}
    assert fleet.ask().deployment == "mock-demo"


@pytest.fixture(scope="module")
def scripted(fleet: Fleet, tmp_path_factory: pytest.TempPathFactory) -> Done:
    """The fleet taken down, and made again by the script as it is printed."""
    gone = fleet.run("destroy", "--yes")
    assert gone.code == 0, gone.err
    folder = tmp_path_factory.mktemp("script")
    script = fleet.run("stacks", "--order")
    assert script.code == 0, script.err
    done = subprocess.run(
        ["sh"],
        input=script.out,
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(folder)},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert list(folder.iterdir()) == [], "a kubeconfig is left"
    return Done(done.returncode, done.stdout, done.stderr)


def test_the_script_runs_as_it_is_printed(scripted: Done) -> None:
    assert scripted.code == 0, scripted.out + scripted.err
    assert scripted.err.splitlines() == [f"Created stack '{stack}'" for stack in CREATED]


def test_what_the_script_made_answers(fleet: Fleet, scripted: Done) -> None:
    assert fleet.count(20) == {"mock-demo": 20}


def test_what_the_script_made_the_driver_finds_right(fleet: Fleet, scripted: Done) -> None:
    preview = fleet.run("preview", "--expect-no-changes")
    assert preview.code == 0, preview.out + preview.err
    assert fleet.changed() == dict.fromkeys(STACKS, 0)
