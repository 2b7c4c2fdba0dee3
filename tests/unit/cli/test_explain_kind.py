"""`explain KIND[.FIELD...]` and `schema`: what stands in the models, for people and for editors."""

import json
from pathlib import Path

import pytest
from unit.cli.running import Run

REPLICAS = """\
KIND:     ModelDeployment
VERSION:  modelplane.ai/v1alpha1
FIELD:    spec.replicas <integer> -required-

DESCRIPTION:
"""


def test_a_field_has_its_type_its_limits_and_its_meaning(run: Run) -> None:
    done = run("explain", "modeldeployment.spec.replicas")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(REPLICAS)
    assert "limits: at least 0" in done.out
    assert "(no text)" not in done.out


def test_fields_below_are_listed_with_defaults_and_choices(run: Run) -> None:
    engines = run("explain", "md.spec.template.spec.engines").out
    assert "  copies <integer>\n" in engines
    assert "    limits: at least 1; at most 64\n    default: 1\n" in engines
    assert "    limits: one of Prefill, Decode\n" in engines
    assert "  members <[]object> -required-\n" in engines


@pytest.mark.parametrize("word", ["icl", "InferenceClass", "inferenceclasses", "INFERENCECLASS"])
def test_a_kind_is_found_by_each_of_its_names(word: str, run: Run) -> None:
    assert run("explain", word).out.startswith("KIND:     InferenceClass\n")


@pytest.mark.parametrize("path", ["icl.spec.devices.capacity.value", "icl.spec.devices[0].capacity.<key>.value"])
def test_a_path_passes_through_lists_and_maps(path: str, run: Run) -> None:
    found = json.loads(run("explain", path, "-o", "json").out)
    assert (found["path"], found["type"], found["required"]) == ("spec.devices.capacity.value", "string", True)


def test_fields_of_every_source_of_a_cluster_are_explained(run: Run) -> None:
    for path in (
        "ic.spec.cluster.gke.region",
        "ic.spec.cluster.existing.secretRef.key",
        "ic.spec.cluster.aks.location",
    ):
        assert json.loads(run("explain", path, "-o", "json").out)["meaning"]


WRONG = {
    "modeldeploymnt": "did you mean ModelDeployment?",
    "md.spec.replica": "did you mean replicas?",
    "md.spec.replicas.more": "has no fields below it",
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_not_there_is_told_with_what_was_meant(what: str, run: Run) -> None:
    done = run("explain", what)
    assert (done.code, done.out) == (2, "")
    assert WRONG[what] in done.err


def test_a_schema_is_printed_for_one_kind_or_all(run: Run) -> None:
    one = json.loads(run("schema", "mc").out)
    assert (one["title"], one["properties"]["kind"]) == ("ModelCache", {"const": "ModelCache"})
    every = json.loads(run("schema").out)
    assert "ModelCache" in every["properties"]["kind"]["enum"]


def test_schemas_are_written_to_a_directory(run: Run, tmp_path: Path) -> None:
    assert run("schema", "--directory", tmp_path / "new").code == 0
    assert {"modelplane.json", "Fleet.json"} <= {file.name for file in (tmp_path / "new").iterdir()}
    assert run("schema", "mc", "--directory", tmp_path).code == 2


def test_a_directory_that_cannot_be_written_is_told(run: Run, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    done = run("schema", "--directory", tmp_path / "taken")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"error MP100: {tmp_path}/taken: cannot be written: ")


def test_what_modelplane_makes_itself_is_told_with_what_to_write(run: Run) -> None:
    done = run("explain", "modelreplica")
    assert (done.code, done.out) == (2, "")
    assert done.err == (
        "error MP100: ModelReplica is made by Modelplane itself\n"
        "hint: write a ModelDeployment; its replicas are placed and made for it\n"
    )


def test_a_page_is_printed_for_one_kind_and_written_for_all(run: Run, tmp_path: Path) -> None:
    one = run("schema", "md", "-o", "markdown")
    assert (one.code, one.out.splitlines()[0]) == (0, "# ModelDeployment")
    assert "| `spec.template.spec.engines[].copies` | integer |" in one.out
    assert "| MD-F1 | device selectors compile | MP121 | an error |" in one.out
    assert run("schema", "--directory", tmp_path / "kinds", "-o", "markdown").code == 0
    assert {"fleet.md", "modeldeployment.md"} <= {file.name for file in (tmp_path / "kinds").iterdir()}
    assert run("schema", "-o", "markdown").code == 2
