"""Manifests of upstream's users work unchanged, each directory of theirs by itself."""

from pathlib import Path

import pytest

from api.errors import Severity
from api.loader import KINDS, _Loading
from api.reading import read_file

MANIFESTS = Path(__file__).parents[4] / "shared" / "manifests"


@pytest.mark.skipif(not MANIFESTS.is_dir(), reason="upstream's manifests are not beside this checkout")
def test_every_document_of_a_known_kind_is_valid() -> None:
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


@pytest.mark.skipif(not MANIFESTS.is_dir(), reason="upstream's manifests are not beside this checkout")
@pytest.mark.parametrize("name", ["concepts", "examples/kimi-k2", "getting-started/eks", "getting-started/gke"])
def test_a_directory_of_upstream_loads(name: str) -> None:
    loading = _Loading(MANIFESTS / name, ())
    assert [problem for problem in loading.problems if problem.severity is Severity.ERROR] == []
