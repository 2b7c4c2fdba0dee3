"""One mutation for every way a field of the schema can be wrong, made by walking the models beside valid documents.

A mutation replaces the text of one key or value in place, so every other line stays where it is and the place that an
error must name is known.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from api import shape
from api.base import Path as FieldPath
from api.loader import KINDS
from api.nodes import Node
from api.problems import field_path
from api.reading import RawDocument, read_file

FLEETS = Path(__file__).parent / "fleets"


@dataclass(frozen=True)
class Mutation:
    """A file with one fault, and what the error must say about it."""

    name: str
    file: Path
    text: str
    line: int
    kind: str
    path: str
    field: tuple[str, str]
    """Model and field name."""
    what: str


def mutations() -> list[Mutation]:
    """The mutations of every field, each at the first place where the examples use it."""
    first: dict[tuple[tuple[str, str], str], Mutation] = {}
    for file in sorted(FLEETS.glob("*/*")):
        for document in read_file(file).documents:
            for mutation in _of_document(document):
                first.setdefault((mutation.field, mutation.what), mutation)
    return list(first.values())


def schema_fields() -> set[tuple[str, str]]:
    """Every field of every kind that a directory may hold, by model and name."""
    found: set[tuple[str, str]] = set()
    pending: list[Any] = [kind for (version, _), kind in KINDS.items() if "upbound" not in version]
    while pending:
        model = pending.pop()
        for name, info in shape.fields(model).items():
            if (model.__name__, name) not in found:
                found.add((model.__name__, name))
                pending += _models_in(info.annotation)
    return found


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models_in(part)


def _of_document(document: RawDocument) -> Iterator[Mutation]:
    assert isinstance(document.value, dict)
    kind = KINDS.get((document.value["apiVersion"], document.value["kind"]))
    if kind is not None:
        yield from _of_model(document, kind, document.root, ())


def _of_model(document: RawDocument, model: type[BaseModel], node: Node, at: FieldPath) -> Iterator[Mutation]:
    assert node.shape == "map"
    known = shape.fields(model)
    for key, value in node.value:
        path, line, info = (*at, key.value), key.line, known[key.value]
        typo = key.value + key.value[-1]
        written = json.dumps(typo) if document.file.suffix == ".json" else typo
        yield _mutation(document, "typo", model, (key, written, line, (*at, typo), path))
        for what, replacement, below in _wrong_values(info, _plain(document, path)):
            line = (value if below else key).line
            yield _mutation(document, what, model, (value, json.dumps(replacement), line, (*path, *below), path))
        yield from _inside(document, info.annotation, value, path)


def _inside(document: RawDocument, annotation: Any, node: Node, at: FieldPath) -> Iterator[Mutation]:
    """The models inside a list or map, each entry."""
    kind = shape.bare(annotation)
    if model := shape.variant(kind, _plain(document, at)):
        yield from _of_model(document, model, node, at)
    elif get_origin(kind) is tuple:
        for index, item in enumerate(node.value):
            yield from _inside(document, get_args(kind)[0], item, (*at, index))
    elif get_origin(kind) is dict:
        for key, item in node.value:
            yield from _inside(document, get_args(kind)[1], item, (*at, key.value))


def _mutation(
    document: RawDocument, what: str, model: type[BaseModel], change: tuple[Node, str, int, FieldPath, FieldPath]
) -> Mutation:
    node, replacement, line, blamed, field = change
    text = document.file.read_text()
    start = node.start
    end = start + len(text[start : node.end].rstrip())
    name = field_path(field)
    return Mutation(
        name=f"{document.file.relative_to(FLEETS)}:{node.line} {name} {what}",
        file=document.file,
        text=text[:start] + replacement + text[end:],
        line=line,
        kind=str(document.value["kind"]) if isinstance(document.value, dict) else "",
        path=field_path(blamed),
        field=(model.__name__, str(field[-1])),
        what=what,
    )


def _plain(document: RawDocument, path: FieldPath) -> Any:
    value: Any = document.value
    for part in path:
        value = value[part]
    return value


def _wrong_values(info: FieldInfo, value: Any) -> Iterator[tuple[str, Any, FieldPath]]:
    """What is wrong, a value, and where below the field the fault is."""
    kind = shape.bare(info.annotation)
    yield from ((f"wrong type {json.dumps(wrong)}", wrong, ()) for wrong in _wrong_types(kind))
    yield from _outside(info.annotation, list(info.metadata), value)
    if get_origin(kind) is tuple and not _has_model(kind):
        yield "wrong type of entry", [7], (0,)
    if get_origin(kind) is dict and not _has_model(kind) and get_args(kind)[1] is not Any:
        yield "wrong type of value", {"key": 7}, ("key",)


def _wrong_types(kind: Any) -> list[Any]:
    if kind is int:
        return ["many", True, 1.0, [1]]
    if kind is bool:
        return ["yes", 1]
    if kind in (str, SecretStr) or get_origin(kind) is Literal:
        return [7, True, ["text"], {"a": "b"}]
    return ["text", 7, {"a": "b"} if get_origin(kind) is tuple else ["entry"]]


def _has_model(kind: Any) -> bool:
    return any(True for _ in _models_in(kind))


def _outside(annotation: Any, metadata: list[Any], value: Any) -> Iterator[tuple[str, Any, FieldPath]]:
    """Values beyond each limit of the field."""
    limits = dict(_limits(annotation, metadata))
    kind = shape.bare(annotation)
    beyond: dict[str, tuple[str, Any]] = {}
    if kind is int:
        beyond = {"ge": ("too small", limits.get("ge", 0) - 1), "le": ("too large", limits.get("le", 0) + 1)}
    elif kind is str:
        beyond = {"pattern": ("wrong form", "Not Valid!")}
        beyond["min_length"] = ("too short", "")
        beyond["max_length"] = ("too long", "a" * (limits.get("max_length", 0) + 1))
    elif get_origin(kind) is tuple:
        many = (value * (limits.get("max_length", 0) + 1))[: limits.get("max_length", 0) + 1]
        beyond = {"min_length": ("too few", []), "max_length": ("too many", many)}
    elif get_origin(kind) is dict:
        entry = next(iter(value.values()))
        many = {f"key{number}": entry for number in range(limits.get("max_length", 0) + 1)}
        beyond = {"min_length": ("too few", {}), "max_length": ("too many", many)}
    elif get_origin(kind) is Literal:
        yield "no such value", f"{get_args(kind)[0]}x", ()
    yield from ((*wrong, ()) for limit, wrong in beyond.items() if limit in limits)


def _limits(annotation: Any, metadata: list[Any]) -> Iterator[tuple[str, Any]]:
    for item in metadata:
        for name in ("ge", "le", "min_length", "max_length", "pattern"):
            if getattr(item, name, None) is not None:
                yield name, getattr(item, name)
        yield from _limits(None, list(getattr(item, "metadata", ())))
    if get_origin(annotation) is Annotated:
        inner, *more = get_args(annotation)
        yield from _limits(inner, more)
    elif get_origin(annotation) in (Union, UnionType):
        for option in get_args(annotation):
            yield from _limits(option, [])
