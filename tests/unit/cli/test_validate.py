"""`validate`: all problems at once, as text or data, without a trace on the disk."""

import io
import json
from pathlib import Path

import pytest
from ruamel.yaml import YAML
from states import cluster_outputs
from unit.cli.running import Done, Run, files_below

from programs.outputs import ClusterInputs
from stacks.status import FleetOutputs


def write(directory: Path, name: str, text: str) -> None:
    (directory / name).write_text(text)


BROKEN = {
    "a typo in a field": ("mock-demo.yaml", ("replicas: 2", "replica: 2"), "unknown field"),
    "a wrong type": ("mock-demo.yaml", ("replicas: 2", "replicas: two"), "spec.replicas"),
    "a class that is not there": ("clusters.yaml", ("className: h100-8x", "className: h200-8x"), "h200-8x"),
    "an expression that is no CEL": ("mock-demo.yaml", ('quantity("70Gi")', 'quantity("70Gi"'), "selectors[0].cel"),
    "an unknown function in CEL": ("mock-demo.yaml", ('quantity("70Gi")', 'quantities("70Gi")'), "selectors[0].cel"),
    "no YAML": ("mock.yaml", ("spec:", "spec: ["), "not YAML"),
    "an empty file": ("mock.yaml", None, "the file is empty"),
}


@pytest.mark.parametrize(("file", "change", "told"), BROKEN.values(), ids=BROKEN)
def test_a_broken_document_is_named_with_file_and_line(
    file: str, change: tuple[str, str] | None, told: str, run: Run, fleet: Path
) -> None:
    text = (fleet / file).read_text()
    write(fleet, file, text.replace(*change, 1) if change else "")
    before = files_below(fleet)

    done = run("validate", "-f", fleet)

    assert (done.code, done.out) == (2, "")
    first, second, *_ = done.err.splitlines()
    assert first.startswith("error MP1")
    assert f": {fleet / file}:" in first
    assert told in first
    assert second.startswith("hint: ")
    assert "Traceback" not in done.err
    assert files_below(fleet) == before


def test_all_problems_are_told_at_once(run: Run, fleet: Path) -> None:
    write(fleet, "mock.yaml", (fleet / "mock.yaml").read_text().replace("kind: ModelService", "kind: ModelServise"))
    write(fleet, "mock-demo.yaml", (fleet / "mock-demo.yaml").read_text().replace("replicas: 2", "replicas: -2"))
    done = run("validate", "-f", fleet)
    assert done.err.count("error MP") == 2
    assert done.err.endswith("\n2 errors, 0 warnings\n")


def test_a_valid_fleet_is_counted_and_nothing_is_written(run: Run, fleet: Path) -> None:
    before = files_below(fleet)
    assert run("validate", "-f", fleet) == Done(0, "ok: 7 documents\n", "")
    assert files_below(fleet) == before


def test_a_value_that_cannot_be_had_is_a_warning(run: Run, fleet: Path) -> None:
    (fleet / ".modelplane/local/hub/kubeconfig").unlink()
    done = run("validate", "-f", fleet)
    assert (done.code, done.out) == (0, "ok: 7 documents, 1 warning\n")
    assert done.err.startswith("warning MP123: ")


def test_json_and_yaml_hold_the_same_problems(run: Run, fleet: Path) -> None:
    write(fleet, "mock-demo.yaml", (fleet / "mock-demo.yaml").read_text().replace("replicas: 2", "replicas: -2"))
    told = run("validate", "-f", fleet, "-o", "json")
    assert (told.code, told.err) == (2, "")
    found = json.loads(told.out)
    assert found["valid"] is False
    assert [(problem["severity"], problem["path"], problem["line"]) for problem in found["problems"]] == [
        ("error", "spec.replicas", 9)
    ]
    assert found == YAML(typ="safe").load(run("validate", "-f", fleet, "-o", "yaml").out)


def test_a_directory_without_a_fleet_document_is_valid(run: Run, fleet: Path) -> None:
    (fleet / "fleet.yaml").unlink()
    done = run("validate", "-f", fleet)
    assert done.code == 0
    assert done.out.startswith("ok: 6 documents")


def test_nothing_there_is_an_error(run: Run, tmp_path: Path) -> None:
    assert run("validate", "-f", tmp_path).code == 2
    assert run("validate", "-f", tmp_path / "absent").code == 2


