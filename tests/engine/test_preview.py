"""Previews with the real engine: on nothing, after an up, and after an edit; and that no server is ever called.

The steps on one fleet build on each other and run in the order they are written in.
"""

import base64
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from engine.fleets import COMMAND_SECONDS, ROOT, Done, Scratch
from ruamel.yaml import YAML
from unit.cli.running import files_below

pytestmark = [pytest.mark.engine, pytest.mark.cluster, pytest.mark.timeout(900)]

SECRET = "a-token-that-must-stay-secret"
CHANGES = ("create", "update", "replace", "delete")
STACKS = (
    "demo.gateway",
    "demo.cluster.gpu-eu-west",
    "demo.cluster.gpu-us-east",
    "demo.serving.gpu-eu-west",
    "demo.serving.gpu-us-east",
    "demo.placement",
    "demo.workloads.gpu-eu-west",
    "demo.workloads.gpu-us-east",
    "demo.routing",
)


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scratch]:
    """The example with one replica, a service that sends a tenth elsewhere, and its local fleet up."""
    scratch = Scratch(tmp_path_factory.mktemp("preview") / "fleet")
    edit(scratch, replicas=1, weights=(90, 10))
    outside = {"url": "http://10.64.99.99:8000/", "rewritePath": "/"}
    write(scratch, "ModelEndpoint", "outside", outside, labels={"place": "outside"})
    with scratch.clusters_up():
        yield scratch


def write(fleet: Scratch, kind: str, name: str, spec: dict[str, Any], **metadata: Any) -> None:
    document = {
        "apiVersion": "modelplane.ai/v1alpha1",
        "kind": kind,
        "metadata": {"name": name, "namespace": "ml-team", **metadata},
        "spec": spec,
    }
    (fleet.directory / f"{kind}-{name}.json").write_text(json.dumps(document))


def edit(fleet: Scratch, *, replicas: int, weights: tuple[int, int]) -> None:
    """So many replicas of the model, and these weights of it and of the endpoint outside."""
    file = fleet.directory / "mock-demo.yaml"
    file.write_text(re.sub(r"replicas: \d+", f"replicas: {replicas}", file.read_text(), count=1))
    (fleet.directory / "mock.yaml").unlink(missing_ok=True)
    selectors = ({"modelplane.ai/deployment": "mock-demo"}, {"place": "outside"})
    entries = [
        {"weight": weight, "selector": {"matchLabels": labels}}
        for weight, labels in zip(weights, selectors, strict=True)
    ]
    write(fleet, "ModelService", "mock", {"endpoints": entries})


