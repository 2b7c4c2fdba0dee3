"""Plan, explain and capacity: exit codes, the two formats, replays, and questions about what is not there."""

import json
from pathlib import Path
from typing import Any

import pytest
from unit.cli.running import Done, Run, files_below


def scale(fleet: Path, replicas: int) -> None:
    file = fleet / "mock-demo.yaml"
    file.write_text(file.read_text().replace("replicas: 2", f"replicas: {replicas}"))


def plain(done: Done) -> Any:
    return json.loads(done.out)


def test_a_plan_that_is_short_ends_with_20_and_names_its_fix(run: Run, fleet: Path) -> None:
    scale(fleet, 5)
    before = files_below(fleet)
    done = run("plan", "-f", fleet)
    assert done.code == 20
    assert "  fix: +3 nodes in gpu-eu-west/h100\n" in done.out
    assert done.err.endswith("2 replicas placed, 3 without a place\n")
    assert files_below(fleet) == before


def test_a_fix_that_is_named_is_one(run: Run, fleet: Path) -> None:
    scale(fleet, 5)
    (fix,) = plain(run("plan", "-f", fleet, "-o", "json"))["deployments"][0]["fix"]["edits"]
    assert fix == "pool gpu-eu-west/h100 +3"
    tried = run("explain", "deployment/mock-demo", "-f", fleet, "--what-if", fix, "-o", "json")
    assert (plain(tried)["placed"], plain(tried)["wanted"]) == (5, 5)
    less = run("explain", "deployment/mock-demo", "-f", fleet, "--what-if", "pool gpu-eu-west/h100 +2", "-o", "json")
    assert plain(less)["placed"] == 4


def test_a_parked_deployment_is_called_so(run: Run, fleet: Path) -> None:
    scale(fleet, 0)
    done = run("plan", "-f", fleet)
    assert done.code == 0
    assert "ml-team/mock-demo  0       0       Parked\n" in done.out


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ('isGreaterThan(quantity("80Gb"))', "(memory is 81559Mi; '80Gb' is not a Kubernetes quantity)"),
        ('compareTo(quantity("90Gi")) >= 0', "(memory is 81559Mi)"),
    ],
)
def test_what_a_selector_stumbles_over_is_told_besides_what_it_saw(
    wrong: str, told: str, run: Run, fleet: Path
) -> None:
    file = fleet / "mock-demo.yaml"
    file.write_text(file.read_text().replace('compareTo(quantity("70Gi")) >= 0', wrong))
    assert told in run("plan", "-f", fleet).out


def test_programs_are_told_what_people_are(run: Run, fleet: Path) -> None:
    shown = plain(run("plan", "-f", fleet, "-o", "json"))
    assert (shown["kind"], shown["version"], shown["assumed"]) == ("Plan", 1, ["gpu-eu-west", "gpu-us-east"])
    (deployment,) = shown["deployments"]
    assert [each["cluster"] for each in deployment["placements"]] == ["gpu-eu-west", "gpu-us-east"]
    assert deployment["scheduled"]["status"] == "True"
    explained = plain(run("explain", "deployment/mock-demo", "-f", fleet, "-o", "json"))
    assert explained["placements"] == deployment["placements"]
    assert {name: each["more"] for name, each in explained["capacity"].items()} == {"gpu-eu-west": 0, "gpu-us-east": 0}


def test_a_saved_fleet_is_planned_alike_without_documents(run: Run, fleet: Path, tmp_path: Path) -> None:
    file = tmp_path / "observed.json"
    first = run("plan", "-f", fleet, "--save-observed", file)
    again = run("plan", "--observed", file, "-f", tmp_path / "nowhere")
    assert (again.code, again.out) == (0, first.out)
    before = file.read_bytes()
    run("plan", "--observed", file, "--save-observed", file)
    assert file.read_bytes() == before


UNUSABLE = {"not there": None, "not JSON": b"kind: Snapshot", "no snapshot": b"[]", "no text": b"\xff\xfe\x00"}


@pytest.mark.parametrize("content", UNUSABLE.values(), ids=UNUSABLE)
def test_a_file_that_cannot_be_used_is_told(run: Run, tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "observed.json"
    if content is not None:
        file.write_bytes(content)
    for command in (["plan"], ["capacity"], ["explain", "deployment/x"]):
        done = run(*command, "--observed", file)
        assert (done.code, done.out) == (2, "")
        assert done.err.startswith("error MP203: ")
        assert "\nhint: " in done.err


def test_a_file_that_cannot_be_written_is_told(run: Run, fleet: Path, tmp_path: Path) -> None:
    done = run("plan", "-f", fleet, "--save-observed", tmp_path / "no" / "where")
    assert (done.code, done.err.splitlines()[0].split(":")[0]) == (2, "error MP204")


WRONG = {
    "a deployment that is not there": (["explain", "deployment/nope"], "MP201"),
    "another namespace": (["explain", "deployment/mock-demo", "-n", "other"], "MP201"),
    "another kind": (["explain", "service/mock"], "MP100"),
    "another namespace before the name": (["explain", "deployment/other/mock-demo"], "MP201"),
    "two namespaces": (["explain", "deployment/ml-team/mock-demo", "-n", "other"], "MP100"),
    "too many names": (["explain", "deployment/ml-team/mock-demo/0"], "MP100"),
    "no name": (["explain", "deployment/"], "MP100"),
    "no name in a namespace": (["explain", "deployment/ml-team/"], "MP100"),
    "a cluster that is not there": (["explain", "deployment/mock-demo", "--why-not", "moon"], "MP201"),
    "an edit that is none": (["explain", "deployment/mock-demo", "--what-if", "more"], "MP200"),
    "an edit of what is asked about": (
        ["explain", "deployment/mock-demo", "--what-if", "drop deployment mock-demo"],
        "MP201",
    ),
    "a cluster without a name": (["explain", "deployment/mock-demo", "--why-not", ""], "MP201"),
    "a saved fleet among the documents": (["plan", "--save-observed", "{fleet}/observed.json"], "MP204"),
    "a saved fleet in place of a document": (["plan", "--save-observed", "{fleet}/fleet.yaml"], "MP204"),
    "a cluster for a kind": (["explain", "modeldeployment", "--why-not", "gpu-us-east"], "MP100"),
    "an edit for a kind": (["explain", "modeldeployment.spec", "--what-if", "drop cluster gpu-us-east"], "MP100"),
    "capacity of what is not there": (["capacity", "deployment/nope"], "MP201"),
}


@pytest.mark.parametrize(("arguments", "code"), WRONG.values(), ids=WRONG)
def test_a_wrong_question_ends_with_2(run: Run, fleet: Path, arguments: list[str], code: str) -> None:
    before = files_below(fleet)
    done = run(*(each.format(fleet=fleet) for each in arguments), "-f", fleet)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"error {code}: ")
    assert "\nhint: " in done.err
    assert files_below(fleet) == before


