"""`modelplane explain KIND[.FIELD...]`: the texts of `api.describe`, laid out for a terminal."""

import textwrap
from collections.abc import Iterator
from dataclasses import asdict

from api.describe import Description, FieldText, describe
from cli.options import Output
from cli.printing import data, print_plain

WIDTH = 96


def explain_kind(what: str, output: Output) -> None:
    """Print what a kind or a field of it means.

    Raises:
        InvocationError: no kind or no field is called so.

    """
    found = describe(what)
    if output is Output.TABLE:
        data("\n".join(_lines(found)))
        return
    plain = {
        "kind": found.kind,
        "apiVersion": found.api_version,
        "path": ".".join(found.path),
        **_plain(found.field),
        "fields": [_plain(field) for field in found.fields],
        "rules": [
            {"id": rule.id, "severity": str(rule.severity), "code": str(rule.code), "meaning": rule.meaning}
            for rule in found.rules
        ],
    }
    print_plain(plain, output)


def _lines(found: Description) -> Iterator[str]:
    yield f"KIND:     {found.kind}"
    yield f"VERSION:  {found.api_version}"
    if found.path:
        yield f"FIELD:    {'.'.join(found.path)} {_signature(found.field)}"
    yield ""
    yield "DESCRIPTION:"
    yield from _wrapped(found.field.meaning or "(no text)", 4)
    yield from (f"    {line}" for line in _facts(found.field))
    if found.fields:
        yield ""
        yield "FIELDS:"
    for field in found.fields:
        yield f"  {field.name} {_signature(field)}"
        yield from _wrapped(field.meaning, 4)
        yield from (f"    {line}" for line in _facts(field))
    if found.rules:
        yield ""
        yield "RULES:"
    for rule in found.rules:
        yield from _wrapped(f"{rule.id} ({rule.severity}): {rule.meaning}", 2, 6)


def _signature(field: FieldText) -> str:
    return f"<{field.type}>" + (" -required-" if field.required else "")


def _facts(field: FieldText) -> Iterator[str]:
    if field.limits:
        yield f"limits: {'; '.join(field.limits)}"
    if field.default is not None:
        yield f"default: {field.default}"


def _wrapped(text: str, indent: int, below: int | None = None) -> list[str]:
    further = indent if below is None else below
    return textwrap.wrap(text, WIDTH, initial_indent=" " * indent, subsequent_indent=" " * further)


def _plain(field: FieldText) -> dict[str, object]:
    return {key: value for key, value in asdict(field).items() if value not in (None, "", ())}
