"""What a directory's stacks hold, asked of the real Pulumi CLI, and letting go of it."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pulumi
import pytest
from pulumi import automation
from unit.cli.running import files_below

from api.documents import FleetDocuments
from api.errors import InvalidFleet, UnreadableStack
from api.names import StackName
from stacks.engine import Engine
from stacks.environment import PROJECT, environment_of
from stacks.loop.backend import state_of
from stacks.state import Pulumi, discard, has_state, held_resources, observe
from tools.locate import locate

pytestmark = [pytest.mark.engine, pytest.mark.timeout(180)]

FLEET = "apiVersion: modelplane.ai/v1alpha1\nkind: Fleet\nmetadata: {name: demo}\nspec: {}\n"


@pytest.fixture(autouse=True)
def embedded(monkeypatch: pytest.MonkeyPatch) -> None:
    """No backend or passphrase of the caller's."""
    for name in ("PULUMI_BACKEND_URL", "PULUMI_CONFIG_PASSPHRASE", "PULUMI_CONFIG_PASSPHRASE_FILE"):
        monkeypatch.delenv(name, raising=False)


def run_pulumi(directory: Path, *arguments: str, stdin: str = "") -> None:
    """Run the CLI as the driver would, on the state of a directory."""
    environment = environment_of(directory)
    subprocess.run(
        [locate("pulumi"), *arguments],
        cwd=environment.work_dir,
        env={"PATH": "/usr/bin:/bin", "HOME": str(directory), **environment.variables},
        input=stdin,
        text=True,
        check=True,
        capture_output=True,
        timeout=60,
    )


def a_stack(directory: Path, stack: str, *types: str, outputs: dict[str, Any] | None = None) -> None:
    """A stack with an entry of each type, besides what Pulumi adds by itself."""
    Engine(environment_of(directory), FleetDocuments(directory=directory)).stacks()  # makes the folders
    run_pulumi(directory, "stack", "init", stack)
    root = f"urn:pulumi:{stack}::modelplane::pulumi:pulumi:Stack::modelplane-{stack}"
    provider = f"urn:pulumi:{stack}::modelplane::pulumi:providers:pulumi::default"
    resources: list[dict[str, Any]] = [
        {"urn": root, "custom": False, "type": "pulumi:pulumi:Stack", "outputs": outputs or {}},
        {"urn": provider, "custom": True, "id": "1", "type": "pulumi:providers:pulumi", "parent": root},
    ]
    resources += [
        {"urn": f"urn:pulumi:{stack}::modelplane::{kind}::{number}", "custom": False, "type": kind, "parent": root}
        for number, kind in enumerate(types)
    ]
    deployment = {"manifest": {}, "resources": resources}
    run_pulumi(
        directory, "stack", "import", "--stack", stack, stdin=json.dumps({"version": 3, "deployment": deployment})
    )


def exporting(directory: Path, stack: str, plain: dict[str, str], secret: dict[str, Any]) -> None:
    """A stack that a program brought up, which does nothing but export."""
    environment = environment_of(directory)

    def program() -> None:
        for name, value in plain.items():
            pulumi.export(name, value)
        for name, value in secret.items():
            pulumi.export(name, pulumi.Output.secret(value))

    options = automation.LocalWorkspaceOptions(
        work_dir=str(environment.work_dir),
        env_vars=dict(environment.variables),
        pulumi_command=automation.PulumiCommand(root=str(locate("pulumi").parent.parent)),
    )
    automation.create_or_select_stack(stack, PROJECT, program, opts=options).up(color="never")


def test_without_state_nothing_is_held_and_nothing_is_written(tmp_path: Path) -> None:
    assert not has_state(environment_of(tmp_path))
    assert held_resources(tmp_path) == {}
    assert list(tmp_path.iterdir()) == []


def test_what_pulumi_adds_does_not_count_and_letting_go_forgets_all(tmp_path: Path) -> None:
    directory = tmp_path / "50 % of #1"
    directory.mkdir()
    a_stack(directory, "demo.gateway", "modelplane:index:InferenceGateway", "modelplane:index:Part")
    a_stack(directory, "demo.placement")
    a_stack(directory, "renamed.routing", "modelplane:index:ModelService")
    assert held_resources(directory) == {"demo.gateway": 2, "renamed.routing": 1}

    discard(directory)

    assert held_resources(directory) == {}
    assert (directory / ".modelplane" / "passphrase").exists()


