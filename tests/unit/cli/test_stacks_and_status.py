"""`stacks` and `status` around what they read: order, counts, formats, and a fleet that is not up."""

import json
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML
from states import a_ledger, an_entry, cluster_outputs, listed_workloads
from unit.cli.running import Run, files_below

from api.errors import UnreadableStack
from api.names import StackName
from programs.outputs import PlacementOutputs
from stacks.status import FleetOutputs

ORDER = """\
demo.gateway
demo.cluster.gpu-eu-west
demo.cluster.gpu-us-east
demo.serving.gpu-eu-west
demo.serving.gpu-us-east
demo.placement
demo.workloads.gpu-eu-west
demo.workloads.gpu-us-east
demo.routing
"""


@pytest.fixture
def state(fleet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is state."""
    (fleet / ".modelplane" / "state" / ".pulumi" / "stacks").mkdir(parents=True)


def test_the_order_is_a_script_for_people_and_names_for_programs(run: Run, fleet: Path) -> None:
    before = files_below(fleet)
    script = run("stacks", "-f", fleet, "--order").out
    assert script.startswith("#!/bin/sh\n# Fleet demo, ")
    assert f" env -f {fleet})\n" in script
    assert json.loads(run("stacks", "-f", fleet, "--order", "-o", "json").out) == ORDER.split()
    assert YAML(typ="safe").load(run("stacks", "-f", fleet, "--order", "-o", "yaml").out) == ORDER.split()
    assert files_below(fleet) == before


def test_a_script_is_not_written_for_files_that_plain_pulumi_would_not_read(run: Run, fleet: Path) -> None:
    done = run("stacks", "-f", fleet, "-f", fleet / "mock.yaml", "--order")
    assert (done.code, done.out) == (2, "")


def test_stacks_that_are_not_there_have_no_number(run: Run, fleet: Path) -> None:
    lines = run("stacks", "-f", fleet).out.splitlines()
    assert lines[0].split() == ["STACK", "RESOURCES"]
    assert [line.split() for line in lines[1:]] == [[name, "-"] for name in ORDER.split()]


def test_stacks_without_documents_are_listed_too(
    run: Run, fleet: Path, state: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = {StackName("demo", "gateway"): 3, StackName("demo", "cluster", "gone"): 0}
    monkeypatch.setattr("stacks.state.held", lambda *_: held)
    listed = json.loads(run("stacks", "-f", fleet, "-o", "json").out)
    assert (listed[0]["name"], listed[0]["exists"], listed[0]["resources"]) == ("demo.gateway", True, 3)
    assert (listed[1]["name"], listed[1]["exists"], listed[1]["resources"]) == ("demo.cluster.gpu-eu-west", False, 0)
    assert (listed[-1]["name"], listed[-1]["exists"], listed[-1]["resources"]) == ("demo.cluster.gone", True, 0)


def test_a_fleet_that_is_not_up_says_so_and_writes_nothing(run: Run, fleet: Path) -> None:
    before = files_below(fleet)
    done = run("status", "-f", fleet)
    assert (done.code, done.out) == (0, "")
    assert done.err == "demo: nothing is up\nhint: `modelplane up` brings it up\n"
    assert json.loads(run("status", "-f", fleet, "-o", "json").out)["items"] == []
    assert files_below(fleet) == before


def observed(*problems: Any) -> tuple[FleetOutputs, list[Any]]:
    entry = an_entry("mock-demo")
    outputs = FleetOutputs(
        placement=PlacementOutputs(ledger=a_ledger(entry)),
        clusters={"us": cluster_outputs("us")},
        workloads={"us": listed_workloads("us", entry)},
    )
    return outputs, list(problems)


def test_the_formats_show_the_same_objects(run: Run, fleet: Path, state: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stacks.state.observe", lambda *_: observed())
    shown = json.loads(run("status", "-f", fleet, "-o", "json").out)
    assert (shown["apiVersion"], shown["kind"]) == ("v1", "List")
    kinds = [item["kind"] for item in shown["items"]]
    assert kinds == ["ModelReplica", "InferenceCluster", "InferenceCluster", "InferenceCluster", "InferenceClass"]
    assert all(item["status"]["conditions"] for item in shown["items"])
    assert YAML(typ="safe").load(run("status", "-f", fleet, "-o", "yaml").out) == shown
    assert "kubeconfig of" not in json.dumps(shown)


def test_status_is_shown_in_the_order_of_a_field(
    run: Run, fleet: Path, state: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stacks.state.observe", lambda *_: observed())
    shown = json.loads(run("status", "-f", fleet, "-o", "json", "--sort-by", ".metadata.name").out)["items"]
    names = [item["metadata"]["name"] for item in shown]
    assert names == sorted(names)
    refused = run("status", "-f", fleet, "--sort-by", ".spec.nothing")
    assert (refused.code, refused.out) == (2, "")
    assert "none of the objects has that field" in refused.err


def test_a_stack_that_cannot_be_read_is_told_beside_the_others(
    run: Run, fleet: Path, state: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stacks.state.observe", lambda *_: observed(UnreadableStack("demo.routing is unreadable")))
    done = run("status", "-f", fleet)
    assert done.code == 1
    assert "ml-team/mock-demo-" in done.out
    assert done.err == "error MP301: demo.routing is unreadable\n"


def test_broken_documents_do_not_hide_the_fleet(
    run: Run, fleet: Path, state: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    (fleet / "mock.yaml").write_text("")
    monkeypatch.setattr("stacks.state.observe", lambda *_: observed())
    done = run("status", "-f", fleet)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("REPLICA")


def test_stacks_say_which_others_they_need(run: Run, fleet: Path) -> None:
    listed = {each["name"]: each for each in json.loads(run("stacks", "-f", fleet, "-o", "json").out)}
    serving = listed["demo.serving.gpu-us-east"]
    assert (serving["kind"], serving["cluster"], serving["needs"]) == (
        "serving",
        "gpu-us-east",
        ["demo.cluster.gpu-us-east"],
    )
    assert {name for each in listed.values() for name in each["needs"]} <= set(listed)


def test_objects_for_the_operator_are_one_stream_of_documents(
    run: Run, fleet: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PULUMI_BACKEND_URL", "s3://state")
    done = run("stacks", "-f", fleet, "-o", "pko", "--repo", "https://git.example/x.git", "--path", "fleets/demo")
    assert done.code == 0
    made = list(YAML(typ="safe").load_all(done.out))
    assert [each["spec"]["stack"].rpartition("/")[2] for each in made] == ORDER.split()
    assert "warning: .modelplane/local/gpu-eu-west/kubeconfig, " in done.err
    assert "Secret default/pulumi has to hold PULUMI_CONFIG_PASSPHRASE\n" in done.err
    settings = json.loads(run("stacks", "-f", fleet, "-o", "deployments", "--repo", "https://x").out)
    assert [name.rpartition("/")[2] for name in settings] == ORDER.split()


ELSEWHERE = {
    "no repository": ({"PULUMI_BACKEND_URL": "s3://state"}, (), "give --repo URL"),
    "state that nobody else reaches": ({}, ("--repo", "https://x"), "set PULUMI_BACKEND_URL"),
}


@pytest.mark.parametrize("what", ELSEWHERE)
def test_what_could_not_run_elsewhere_is_refused(
    what: str, run: Run, fleet: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    variables, arguments, hint = ELSEWHERE[what]
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    done = run("stacks", "-f", fleet, "-o", "pko", *arguments)
    assert (done.code, done.out) == (2, "")
    assert f"hint: {hint}" in done.err
