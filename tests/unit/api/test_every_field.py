"""Whatever is wrong with a field, the loader says so once: file, line, object, field path and what to do."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from unit.api.mutations import FLEETS, Mutation, mutations, schema_fields

from api.errors import InvalidFleet, Problem, Severity
from api.loader import load

MUTATIONS = mutations()


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    copy = tmp_path_factory.mktemp("fleets") / "fleets"
    shutil.copytree(FLEETS, copy)
    return copy


@pytest.fixture
def mutated(request: pytest.FixtureRequest, copies: Path) -> Iterator[Mutation]:
    mutation: Mutation = request.param
    file = copies / mutation.file.relative_to(FLEETS)
    original = file.read_text()
    file.write_text(mutation.text)
    yield mutation
    file.write_text(original)


def errors(directory: Path) -> list[Problem]:
    try:
        load(directory)
    except InvalidFleet as refusal:
        return [problem for problem in refusal.problems if problem.severity is Severity.ERROR]
    return []


def test_the_examples_are_valid(copies: Path) -> None:
    assert {directory.name: errors(directory) for directory in copies.iterdir()} == {
        directory.name: [] for directory in FLEETS.iterdir()
    }


def test_the_examples_use_every_field_of_the_schema() -> None:
    assert schema_fields() - {mutation.field for mutation in MUTATIONS} == set()


@pytest.mark.parametrize("mutated", MUTATIONS, ids=lambda mutation: mutation.name, indirect=True)
def test_a_wrong_field_is_one_error_at_its_line(mutated: Mutation, copies: Path) -> None:
    file = copies / mutated.file.relative_to(FLEETS)
    found = errors(file.parent)
    assert [(problem.file, problem.line, problem.path) for problem in found] == [
        (str(file), mutated.line, mutated.path)
    ]
    assert found[0].hint
    assert found[0].subject.startswith(mutated.kind) or mutated.path.startswith(("kind", "apiVersion"))
    assert "very-secret" not in str(found[0])
    assert "dmVyeS1zZWNyZXQ" not in str(found[0])