def test_the_directory_is_the_named_one_then_the_variables_then_the_current_one(
    run: Run, fleet: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(fleet)
    assert run("validate").out.startswith("ok: 7")
    empty = tmp_path / "empty"
    empty.mkdir()
    monkeypatch.setenv("MODELPLANE_FLEET", str(empty))
    assert run("validate").code == 2
    assert run("validate", "-f", fleet).out.startswith("ok: 7")


def test_a_named_file_is_read_alone_and_beside_a_directory(run: Run, fleet: Path, tmp_path: Path) -> None:
    assert run("validate", "-f", fleet / "gateway.yaml").out == "ok: 1 document\n"
    both = run("validate", "-f", fleet / "gateway.yaml", "-f", fleet / "mock.yaml")
    assert both.out == "ok: 2 documents, 1 warning\n"
    beside = tmp_path / "more.txt"
    beside.write_text((fleet / "mock.yaml").read_text().replace("name: mock", "name: other", 1))
    assert run("validate", "-f", fleet, "-f", beside).out == "ok: 8 documents\n"
    assert run("validate", "-f", fleet / "absent.yaml").code == 2


OTHER = "apiVersion: monitoring.coreos.com/v1\nkind: PodMonitor\nmetadata: {name: engines}\nspec: {}\n"


def test_documents_of_other_systems_are_skipped_only_when_asked_for(run: Run, fleet: Path) -> None:
    write(fleet, "other.yaml", OTHER)
    write(fleet, "compose.yaml", "services: {}\n")
    refused = run("validate", fleet)
    assert refused.code == 2
    assert f"error MP109: {fleet}/other.yaml:1: PodMonitor engines: apiVersion: " in refused.err
    assert refused.err.count("--ignore-unknown") == 2
    skipped = run("validate", fleet, "--ignore-unknown")
    assert (skipped.code, skipped.out) == (0, "ok: 7 documents, 2 warnings\n")
    assert f"warning MP151: {fleet}/other.yaml:1: PodMonitor engines: apiVersion: skipped: " in skipped.err
    assert run("validate", fleet, "--ignore-unknown", "--strict").code == 0


def test_a_typo_in_a_kind_of_ours_is_never_skipped(run: Run, fleet: Path) -> None:
    write(fleet, "mock.yaml", (fleet / "mock.yaml").read_text().replace("kind: ModelService", "kind: ModelServise"))
    assert run("validate", fleet, "--ignore-unknown").code == 2


def test_warnings_fail_under_strict_only(run: Run, fleet: Path) -> None:
    (fleet / ".modelplane/local/hub/kubeconfig").unlink()
    assert run("validate", fleet).code == 0
    assert run("validate", fleet, "--strict").code == 2


def test_standard_input_is_read(run: Run, fleet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (fleet / "mock.yaml").read_text()

    def given(content: str) -> None:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content.encode())))

    given(text)
    assert run("validate", "-f", "-").out == "ok: 1 document, 1 warning\n"
    given(text.replace("spec:", "specs:"))
    refused = run("validate", "-f", "-", "-f", fleet / "gateway.yaml")
    assert refused.code == 2
    assert refused.err.startswith("error MP112: <stdin>:")


def test_several_directories_are_one_fleet(run: Run, fleet: Path, tmp_path: Path) -> None:
    more = tmp_path / "more"
    more.mkdir()
    write(more, "mock.yaml", (fleet / "mock.yaml").read_text().replace("name: mock", "name: other", 1))
    assert run("validate", fleet, "-f", more).out == "ok: 8 documents\n"


def test_each_folder_is_a_fleet_of_its_own_recursively(run: Run, fleet: Path, tmp_path: Path) -> None:
    for name in ("a", "a/b", "c"):
        (tmp_path / name).mkdir()
        write(tmp_path / name, "gateway.yaml", (fleet / "gateway.yaml").read_text())
    (fleet / "deeper").mkdir()
    (fleet / "mock.yaml").rename(fleet / "deeper" / "mock.yaml")
    assert run("validate", tmp_path).code == 2
    assert run("validate", "-R", tmp_path).out == "ok: 10 documents in 4 folders\n"
    write(tmp_path / "c", "again.yaml", (fleet / "gateway.yaml").read_text())
    told = run("validate", "-R", "-f", tmp_path)
    assert (told.code, told.err.count("error MP")) == (2, 1)


