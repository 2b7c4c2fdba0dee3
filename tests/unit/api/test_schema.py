"""JSON schemas: as they lie in docs/schema, accepting what loads and refusing what does not."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from unit.api.mutations import Mutation, mutations

from api.describe import describable
from api.reading import read, read_file
from api.schema import EVERY_KIND, schemas

ROOT = Path(__file__).resolve().parents[3]
GOLDEN = ROOT / "docs" / "schema"
MADE = schemas()
VALIDATORS = {name: jsonschema.Draft7Validator(schema) for name, schema in MADE.items()}
EXAMPLES = [
    document.value
    for folder in (ROOT / "examples" / "local", Path(__file__).parent / "fleets")
    for reading in read(folder).values()
    for document in reading.documents
]
OURS: list[dict[str, Any]] = [
    value for value in EXAMPLES if isinstance(value, dict) and value.get("kind") in describable()
]


def test_docs_hold_these_schemas() -> None:
    found = {file.stem: json.loads(file.read_text()) for file in GOLDEN.glob("*.json")}
    assert found == MADE, "write them again with: modelplane schema --directory docs/schema"


@pytest.mark.parametrize("name", sorted(MADE))
def test_a_schema_is_one(name: str) -> None:
    jsonschema.Draft7Validator.check_schema(MADE[name])


def test_documents_that_load_are_accepted() -> None:
    assert len(OURS) > 20
    for value in OURS:
        for name in (value["kind"], EVERY_KIND):
            errors = [f"{error.json_path}: {error.message[:80]}" for error in VALIDATORS[name].iter_errors(value)]
            assert errors == [], value["metadata"]


def faults() -> list[Mutation]:
    """One typo, and one value outside its limits or of a wrong type, for every field that has them."""
    return [found for found in mutations() if found.kind in describable()]


def test_every_single_fault_of_a_field_is_refused(tmp_path: Path) -> None:
    passed = []
    for fault in faults():
        file = tmp_path / fault.file.name
        file.write_text(fault.text)
        values = [document.value for document in read_file(file).documents]
        if not any(any(VALIDATORS[EVERY_KIND].iter_errors(value)) for value in values):
            passed.append(fault.name)
    assert [name for name in passed if "wrong type 1.0" not in name] == []


@pytest.mark.parametrize("name", sorted(describable()))
def test_every_field_says_what_it_means(name: str) -> None:
    silent = [
        f"{model}.{field}"
        for model, schema in {name: MADE[name], **MADE[name]["definitions"]}.items()
        for field, inner in schema.get("properties", {}).items()
        if "description" not in inner and "$ref" not in inner and "const" not in inner
    ]
    assert silent == []
