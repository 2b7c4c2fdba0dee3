"""Manifests of upstream's users work unchanged: each folder of theirs is a fleet of its own, without Fleet and Secrets.

What is not accepted is listed here with the rule that it breaks, so that a change of either is seen.
"""

import shutil
from collections import Counter
from pathlib import Path

import pytest

from api.errors import InvalidFleet, Problem, Severity
from api.loader import KINDS, load
from api.reading import read_file
from scheduler.cel import compile_error
from scheduler.matcher import Matcher

MANIFESTS = Path(__file__).parents[4] / "shared" / "manifests"
FOLDERS = sorted({str(file.parent.relative_to(MANIFESTS)) for file in MANIFESTS.rglob("*.yaml")})
pytestmark = pytest.mark.skipif(not FOLDERS, reason="upstream's manifests are not beside this checkout")

REFUSED: dict[str, dict[str, str]] = {
    "examples/collecting-engine-metrics": {"podmonitor.yaml:1": "META-X4"},
    "examples/qwen3-coder": {"inference-class.yaml:11": "META-X3"},
    "getting-started": {
        "configuration.yaml:4": "META-X4",
        "model-service.yaml:15": "META-X3",
        "prerequisites.yaml:13": "META-X4",
        "prerequisites.yaml:46": "META-X4",
        "prerequisites.yaml:58": "META-X4",
        "prerequisites.yaml:72": "META-X4",
    },
}
"""What a folder is refused for: documents of other systems, and one document written twice."""

WARNED: dict[str, dict[str, int]] = {
    "concepts": {"IC-N13": 1, "IC-N9": 2, "IC-X1": 1, "MC-F1": 1, "MD-F2": 1, "MD-X5": 1, "MS-F1": 1},
    "examples/anthropic-messages-api": {"IC-N9": 1},
    "examples/kimi-k2": {"MD-X5": 2, "MD-X7": 2},
    "examples/nemotron-3.5-lightning": {"IC-N9": 1, "MD-X5": 1},
    "examples/qwen3-coder": {"MC-F1": 1, "MD-X5": 1},
    "getting-started": {"": 1},
    "getting-started/aks": {"IC-N9": 3},
}
"""How often each rule warns, where one does; a Namespace document is not used, and breaks no rule."""


def problems(folder: str, tmp_path: Path) -> tuple[Problem, ...]:
    """What is said of the files of one folder, without those of the folders below it."""
    for file in (MANIFESTS / folder).glob("*.yaml"):
        shutil.copy(file, tmp_path)
    try:
        return load(tmp_path, check_cel=compile_error, fits=Matcher().fit).warnings
    except InvalidFleet as refusal:
        return refusal.problems


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_is_accepted_or_the_rule_is_named(folder: str, tmp_path: Path) -> None:
    found = problems(folder, tmp_path)
    errors = [problem for problem in found if problem.severity is Severity.ERROR]
    assert {f"{Path(problem.file).name}:{problem.line}": problem.rule for problem in errors} == REFUSED.get(folder, {})
    warnings = [problem for problem in found if problem.severity is Severity.WARNING]
    assert dict(sorted(Counter(problem.rule for problem in warnings).items())) == WARNED.get(folder, {})


def test_every_document_of_a_known_kind_is_valid_by_itself() -> None:
    seen = 0
    for file in sorted(MANIFESTS.rglob("*.yaml")):
        reading = read_file(file)
        assert reading.problems == []
        for document in reading.documents:
            assert isinstance(document.value, dict)
            if kind := KINDS.get((document.value["apiVersion"], document.value["kind"])):
                kind.parse(document.value)
                seen += 1
    assert seen >= 80