def test_a_fleet_is_saved_beside_its_documents_where_none_is_read_from(run: Run, fleet: Path) -> None:
    for name in ("observed.snapshot", ".modelplane/observed.json"):
        assert run("plan", "-f", fleet, "--save-observed", fleet / name).code == 0
        assert run("validate", fleet).code == 0


def test_more_replicas_than_any_pool_can_hold_have_no_fix(run: Run, fleet: Path) -> None:
    (fleet / "fleet.yaml").write_text((fleet / "fleet.yaml").read_text() + "  limits: {replicas: 1000}\n")
    scale(fleet, 1000)
    assert "+998 nodes in gpu-eu-west/h100" in run("plan", "-f", fleet).out
    clusters = (fleet / "clusters.yaml").read_text().replace("nodeCount: 1", "nodeCount: 400")
    (fleet / "clusters.yaml").write_text(clusters)
    (fleet / "mock-demo.yaml").write_text((fleet / "mock-demo.yaml").read_text().replace("copies: 1", "copies: 2"))
    done = run("plan", "-f", fleet, "-o", "json")
    assert (done.code, plain(done)["deployments"][0]["placed"]) == (20, 400)


def test_why_not_is_answered_where_there_is_room_too(run: Run, fleet: Path) -> None:
    scale(fleet, 1)
    done = run("explain", "modeldeployment/mock-demo", "-n", "ml-team", "-f", fleet, "--why-not", "gpu-us-east")
    assert done.code == 0
    assert "gpu-us-east would take one more." in done.out
    shown = plain(run("explain", "deployment/mock-demo", "-f", fleet, "--why-not", "gpu-us-east", "-o", "json"))
    assert shown["whyNot"] == {"cluster": "gpu-us-east", "takesOne": True, "reasons": [], "fixes": []}


@pytest.mark.parametrize("command", ["explain", "capacity"])
def test_deployments_of_one_name_are_told_apart_by_their_namespace(run: Run, fleet: Path, command: str) -> None:
    written = (fleet / "mock-demo.yaml").read_text()
    (fleet / "other.yaml").write_text(written.replace("namespace: ml-team", "namespace: other"))
    unclear = run(command, "deployment/mock-demo", "-f", fleet)
    assert (unclear.code, unclear.out) == (2, "")
    assert "ml-team/mock-demo or other/mock-demo" in unclear.err
    before = run(command, "deployment/other/mock-demo", "-f", fleet)
    apart = run(command, "deployment/mock-demo", "-n", "other", "-f", fleet)
    assert (before.code, before.out) == (apart.code, apart.out) == (0, before.out)
    assert before.out


def test_a_loss_that_hurts_nobody_ends_with_0(run: Run, fleet: Path) -> None:
    scale(fleet, 1)
    done = run("capacity", "-f", fleet, "--survive", "1")
    assert (done.code, done.out) == (0, "ok: the loss of 1 leaves nobody short (2 losses tried)\n")
    both = run("capacity", "deployment/mock-demo", "-f", fleet, "--survive", "2", "-o", "json")
    assert both.code == 20
    assert [loss["clusters"] for loss in plain(both)["hurting"]] == [["gpu-eu-west", "gpu-us-east"]]


def test_capacity_of_one_deployment_is_by_cluster(run: Run, fleet: Path) -> None:
    scale(fleet, 1)
    done = run("capacity", "deployment/mock-demo", "-f", fleet)
    assert [line.split()[:3] for line in done.out.splitlines()[1:]] == [
        ["gpu-eu-west", "1", "0"],
        ["gpu-us-east", "0", "1"],
    ]


def test_a_plan_tells_what_the_nodes_cost(run: Run, fleet: Path) -> None:
    assert "COST" not in run("plan", "-f", fleet).out
    file = next(each for each in fleet.glob("*.yaml") if "kind: InferenceClass\n" in each.read_text())
    priced = 'kind: InferenceClass\nmetadata:\n  annotations: {modelplane.ai/hourly-cost: "12.50"}\n'
    file.write_text(file.read_text().replace("kind: InferenceClass\nmetadata:\n", priced))
    assert "COST PER HOUR  BEFORE  AFTER\n" in run("plan", "-f", fleet).out
    cost = plain(run("plan", "-f", fleet, "-o", "json"))["cost"]
    assert cost["before"] == 0
    assert cost["after"] == sum(each["after"] for each in cost["clusters"].values()) > 0