def test_findings_are_sorted_by_file_and_line(run: Run, fleet: Path) -> None:
    (fleet / ".modelplane/local/hub/kubeconfig").unlink()
    write(fleet, "mock-demo.yaml", (fleet / "mock-demo.yaml").read_text().replace("replicas: 2", "replicas: -2"))
    write(fleet, "a.yaml", "kind: [\n")
    found = json.loads(run("validate", fleet, "-o", "json").out)["problems"]
    places = [(problem["file"], problem["line"]) for problem in found]
    assert len(places) == 2
    assert places == sorted(places)


def test_sarif_names_rule_file_and_line(run: Run, fleet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(fleet)
    text = (fleet / "gateway.yaml").read_text()
    write(fleet, "gateway.yaml", text.replace("backend: Traefik", "backend: Traefix"))
    (fleet / "mock.yaml").rename(fleet / "my mock.yaml")
    write(fleet, "my mock.yaml", (fleet / "my mock.yaml").read_text().replace("weight:", "wait:", 1))
    told = run("validate", "-o", "sarif")
    assert (told.code, told.err) == (2, "")
    log = json.loads(told.out)
    (checked,) = log["runs"]
    assert log["version"] == "2.1.0"
    assert {rule["id"] for rule in checked["tool"]["driver"]["rules"]} == {
        result["ruleId"] for result in checked["results"]
    }
    first = checked["results"][0]
    assert (first["ruleId"], first["level"]) == ("MP114", "error")
    place = first["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "gateway.yaml"}
    assert text.splitlines()[place["region"]["startLine"] - 1].strip() == "backend: Traefik"
    others = {result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for result in checked["results"]}
    assert others <= {"gateway.yaml", "my%20mock.yaml"}


def deployed_as(source: str, monkeypatch: pytest.MonkeyPatch, fleet: Path) -> None:
    """Stacks exported a cluster of this source, and none could not be read."""
    (fleet / ".modelplane" / "state" / ".pulumi" / "stacks").mkdir(parents=True)
    before = ClusterInputs(source=source, stack="Standard")
    cluster = cluster_outputs("gpu-us-east").model_copy(update={"inputs": before})
    monkeypatch.setattr("stacks.state.observe", lambda *_: (FleetOutputs(clusters={"gpu-us-east": cluster}), []))


def test_what_cannot_change_any_more_is_told_when_state_is_compared(
    run: Run, fleet: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("validate", fleet, "--against-state").code == 0
    deployed_as("EKS", monkeypatch, fleet)
    assert run("validate", fleet).code == 0
    told = run("validate", fleet, "--against-state", "-o", "json")
    assert told.code == 2
    (problem,) = json.loads(told.out)["problems"]
    assert (problem["rule"], problem["subject"]) == ("IC-N11", "InferenceCluster gpu-us-east")
    assert problem["file"] == str(fleet / "clusters.yaml")
    assert problem["line"] > 1


def test_documents_as_they_were_deployed_pass(run: Run, fleet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deployed_as("Existing", monkeypatch, fleet)
    assert run("validate", fleet, "--against-state") == Done(0, "ok: 7 documents\n", "")


def test_state_is_that_of_one_fleet(run: Run, fleet: Path) -> None:
    assert run("validate", "-R", fleet, "--against-state").code == 2
    (fleet / "fleet.yaml").unlink()
    refused = run("validate", fleet, "--against-state")
    assert (refused.code, "no document is of kind Fleet" in refused.err) == (2, True)


@pytest.mark.parametrize("command", ["plan", "capacity", "explain"])
def test_a_variable_asks_every_command_to_skip_documents_of_other_systems(
    command: str, run: Run, fleet: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(fleet, "other.yaml", OTHER)
    arguments = [command, *(["deployment/mock-demo"] if command == "explain" else []), "-f", fleet]
    assert "error MP109" in run(*arguments).err
    monkeypatch.setenv("MODELPLANE_IGNORE_UNKNOWN", "true")
    assert "error" not in run(*arguments).err


def test_quotas_of_clouds_are_a_hint_and_no_problem(run: Run) -> None:
    example = Path(__file__).resolve().parents[3] / "examples" / "multicloud"
    told = run("validate", "-f", example)
    assert told.code == 0
    assert "hint: quotas that these clusters take" in told.err
    found = json.loads(run("validate", "-f", example, "-o", "json").out)
    quotas = {(quota["source"], quota["region"], quota["name"]): quota["least"] for quota in found["quotas"]}
    assert quotas["GKE", "us-central1", "GPUs of type nvidia-l4"] == 4
