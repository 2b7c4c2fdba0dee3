"""`outputs`, `history` and `logs`: what is kept of single stacks, with secrets hidden until they are asked for."""

import json
from pathlib import Path
from typing import Any

import pytest
from unit.cli.running import Run, files_below

from api.names import StackName
from stacks.journal import Entry, keep

STACKS = {
    StackName("demo", "gateway"): 3,
    StackName("demo", "cluster", "gpu-us-east"): 1,
    StackName("other", "gateway"): 1,
}
EXPORTED = {"address": "127.0.0.1:8080", "kubeconfig": "clusters: in-clear", "ready": True, "conditions": [{"a": 1}]}
RECORDED = [
    {
        "kind": "update",
        "startTime": "2026-03-04T12:00:09.000Z",
        "endTime": "2026-03-04T12:00:12.000Z",
        "result": "succeeded",
        "resourceChanges": {"create": 2, "same": 5},
        "version": 2,
        "message": "",
        "environment": {},
        "config": {"modelplane:token": {"value": "in-clear", "secret": True}},
    },
    {"kind": "update", "startTime": "2026-03-04T11:00:00.000Z", "result": "in-progress", "version": 1},
]


class APulumi:
    """The CLI as it answers: secrets as a placeholder unless they are to be shown."""

    asked: list[tuple[str, ...]] = []

    def __init__(self, _: Any) -> None:
        pass

    def stacks(self) -> dict[StackName, int]:
        return STACKS

    def read(self, stack: str, *arguments: str) -> Any:
        APulumi.asked.append((stack, *arguments))
        if arguments[0] == "output":
            hidden = "--show-secrets" not in arguments
            return {**EXPORTED, **({"kubeconfig": "[secret]"} if hidden else {})}
        return RECORDED if stack == "demo.gateway" else []


@pytest.fixture
def up(fleet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A backend with stacks of this fleet and of another."""
    (fleet / ".modelplane" / "state" / ".pulumi" / "stacks").mkdir(parents=True)
    monkeypatch.setattr("stacks.state.Pulumi", APulumi)
    monkeypatch.setattr(APulumi, "asked", [])


def test_outputs_are_listed_with_secrets_hidden(run: Run, fleet: Path, up: None) -> None:
    done = run("outputs", "demo.gateway", "-f", fleet)
    assert (done.code, done.err) == (0, "")
    assert done.out == (
        "OUTPUT      VALUE\n"
        "address     127.0.0.1:8080\n"
        'conditions  [{"a": 1}]\n'
        "kubeconfig  [secret]\n"
        "ready       true\n"
    )
    assert json.loads(run("outputs", "gateway", "-o", "json", "-f", fleet).out)["kubeconfig"] == "[secret]"


def test_secrets_are_shown_to_who_asks_for_them(run: Run, fleet: Path, up: None) -> None:
    assert run("outputs", "gateway", "kubeconfig", "--show-secrets", "-f", fleet).out == "clusters: in-clear\n"


def test_one_output_is_printed_as_a_script_needs_it(run: Run, fleet: Path, up: None) -> None:
    assert run("outputs", "gateway", "address", "-f", fleet).out == "127.0.0.1:8080\n"
    assert run("outputs", "gateway", "ready", "-f", fleet).out == "true\n"
    assert run("outputs", "gateway", "address", "-o", "json", "-f", fleet).out == '"127.0.0.1:8080"\n'


WRONG = {
    ("outputs", "demo.gatway"): "did you mean demo.gateway?",
    ("outputs", "cluster.gpu-us-eat"): "did you mean demo.cluster.gpu-us-east?",
    ("outputs", "other.gateway"): "did you mean demo.gateway?",
    ("outputs", "xyz"): "`modelplane stacks` lists those that there are",
    ("outputs", "gateway", "adress"): "did you mean address?",
    ("history", "demo.gatway"): "did you mean demo.gateway?",
    ("logs", "demo.gatway"): "did you mean demo.gateway?",
}


@pytest.mark.parametrize("arguments", WRONG, ids=" ".join)
def test_a_stack_or_an_output_that_is_not_there_is_told_with_one_that_is(
    arguments: tuple[str, ...], run: Run, fleet: Path, up: None
) -> None:
    keep(fleet / ".modelplane", ENTRY)
    done = run(*arguments, "-f", fleet)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("error MP201: ")
    assert done.err.endswith(f"hint: {WRONG[arguments]}\n")


def test_history_has_the_newest_operation_first_and_no_configuration(run: Run, fleet: Path, up: None) -> None:
    done = run("history", "-f", fleet)
    assert done.out == (
        "STACK         NUMBER  BEGAN                 OPERATION  RESULT       CHANGES   TOOK\n"
        "demo.gateway  2       2026-03-04T12:00:09Z  update     succeeded    2 create  3s\n"
        "demo.gateway  1       2026-03-04T11:00:00Z  update     in-progress  none      -\n"
    )
    assert {stack for stack, *_ in APulumi.asked} == {"demo.gateway", "demo.cluster.gpu-us-east"}
    one = json.loads(run("history", "gateway", "--last", "1", "-o", "json", "-f", fleet).out)
    assert [(each["version"], each["seconds"]) for each in one] == [(2, 3.0)]
    assert "in-clear" not in run("history", "-o", "json", "-f", fleet).out


def test_a_backend_that_counts_no_operations_has_no_column_of_their_numbers(
    run: Run, fleet: Path, up: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for record in RECORDED:
        monkeypatch.setitem(record, "version", 0)
    assert run("history", "-f", fleet).out.splitlines()[:2] == [
        "STACK         BEGAN                 OPERATION  RESULT       CHANGES   TOOK",
        "demo.gateway  2026-03-04T12:00:09Z  update     succeeded    2 create  3s",
    ]


ENTRY = Entry(
    stack="demo.gateway",
    action="up",
    at="2026-03-04T12:00:00Z",
    seconds=3.1,
    changed=2,
    error="MP340: no room\nat all",
    lines=("create   Service a", "warning  look here"),
)


def test_logs_show_the_last_operation_of_each_stack(run: Run, fleet: Path) -> None:
    earlier = Entry(stack="demo.routing", action="destroy", at="2026-03-04T11:00:00Z", seconds=1.0, changed=0)
    for entry in (earlier, ENTRY, Entry(stack="other.routing", action="up", at="", seconds=0.0, changed=0)):
        keep(fleet / ".modelplane", entry)
    assert run("logs", "-f", fleet).out == (
        "2026-03-04T11:00:00Z  demo.routing  destroy  no change  1.0s\n"
        "\n"
        "2026-03-04T12:00:00Z  demo.gateway  up  failed  3.1s\n"
        "  create   Service a\n"
        "  warning  look here\n"
        "  error MP340: no room\n"
        "  at all\n"
    )
    (shown,) = json.loads(run("logs", "routing", "-o", "json", "-f", fleet).out)
    assert (shown["stack"], shown["action"]) == ("demo.routing", "destroy")


@pytest.mark.parametrize("command", ["history", "logs"])
def test_a_fleet_that_was_never_up_has_neither_and_nothing_is_written(command: str, run: Run, fleet: Path) -> None:
    before = files_below(fleet)
    done = run(command, "-f", fleet)
    assert (done.code, done.out) == (0, "")
    assert done.err.startswith("demo: nothing ")
    assert files_below(fleet) == before