def test_in_a_backend_that_was_named_only_the_fleets_own_stacks_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend, directory = tmp_path / "backend", tmp_path / "fleet"
    backend.mkdir()
    directory.mkdir()
    (directory / "fleet.yaml").write_text(FLEET)
    monkeypatch.setenv("PULUMI_BACKEND_URL", f"file://{backend}")
    a_stack(directory, "demo.gateway", "modelplane:index:InferenceGateway")
    a_stack(directory, "other.gateway", "modelplane:index:InferenceGateway")
    assert held_resources(directory) == {"demo.gateway": 1}

    discard(directory)

    assert held_resources(directory) == {}
    (directory / "fleet.yaml").write_text(FLEET.replace("demo", "other"))
    assert held_resources(directory) == {"other.gateway": 1}
    (directory / "fleet.yaml").write_text("kind: Fleet")
    with pytest.raises(InvalidFleet):
        held_resources(directory)


def test_outputs_are_observed_without_a_secret_and_one_that_cannot_be_read_hides_no_other(tmp_path: Path) -> None:
    engine = Engine(environment_of(tmp_path), FleetDocuments(directory=tmp_path))
    engine.stacks()
    exporting(tmp_path, "demo.gateway", {"address": "203.0.113.1"}, {"kubeconfig": "keep out"})
    a_stack(tmp_path, "demo.placement", outputs={"version": 1, "deployments": {"ml-team/qwen": {"wanted": "many"}}})
    before = files_below(tmp_path / ".modelplane" / "state")

    outputs, problems = observe(engine.environment, "demo")

    assert outputs.gateway is not None
    assert (outputs.gateway.address, outputs.gateway.kubeconfig) == ("203.0.113.1", "[secret]")
    assert outputs.placement is None
    (problem,) = problems
    assert isinstance(problem, UnreadableStack)
    assert "demo.placement" in problem.message
    assert files_below(tmp_path / ".modelplane" / "state") == before


def test_what_files_of_a_backend_tell_is_what_the_cli_tells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine(environment_of(tmp_path), FleetDocuments(directory=tmp_path))
    engine.stacks()
    secret = {"kubeconfig": "keep out", "credentials": {"user": "keep out"}}
    exporting(tmp_path, "demo.gateway", {"address": "203.0.113.1"}, secret)
    pulumi = Pulumi(engine.environment)
    read, asked = pulumi.read, list[tuple[str, ...]]()
    monkeypatch.setattr(pulumi, "read", lambda *arguments: asked.append(arguments) or read(*arguments))

    told = pulumi.outputs("demo.gateway"), pulumi.resources("demo.gateway")
    assert asked == []
    monkeypatch.setattr("stacks.loop.backend.state_of", lambda *_: None)
    assert (pulumi.outputs("demo.gateway"), pulumi.resources("demo.gateway")) == told
    assert asked == [("demo.gateway", "output", "--json"), ("demo.gateway", "export")]
    assert told == ({"address": "203.0.113.1", "kubeconfig": "[secret]", "credentials": "[secret]"}, 0)


def test_outputs_in_a_folder_are_read_without_the_cli_unless_they_hold_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = Engine(environment_of(tmp_path), FleetDocuments(directory=tmp_path))
    engine.stacks()
    exporting(tmp_path, "demo.gateway", {"address": "203.0.113.1"}, {"kubeconfig": "keep out"})
    exporting(tmp_path, "demo.placement", {"version": "1"}, {})
    for stack in ("demo.gateway", "demo.placement"):
        found = state_of(engine.environment, stack)
        assert found is not None
        assert found["deployment"] == engine.exported(StackName(*stack.split(".")))["deployment"]

    started: list[tuple[str, ...]] = []
    run = engine._run
    monkeypatch.setattr(engine, "_run", lambda *arguments: started.append(arguments) or run(*arguments))
    assert engine.outputs("demo.placement") == {"version": "1"}
    assert started == []
    assert engine.outputs("demo.gateway") == {"address": "203.0.113.1", "kubeconfig": "keep out"}
    assert engine.outputs("demo.routing") is None
    assert len(started) == 2
