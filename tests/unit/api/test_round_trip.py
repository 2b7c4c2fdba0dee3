"""Random documents of every kind: what is valid comes back from a file as it was, what is not is told, never raised.

A random document begins as one that is valid and is edited at random; an edit that breaks it is taken back where a
valid document is wanted, and kept where anything is.
"""

import copy
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from ruamel.yaml import YAML
from unit.api.mutations import FLEETS
from unit.api.test_anything import VALUES
from unit.api.texts import problems

from api.base import Kind
from api.describe import describable
from api.loader import KINDS
from api.reading import read, read_file

Plain = Any
Place = tuple[str | int, ...]

DOCUMENTS: list[dict[str, Any]] = [
    document.value
    for reading in read(FLEETS).values()
    for document in reading.documents
    if isinstance(document.value, dict) and document.value["kind"] in describable()
]
TRAPS = [
    "no",
    "None",
    "null",
    "~",
    "0777",
    "1e3",
    "1_000",
    "true",
    "2026-11-29",
    "=",
    "<<",
    "- a",
    "a: b",
    "#",
    "'",
    "é😀",
    " ",
]
TEXTS = st.sampled_from(TRAPS) | st.from_regex(r"[a-z][a-z0-9-]{0,8}[a-z0-9]", fullmatch=True) | st.text(max_size=8)
EDITS = st.lists(
    st.tuples(
        st.integers(0, 10_000), st.sampled_from(("drop", "double", "set")), TEXTS, st.integers(-2, 2_000), VALUES
    ),
    max_size=8,
)
QUICK = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def places(value: Plain, at: Place = ()) -> Iterator[Place]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield (*at, key)
        yield from places(item, (*at, key))


def edited(plain: Plain, edit: tuple[int, str, str, int, Plain], *, stays_typed: bool) -> Plain:
    """A copy with one thing changed: left out, there twice, or another value of the same type or of any."""
    where, how, text, number, anything = edit
    changed = copy.deepcopy(plain)
    found = list(places(changed))
    *parents, last = found[where % len(found)]
    inner = changed
    for part in parents:
        inner = inner[part]
    before = inner[last]
    if how == "drop":
        del inner[last]
    elif how == "double" and isinstance(inner, list):
        inner.append(copy.deepcopy(before))
    elif how == "double":
        inner[f"{last}{text}"] = copy.deepcopy(before)
    elif not stays_typed:
        inner[last] = anything
    elif isinstance(before, bool):
        inner[last] = not before
    elif isinstance(before, int):
        inner[last] = number
    elif isinstance(before, str):
        inner[last] = text
    return changed


def kind_of(plain: Plain) -> type[Kind]:
    return KINDS[plain["apiVersion"], plain["kind"]]


def is_valid(plain: Plain) -> bool:
    try:
        kind_of(plain).parse(plain)
    except (ValidationError, KeyError):
        return False
    return True


def as_yaml(plain: Plain) -> str:
    stream = io.StringIO()
    YAML(typ="safe", pure=True).dump(plain, stream)
    return stream.getvalue()


@st.composite
def valid_documents(draw: st.DrawFn, base: dict[str, Any]) -> dict[str, Any]:
    plain = base
    for edit in draw(EDITS):
        candidate = edited(plain, edit, stays_typed=True)
        plain = candidate if is_valid(candidate) else plain
    return plain


def bases() -> dict[str, dict[str, Any]]:
    """For each kind the longest example, which uses most fields; of unions one for each choice."""
    found: dict[str, dict[str, Any]] = {}
    for plain in DOCUMENTS:
        spec = plain.get("spec", {})
        choice = spec.get("cluster", {}).get("source") or (spec.get("provisioning") or {}).get("provider") or ""
        name = f"{plain['kind']} {choice}".strip()
        found[name] = max(found.get(name, {}), plain, key=lambda one: len(json.dumps(one)))
    return found


BASES = bases()


def test_every_kind_is_among_the_examples() -> None:
    assert {name.partition(" ")[0] for name in BASES} == set(describable())


@pytest.mark.parametrize("base", BASES.values(), ids=BASES)
@QUICK
@given(data=st.data())
def test_a_valid_document_comes_back_as_it_was(base: dict[str, Any], tmp_path: Path, data: st.DataObject) -> None:
    plain = data.draw(valid_documents(base))
    first = kind_of(plain).parse(plain)
    for suffix, write in ((".yaml", as_yaml), (".json", json.dumps)):
        file = tmp_path / f"a{suffix}"
        file.write_text(write(plain))
        (read_back,) = read_file(file).documents
        assert read_back.value == plain
        file.write_text(write(shown(first, plain)))
        (dumped,) = read_file(file).documents
        second = kind_of(plain).parse(dumped.value)
        assert shown(second, plain) == shown(first, plain)


def shown(document: Kind, plain: Plain) -> Plain:
    """The document as plain data; values of a Secret, which are never shown, as they were written."""
    secret = {key: plain[key] for key in ("data", "stringData") if key in plain} if document.kind == "Secret" else {}
    return document.plain() | secret


@pytest.mark.parametrize("base", BASES.values(), ids=BASES)
@QUICK
@given(edits=EDITS)
def test_whatever_is_changed_the_answer_is_problems(base: dict[str, Any], tmp_path: Path, edits: list[Any]) -> None:
    plain: Plain = base
    for edit in edits:
        if list(places(plain)):
            plain = edited(plain, edit, stays_typed=False)
    (tmp_path / "a.json").write_text(json.dumps(plain))
    found = problems(tmp_path)
    assert all(problem.hint and problem.file and problem.code.startswith("MP1") for problem in found)
