"""A page of documentation for each kind in Markdown, made from the models and the rules.

What a field means is said once, at its model; `explain`, the JSON schemas and these pages repeat it.
"""

from collections.abc import Iterator

from api.base import Kind
from api.describe import SHORT_NAMES, Description, FieldText, describable, describe
from api.errors import Severity
from api.rules import RULES

_EVERY_KIND = "every kind"
_ENVELOPE = ("apiVersion", "kind")


def pages() -> dict[str, str]:
    """The page of each kind that documents may be of, by the kind's name."""
    return {name: page(name) for name in describable()}


def page(name: str) -> str:
    """The page of one kind: what it is, every field below it, and the rules that `validate` holds it to.

    Raises:
        InvocationError: no kind is called so.

    """
    about = describe(name)
    kind = describable()[about.kind]
    lines = [
        f"# {about.kind}",
        "",
        about.field.meaning,
        "",
        *_facts(about, kind),
        "",
        "## Fields",
        "",
        "Fields in bold are required where what holds them is there.",
        "",
        "| field | type | meaning |",
        "|---|---|---|",
        *(_row(path, field) for path, field in _fields(about)),
        "",
        *_rules(about.kind),
    ]
    return "\n".join(lines)


def _facts(about: Description, kind: type[Kind]) -> Iterator[str]:
    short = SHORT_NAMES.get(about.kind, "")
    called = f", in short `{short}`" if short and short != about.kind.lower() else ""
    where = "Its documents are in a namespace" if kind.namespaced else "Its documents are of the whole fleet"
    yield f"`apiVersion: {about.api_version}`{called}. {where}."


def _fields(about: Description, path: tuple[str, ...] = ()) -> Iterator[tuple[str, FieldText]]:
    """Every field below, depth first, with its path as documents spell it."""
    for field in about.fields:
        if not path and field.name in _ENVELOPE:
            continue
        here = (*path, field.name)
        yield ".".join(here), field
        below = describe(".".join((about.kind, *here)))
        mark = "[]" if field.type.startswith("[]") else ".*" if field.type.startswith("map[") else ""
        for inner, text in _fields(below, here):
            rest = inner.removeprefix(".".join(here)).removeprefix(".")
            yield f"{'.'.join(here)}{mark}.{rest}", text


def _row(path: str, field: FieldText) -> str:
    name = f"**`{path}`**" if field.required else f"`{path}`"
    said = [_sentence(field.meaning), *(_sentence(limit) for limit in field.limits)]
    if field.default is not None:
        said.append(f"Default: `{field.default}`.")
    return f"| {name} | {field.type} | {_cell(' '.join(part for part in said if part))} |"


def _sentence(text: str) -> str:
    plain = text.strip()
    if not plain:
        return ""
    return f"{plain[0].upper()}{plain[1:]}{'' if plain.endswith(('.', '!', '?', ':')) else '.'}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace(">", "&gt;")


def _rules(name: str) -> Iterator[str]:
    """What `validate` holds documents of this kind to, besides types and limits."""
    yield "## Rules"
    yield ""
    yield "| id | what holds | code | otherwise |"
    yield "|---|---|---|---|"
    for rule in RULES.values():
        if rule.kind in (name, _EVERY_KIND):
            worst = "an error" if rule.severity is Severity.ERROR else "a warning"
            yield f"| {rule.id} | {_cell(rule.meaning)} | {rule.code} | {worst} |"
    yield ""
