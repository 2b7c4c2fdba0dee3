"""Documents out of a cluster load as what was wanted; kinds that Modelplane makes itself name the kind to write."""

from pathlib import Path

import pytest
from unit.api.texts import CLASS, FLEET, problems, write

from api.codes import Code
from api.errors import Severity
from api.internal import INSTEAD
from api.loader import KINDS, load

EXPORTED = CLASS.replace(
    "  name: h100x8\n",
    """\
  name: h100x8
  creationTimestamp: "2026-07-01T10:00:00Z"
  finalizers: [composite.apiextensions.crossplane.io]
  generation: 3
  managedFields:
    - manager: kubectl
      operation: Update
      fieldsV1: {"f:spec": {}}
  resourceVersion: "81204"
  uid: 8a1c5f0e-0000-4000-8000-000000000000
  annotations:
    kubectl.kubernetes.io/last-applied-configuration: |
      {"apiVersion":"modelplane.ai/v1alpha1"}
""",
)
STATUS = "status:\n  conditions:\n    - {type: Ready, status: 'True', reason: Available}\n"
CROSSPLANE = "  crossplane:\n    compositionRef: {name: inferenceclasses}\n"


def test_what_a_cluster_wrote_is_ignored_with_one_warning(tmp_path: Path) -> None:
    write(tmp_path, {"a/a.yaml": EXPORTED + CROSSPLANE + STATUS, "b/a.yaml": CLASS})
    exported, written = load(tmp_path / "a"), load(tmp_path / "b")
    assert exported.classes["h100x8"].spec == written.classes["h100x8"].spec
    [warning] = exported.warnings
    assert (warning.code, warning.severity, warning.rule) == (Code.EXPORTED, Severity.WARNING, "META-X5")
    for left_out in ("status", "metadata.managedFields", "metadata.uid", "spec.crossplane"):
        assert left_out in warning.message
    assert written.warnings == ()


def test_what_was_exported_has_the_digest_of_what_was_written(tmp_path: Path) -> None:
    annotated = EXPORTED[: EXPORTED.index("  annotations:")] + EXPORTED[EXPORTED.index("spec:") :]
    write(tmp_path, {"a/a.yaml": annotated + STATUS, "b/a.yaml": CLASS})
    assert load(tmp_path / "a").digest() == load(tmp_path / "b").digest()


def test_a_setting_of_another_system_is_refused_where_it_was_written_by_hand(tmp_path: Path) -> None:
    write(tmp_path, {"a.yaml": CLASS + CROSSPLANE})
    [error] = problems(tmp_path)
    assert (error.code, error.path) == (Code.UNKNOWN_FIELD, "spec.crossplane")


@pytest.mark.parametrize(("version", "kind"), INSTEAD, ids=[kind for _, kind in INSTEAD])
def test_an_internal_kind_names_the_kind_to_write(version: str, kind: str, tmp_path: Path) -> None:
    write(tmp_path, {"a.yaml": f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: x}}\nspec: {{}}\n"})
    [error] = problems(tmp_path)
    assert (error.code, error.rule) == (Code.UNKNOWN_KIND, "META-X4")
    assert any(known in error.hint for _, known in KINDS)


def test_any_other_internal_kind_is_told_apart_from_a_typo(tmp_path: Path) -> None:
    text = "apiVersion: infrastructure.modelplane.ai/v1alpha1\nkind: Something\nmetadata: {name: x}\n"
    write(tmp_path, {"a.yaml": text, "f.yaml": FLEET})
    [error] = problems(tmp_path)
    assert error.message == "Something is made by Modelplane itself"
