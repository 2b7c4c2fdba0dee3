"""What the tables of rules share: which rules a document breaks, and where."""

from typing import Any

from builders import Plain
from pydantic import ValidationError

from api import shape
from api.base import Kind
from api.problems import field_path, is_echo

Broken = tuple[str, str]


def broken(kind: type[Kind], plain: Plain) -> list[Broken]:
    """Rule and field path of every rule that the document breaks."""
    try:
        kind.parse(plain)
    except ValidationError as error:
        details = [detail for detail in error.errors() if not is_echo(detail)]
        assert {detail["type"] for detail in details} == {"broken_rule"}, details
        return [
            (fault.rule, field_path((*shape.document_path(kind, detail["loc"]), *fault.at)))
            for detail in details
            for fault in detail["ctx"]["faults"]
            if fault.message and fault.hint
        ]
    return []


def cautioned(kind: Kind) -> list[Broken]:
    return [
        (fault.rule, field_path((*path, *fault.at)))
        for path, model in shape.walk(kind)
        for fault in model.cautions()  # type: ignore[attr-defined]  # every part of a kind is a Model
    ]


def changed(plain: Plain, path: str, value: Any) -> Plain:
    """The document with one field set; numbers in the dotted path are entries of lists."""
    *parents, last = (int(part) if part.isdigit() else part for part in path.split("."))
    inner: Any = plain
    for part in parents:
        inner = inner.setdefault(part, {}) if isinstance(inner, dict) else inner[part]
    inner[last] = value
    return plain
