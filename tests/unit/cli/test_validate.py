"""`validate`: all problems at once, as text or data, without a trace on the disk."""

import json
from pathlib import Path

import pytest
from ruamel.yaml import YAML
from unit.cli.running import Done, Run, files_below


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
    assert run("validate", "-f", fleet / "gateway.yaml", "-f", fleet / "mock.yaml").out == "ok: 2 documents\n"
    beside = tmp_path / "more.txt"
    beside.write_text((fleet / "mock.yaml").read_text().replace("name: mock", "name: other", 1))
    assert run("validate", "-f", fleet, "-f", beside).out == "ok: 8 documents\n"
    assert run("validate", "-f", fleet / "absent.yaml").code == 2
