"""`get` and `describe`: kubectl's manners on documents and on what the stacks made of them."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from builders import a_cache, an_endpoint
from ruamel.yaml import YAML
from states import a_ledger, an_entry, cluster_outputs, listed_workloads, serving_outputs
from typer.testing import CliRunner
from unit.cli.running import Run, files_below

import cli
from api.base import Condition
from api.errors import UnreadableStack
from api.kinds import LISTED
from cli.watching import changes
from programs.outputs import DeploymentState, PlacementOutputs, RoutingOutputs, ServiceBackend, ServiceState
from stacks.environment import environment_of
from stacks.status import FleetOutputs

CLUSTER = "gpu-us-east"
ENTRY = an_entry("mock-demo", CLUSTER, namespace="ml-team")
READY = (Condition(type="Ready", status="True", reason="Available", last_transition_time="2020-01-01T00:00:00Z"),)
BACKEND = ServiceBackend(endpoint=ENTRY.key, service="endpoint", port=80, weight=1, path="/")
OUTPUTS = FleetOutputs(
    placement=PlacementOutputs(
        ledger=a_ledger(ENTRY),
        deployments={"ml-team/mock-demo": DeploymentState(wanted=2, placed=1, ready=1, conditions=READY)},
    ),
    clusters={CLUSTER: cluster_outputs(CLUSTER)},
    serving={CLUSTER: serving_outputs(CLUSTER)},
    workloads={CLUSTER: listed_workloads(CLUSTER, ENTRY)},
    routing=RoutingOutputs(
        services={
            "ml-team/mock": ServiceState(
                address="http://127.0.0.1:8080/ml-team/mock", backends=(BACKEND,), conditions=READY
            )
        }
    ),
)
SECRET = """\
apiVersion: v1
kind: Secret
metadata: {name: hf, namespace: ml-team}
stringData: {HF_TOKEN: in-clear}
"""


@pytest.fixture
def up(fleet: Path, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """A fleet that is up as OUTPUTS has it; problems put into the list are told beside."""
    problems: list[Any] = []
    (fleet / ".modelplane" / "state" / ".pulumi" / "stacks").mkdir(parents=True)
    monkeypatch.setattr("stacks.state.observe", lambda *_: (OUTPUTS, problems))
    return problems


@pytest.mark.parametrize("kind", LISTED)
def test_every_kind_can_be_listed_by_each_of_its_names_and_writes_nothing(kind: str, run: Run, fleet: Path) -> None:
    before = files_below(fleet)
    for word in (kind, LISTED[kind]):
        done = run("get", word, "-f", fleet)
        assert done.code == 0, done.err
        assert bool(done.out) != (done.err == f"no {kind}\n")
    assert files_below(fleet) == before


HEADS = {
    "ig": "NAME GATEWAY ADDRESS READY AGE",
    "icl": "NAME READY AGE",
    "ic": "NAME SOURCE GATEWAY READY AGE",
    "md": "NAMESPACE NAME REPLICAS READY AGE",
    "mr": "NAMESPACE NAME CLUSTER READY AGE",
    "ms": "NAMESPACE NAME ADDRESS READY AGE",
}


@pytest.mark.parametrize("kind", HEADS)
def test_columns_are_those_of_the_contract(kind: str, run: Run, fleet: Path, up: None) -> None:
    assert run("get", kind, "-f", fleet).out.splitlines()[0].split() == HEADS[kind].split()


def test_a_cache_and_an_endpoint_have_the_columns_of_the_contract(run: Run, fleet: Path) -> None:
    for document in (a_cache("x"), an_endpoint("x", url="http://10.0.0.9:8000/")):
        (fleet / f"{document.kind}.json").write_text(json.dumps(document.plain()))
    cache_lines = [line.split() for line in run("get", "mc", "-f", fleet).out.splitlines()]
    repo = a_cache().plain()["spec"]["huggingFace"]["repo"]
    assert cache_lines == [["NAMESPACE", "NAME", "SOURCE", "READY", "AGE"], ["ml-team", "x", repo, "-", "-"]]
    endpoint_lines = [line.split() for line in run("get", "me", "-f", fleet).out.splitlines()]
    assert endpoint_lines[0] == ["NAMESPACE", "NAME", "URL", "READY", "AGE"]
    assert endpoint_lines[1] == ["ml-team", "x", "http://10.0.0.9:8000/", "-", "-"]


def rows(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()[1:]]


def test_rows_show_what_the_stacks_made(run: Run, fleet: Path, up: None) -> None:
    (deployment,) = rows(run("get", "md", "-f", fleet).out)
    assert deployment[:4] == ["ml-team", "mock-demo", "1", "True"]
    assert deployment[4].endswith("d")
    (wide,) = rows(run("get", "md", "-f", fleet, "-o", "wide").out)
    assert wide[:7] == ["ml-team", "mock-demo", "1", "2", "1", "True", "Available"]
    (service,) = rows(run("get", "ms", "-n", "ml-team", "-f", fleet).out)
    assert service[:3] == ["mock", "http://127.0.0.1:8080/ml-team/mock", "True"]
    (replica,) = rows(run("get", "mr", "-f", fleet).out)
    assert replica[1:3] == [ENTRY.name, CLUSTER]
    clusters = rows(run("get", "ic", "-f", fleet).out)
    assert [row[:3] for row in clusters] == [["gpu-eu-west", "Existing", "-"], [CLUSTER, "Existing", "10.0.0.1"]]


def test_the_formats_are_for_programs_and_one_object_comes_without_a_list(run: Run, fleet: Path, up: None) -> None:
    listed = json.loads(run("get", "ic", "-f", fleet, "-o", "json").out)
    assert (listed["kind"], [item["metadata"]["name"] for item in listed["items"]]) == (
        "List",
        ["gpu-eu-west", CLUSTER],
    )
    one = YAML(typ="safe").load(run("get", f"ic/{CLUSTER}", "-f", fleet, "-o", "yaml").out)
    assert (one["kind"], one["metadata"]["name"]) == ("InferenceCluster", CLUSTER)
    assert run("get", "md,ms", "-f", fleet, "-o", "name").out == (
        "modeldeployment.modelplane.ai/mock-demo\nmodelservice.modelplane.ai/mock\n"
    )
    assert json.loads(run("get", "mc", "-f", fleet, "-o", "json").out)["items"] == []


def test_several_kinds_have_a_table_each_whose_names_say_the_kind(run: Run, fleet: Path, up: None) -> None:
    tables = run("get", "all", "-f", fleet).out.split("\n\n")
    firsts = [table.splitlines()[1].split()[1 if "NAMESPACE" in table else 0] for table in tables]
    assert [first.partition(".")[0] for first in firsts] == [
        "modeldeployment",
        "modelreplica",
        "modelservice",
        "inferencecluster",
        "inferencegateway",
        "inferenceclass",
    ]


def test_labels_order_and_heads_can_be_chosen(run: Run, fleet: Path) -> None:
    assert rows(run("get", "ic", "-f", fleet, "-l", "region in (us-east)").out)[0][0] == CLUSTER
    assert (
        run("get", "ic", "-f", fleet, "-l", "region=nowhere").err == "no InferenceCluster with labels region=nowhere\n"
    )
    ordered = run("get", "ic", "-f", fleet, "--sort-by", ".metadata.labels.region", "--no-headers", "--show-labels").out
    assert [line.split()[-1] for line in ordered.splitlines()] == ["region=eu-west", "region=us-east"]


WRONG = {
    ("get", "modeldeploymnt"): ("MP100", "did you mean ModelDeployment?"),
    ("get", "md", "mock-dem"): ("MP201", "did you mean mock-demo?"),
    ("get", "md,ms", "mock"): ("MP100", "name one kind, or no names"),
    ("get", "md", "-n", "ml-team", "-A"): ("MP100", "leave out one of them"),
    ("get", "md", "-l", "a=b=c"): ("MP100", "write labels as `kubectl get -l` takes them"),
    ("get", "md", "--sort-by", ".spec.nothing"): ("MP100", "name a field as -o yaml shows it"),
    ("describe", "ic", "gpu-us"): ("MP201", "did you mean gpu-us-east?"),
}


@pytest.mark.parametrize("arguments", WRONG, ids=" ".join)
def test_what_is_not_there_is_told_with_a_way_out(arguments: tuple[str, ...], run: Run, fleet: Path) -> None:
    code, hint = WRONG[arguments]
    done = run(*arguments, "-f", fleet)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"error {code}: ")
    assert f"hint: {hint}" in done.err


def test_a_value_of_a_secret_is_shown_nowhere(run: Run, fleet: Path) -> None:
    (fleet / "secret.yaml").write_text(SECRET)
    for arguments in (("get", "secrets", "-o", "yaml"), ("get", "secrets", "-o", "wide"), ("describe", "secret", "hf")):
        done = run(*arguments, "-f", fleet)
        assert done.code == 0
        assert "in-clear" not in done.out + done.err
    assert "  HF_TOKEN: 8 bytes\n" in run("describe", "secret", "hf", "-f", fleet).out


def test_a_deployment_is_described_with_its_document_its_conditions_and_its_replicas(
    run: Run, fleet: Path, up: None
) -> None:
    lines = run("describe", "md", "mock-demo", "-f", fleet).out.splitlines()
    assert lines[:2] == ["Name:         mock-demo", "Namespace:    ml-team"]
    assert f"Document:     {fleet}/mock-demo.yaml:3" in lines
    assert "  replicas: 2" in lines
    assert ["Ready", "True", "Available"] in [line.split()[:3] for line in lines]
    assert lines[-3:][0] == "ModelReplicas:"
    assert lines[-1].split()[:4] == ["ml-team", ENTRY.name, CLUSTER, "gpu"]


def test_a_stack_that_cannot_be_read_is_told_beside_the_others(run: Run, fleet: Path, up: list[Any]) -> None:
    up.append(UnreadableStack("demo.routing is unreadable"))
    for command in ("get", "describe"):
        done = run(command, "md", "-f", fleet)
        assert done.code == 1
        assert "mock-demo" in done.out
        assert done.err == "error MP301: demo.routing is unreadable\n"


def test_with_broken_documents_what_stacks_know_is_shown(run: Run, fleet: Path, up: None) -> None:
    (fleet / "mock.yaml").write_text("")
    done = run("get", "mr", "-f", fleet)
    assert done.code == 0
    assert ENTRY.name in done.out
    assert done.err == "documents have errors, so only what stacks know is shown; `modelplane validate` tells them\n"


def test_documents_without_a_fleet_are_listed_too(run: Run, fleet: Path) -> None:
    (fleet / "fleet.yaml").unlink()
    assert rows(run("get", "md", "-f", fleet).out)[0][:2] == ["ml-team", "mock-demo"]


@pytest.mark.parametrize("arguments", [("get", "mr"), ("status",)])
def test_a_watch_shows_each_change_once_and_ends_with_ctrl_c(
    arguments: tuple[str, ...], run: Run, fleet: Path, up: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = [OUTPUTS, OUTPUTS, FleetOutputs(clusters=OUTPUTS.clusters, placement=PlacementOutputs())]
    monkeypatch.setattr("stacks.state.observe", lambda *_: (seen.pop(0), up))

    def times(_: Any) -> Iterator[None]:
        yield from [None] * len(seen)
        raise KeyboardInterrupt

    monkeypatch.setattr("cli.watching.changes", times)
    done = run(*arguments, "-w", "-f", fleet)
    assert (done.code, seen) == (0, [])
    shows = [part for part in done.out.split("\n\n\n") if part]
    assert [ENTRY.name in part for part in shows] == [True, False][: len(shows)]


def test_a_watch_sees_a_document_and_a_state_that_are_written(fleet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PULUMI_BACKEND_URL", "MODELPLANE_FLEET"):
        monkeypatch.delenv(name, raising=False)
    stacks = fleet / ".modelplane" / "state" / ".pulumi" / "stacks"
    stacks.mkdir(parents=True)
    waited: list[str] = []

    def wait(_: float) -> None:
        """Nothing changes in the first wait; then a document, then a stack, then something nobody looks at."""
        waited.append("")
        written = {2: fleet / "later.yaml", 4: stacks / "demo.gateway.json", 5: fleet / ".modelplane" / "other"}
        if file := written.get(len(waited)):
            file.write_text(SECRET)
        if len(waited) > 6:
            raise KeyboardInterrupt

    times = changes(environment_of(fleet), wait)
    assert [(next(times), len(waited))[1] for _ in range(3)] == [0, 2, 4]
    with pytest.raises(KeyboardInterrupt):
        next(times)


def test_a_status_is_limited_to_a_namespace_and_to_labels(run: Run, fleet: Path, up: None) -> None:
    whole, elsewhere = run("status", "-f", fleet).out, run("status", "-f", fleet, "-n", "other").out
    assert "mock-demo" in whole
    assert "mock-demo" not in elsewhere
    assert elsewhere.startswith("CLUSTER")
    labelled = json.loads(run("status", "-f", fleet, "-l", f"modelplane.ai/cluster={CLUSTER}", "-o", "json").out)
    assert [item["kind"] for item in labelled["items"]] == ["ModelReplica"]
    assert run("status", "-f", fleet, "-l", "no=such").err == "demo: nothing is such\n"


OFFERED = {
    "get ": {"modeldeployments", "md", "secrets"},
    "get md,model": {"md,modelservices", "md,modelcaches"},
    "get md ": {"mock-demo"},
    "get md -n ": {"ml-team"},
    "describe ic gpu-us": {"gpu-us-east"},
    "stat": {"status"},
}


@pytest.mark.parametrize("line", OFFERED)
def test_a_shell_is_offered_what_fits(line: str, fleet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODELPLANE_FLEET", str(fleet))
    words = f"modelplane {line}"
    variables = {
        "_MODELPLANE_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split()) - (0 if line.endswith(" ") else 1)),
    }
    monkeypatch.setattr(sys, "argv", ["modelplane"])
    done = CliRunner().invoke(cli.app, [], env=variables, prog_name="modelplane")
    assert OFFERED[line] <= set(done.output.split())
