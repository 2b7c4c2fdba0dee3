"""One object in full, as `modelplane describe` shows it: where it is written, what it says, what became of it."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from cli.object_columns import Layout, object_table
from cli.options import Output
from cli.printing import as_plain, table
from cli.tables import age

Plain = dict[str, Any]

CONDITION_HEAD = ("TYPE", "STATUS", "REASON", "AGE", "MESSAGE")
_TOLD = frozenset({"apiVersion", "kind", "metadata", "status"})
"""Parts of an object that have lines of their own."""


def described(
    shown: Plain, *, place: str, related: Sequence[Plain], sizes: Mapping[str, int] | None, now: datetime
) -> str:
    """The object as text. `place` is the file and line of its document, `sizes` are those of a Secret's values."""
    return "\n".join(_lines(shown, place, related, sizes, now)) + "\n"


def _lines(
    shown: Plain, place: str, related: Sequence[Plain], sizes: Mapping[str, int] | None, now: datetime
) -> Iterator[str]:
    metadata = shown["metadata"]
    yield _fact("Name", metadata["name"])
    if metadata.get("namespace"):
        yield _fact("Namespace", metadata["namespace"])
    yield from _facts("Labels", metadata.get("labels") or {})
    yield from _facts("Annotations", metadata.get("annotations") or {})
    yield _fact("Kind", f"{shown['kind']} ({shown['apiVersion']})")
    yield _fact("Document", place or "none; stacks have it")
    for part in (key for key in shown if key not in _TOLD):
        if sizes is not None and part in ("data", "stringData"):
            continue
        yield f"{part[0].upper()}{part[1:]}:"
        yield from _yaml(shown[part])
    if sizes is not None:
        yield "Data:"
        yield from (f"  {key}: {size} bytes" for key, size in sorted(sizes.items()))
    status = shown.get("status")
    if status is None:
        return
    yield "Status:"
    yield from _yaml({key: value for key, value in status.items() if key != "conditions"})
    yield "Conditions:"
    rows = [
        (each["type"], each["status"], each.get("reason", "-"), _age(each, now), each.get("message", ""))
        for each in status.get("conditions", ())
    ]
    yield from _indented(table(CONDITION_HEAD, rows) if rows else "none\n")
    for kind in dict.fromkeys(other["kind"] for other in related):
        of_kind = [other for other in related if other["kind"] == kind]
        yield f"{kind}s:"
        yield from _indented(object_table(kind, of_kind, Layout(wide=True), now))


def _age(condition: Plain, now: datetime) -> str:
    return age(condition.get("lastTransitionTime"), now)


def _fact(name: str, value: str) -> str:
    return f"{f'{name}:':<13} {value}"


def _facts(name: str, values: Mapping[str, str]) -> Iterator[str]:
    """Each on a line of its own, below the first."""
    lines = [f"{key}={value}" for key, value in sorted(values.items())] or ["none"]
    yield _fact(name, lines[0])
    yield from (f"{'':<13} {line}" for line in lines[1:])


def _yaml(value: Any) -> Iterator[str]:
    if value in ({}, [], None, ""):
        yield "  none"
        return
    yield from _indented(as_plain(value, Output.YAML).removesuffix("...\n"))


def _indented(text: str) -> Iterator[str]:
    yield from (f"  {line}" for line in text.splitlines())