def quietly(fleet: Scratch, *arguments: str, file: Path) -> Done:
    """Run the CLI where every API server of the fleet is down; fails when one was called."""
    files = sorted((fleet.directory / ".modelplane" / "local").glob("*/kubeconfig"))
    ports = [re.findall(r"server: https?://127\.0\.0\.1:(\d+)", file.read_text())[0] for file in files]
    assert len(ports) == 3
    quiet = [sys.executable, str(ROOT / "tests/engine/quiet.py"), ",".join(ports), str(file)]
    done = subprocess.run(
        [*quiet, sys.executable, "-m", "cli", *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "MODELPLANE_FLEET": str(fleet.directory)},
        capture_output=True,
        text=True,
        timeout=COMMAND_SECONDS,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert file.read_text() == "0", "an API server was called"
    return Done(done.returncode, done.stdout, done.stderr)


def own_files(fleet: Scratch) -> dict[str, bytes]:
    """Everything in the fleet directory but what belongs to the running local fleet."""
    return {name: text for name, text in files_below(fleet.directory).items() if "/local/" not in name}


def counts(report: dict[str, Any]) -> dict[str, dict[str, int]]:
    """Changes of each stack by kind, without zeros: of a preview, or of an up."""
    return {
        name: {kind: stack["changes"][kind] for kind in CHANGES if stack["changes"].get(kind)}
        for name, stack in report["stacks"].items()
    }


def resources(report: dict[str, Any], stack: str) -> list[str]:
    return [
        f"{found['operation']} {found['type'].rpartition(':')[2]}" for found in report["stacks"][stack]["resources"]
    ]


@pytest.fixture(scope="module")
def first(fleet: Scratch, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the preview on an empty backend says."""
    before = own_files(fleet)
    done = quietly(fleet, "preview", "-o", "json", file=tmp_path_factory.mktemp("calls") / "count")
    assert done.code == 0, done.err
    assert own_files(fleet) == before, "no stack, passphrase, setting or lock is left"
    found: dict[str, Any] = done.json()
    return found


def test_on_an_empty_backend_with_the_servers_down_every_level_is_shown(first: dict[str, Any]) -> None:
    assert tuple(first["stacks"]) == STACKS
    (placed,) = first["ledger"]
    assert (placed["operation"], placed["name"]) == ("place", "ml-team/mock-demo-be445")
    assert resources(first, "demo.workloads.gpu-eu-west").count("create Deployment") == 1
    weights = {
        found["endpoint"]: (found["before"], found["after"]) for found in first["services"]["ml-team/mock"]["weights"]
    }
    assert weights == {"ml-team/mock-demo-be445": (None, 9), "ml-team/outside": (None, 1)}
    assert first["assumed"]
    assert first["errors"] == []


def test_no_assumed_value_is_shown_for_a_real_one(fleet: Scratch, first: dict[str, Any]) -> None:
    text = json.dumps(first)
    assert "assumed.invalid" not in text
    assert first["services"]["ml-team/mock"]["address"] == f"http://127.0.0.1:{fleet.port}/ml-team/mock", (
        "that is known"
    )


def test_its_counts_are_those_of_the_up_that_follows(fleet: Scratch, first: dict[str, Any]) -> None:
    up = fleet.run("up", "-o", "json", "--wait", "3m")
    assert up.code == 0, up.err
    assert counts(up.json()) == counts(first)
    assert up.json()["changed"] == sum(first["changes"].values())
    assert first["changes"]["create"] > 20


def test_then_nothing_changes_and_nobody_is_asked(fleet: Scratch, tmp_path: Path) -> None:
    before = own_files(fleet)
    done = quietly(fleet, "preview", "--expect-no-changes", "-o", "json", file=tmp_path / "count")
    assert done.code == 0, done.out
    report = done.json()
    assert not report["hasChanges"]
    assert report["ledger"] == []
    assert tuple(report["stacks"]) == STACKS
    assert {name: stack["resources"] for name, stack in report["stacks"].items() if stack["resources"]} == {}
    assert own_files(fleet) == before


def test_an_edit_shows_on_all_levels_before_it_is_applied(fleet: Scratch, tmp_path: Path) -> None:
    edit(fleet, replicas=2, weights=(50, 50))
    before = own_files(fleet)
    done = quietly(fleet, "preview", "--expect-no-changes", "-o", "json", file=tmp_path / "count")
    assert done.code == 7, done.err
    assert own_files(fleet) == before
    report = done.json()
    assert [(found["operation"], found["name"]) for found in report["ledger"]] == [("place", "ml-team/mock-demo-49b71")]
    assert sorted(resources(report, "demo.workloads.gpu-us-east")) == [
        "create Deployment",
        "create HTTPRoute",
        "create ModelReplica",
        "create Namespace",
        "create ResourceClaimTemplate",
        "create Service",
    ]
    assert resources(report, "demo.workloads.gpu-eu-west") == []
    assert sorted(resources(report, "demo.routing")) == [
        "create EndpointSlice",
        "create ModelEndpoint",
        "create Service",
        "update HTTPRoute",
    ]
    weights = {
        found["endpoint"]: (found["before"], found["after"]) for found in report["services"]["ml-team/mock"]["weights"]
    }
    assert weights == {
        "ml-team/mock-demo-be445": (9, 1),
        "ml-team/mock-demo-49b71": (None, 1),
        "ml-team/outside": (1, 2),
    }
    up = fleet.run("up", "-o", "json", "--wait", "3m")
    assert up.code == 0, up.err
    assert counts(up.json()) == counts(report)


def test_what_others_changed_shows_where_one_looks_and_is_taken_back(fleet: Scratch) -> None:
    (deployment,) = fleet.objects("gpu-eu-west", "deployments", "-l", "modelplane.ai/fleet=demo")
    name = deployment["metadata"]["name"]
    fleet.kubectl("gpu-eu-west", "-n", "ml-team", "scale", "deployment", name, "--replicas=2")
    theirs = ("annotate", "deployment", name, "team=theirs", "--field-manager=operator")
    fleet.kubectl("gpu-eu-west", "-n", "ml-team", *theirs)

    assert fleet.run("preview", "--expect-no-changes").code == 0, "nobody has looked"
    looking = fleet.run("preview", "--expect-no-changes", "--refresh")
    assert looking.code == 7
    drift = "  drift    Deployment ml-team/mock-demo-be445/main: copies 2 → 1, last set by kubectl"
    assert drift in looking.out.splitlines()

    up = fleet.run("up", "--wait", "3m")
    assert up.code == 0, up.err
    (deployment,) = fleet.objects("gpu-eu-west", "deployments", "-l", "modelplane.ai/fleet=demo")
    assert deployment["spec"]["replicas"] == 1
    assert deployment["metadata"]["annotations"]["team"] == "theirs", "what is not ours is left alone"


def test_what_goes_is_shown_too_in_words_and_no_secret_in_any_form(fleet: Scratch, tmp_path: Path) -> None:
    edit(fleet, replicas=1, weights=(50, 50))
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "hub-token", "namespace": "ml-team"}}
    (fleet.directory / "token.json").write_text(json.dumps({**secret, "stringData": {"token": SECRET}}))
    shown = []
    for arguments in (("-o", "table", "--debug"), ("-o", "markdown")):
        done = fleet.run("preview", *arguments)
        assert done.code == 0, done.err
        shown.append(done.out + done.err)
    table, markdown = shown
    assert re.search(r"^ml-team/mock-demo-49b71 +retire +gpu-us-east +2 replicas run and 1 are wanted$", table, re.M)
    assert re.search(r"^  delete +Deployment ml-team/mock-demo-49b71/main$", table, re.M)
    assert re.search(r"^ml-team/mock +ml-team/mock-demo-49b71 +1 → -$", table, re.M)
    assert "| ml-team/mock-demo-49b71 | retire | gpu-us-east | 2 replicas run and 1 are wanted |" in markdown
    text = "".join(shown)
    for value in (SECRET, base64.b64encode(SECRET.encode()).decode(), *private_keys(fleet)):
        assert value not in text


def private_keys(fleet: Scratch) -> list[str]:
    """A line of each private key with which the clusters are called, and the whole as kubeconfigs have it."""
    found = []
    for file in (fleet.directory / ".modelplane" / "local").glob("*/kubeconfig"):
        for user in YAML(typ="safe").load(file)["users"]:
            data = user["user"]["client-key-data"]
            found += [data, base64.b64decode(data).decode().splitlines()[1]]
    assert found
    return found


def test_a_fleet_is_previewed_before_its_clusters_and_credentials_are_there(tmp_path: Path) -> None:
    scratch = Scratch(tmp_path / "fleet")
    backend = tmp_path / "backend"
    backend.mkdir()
    before = files_below(scratch.directory)
    done = scratch.run("preview", "-o", "json", env={"PULUMI_BACKEND_URL": f"file://{backend}"})
    assert done.code == 0, done.err
    report = done.json()
    assert [found["name"] for found in report["ledger"]] == ["ml-team/mock-demo-49b71", "ml-team/mock-demo-be445"]
    assert done.err.count("warning MP123") == 3, "up would need them"
    assert files_below(scratch.directory) == before
    assert files_below(backend) == {}
