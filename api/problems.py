"""What is wrong with a document, in words: from pydantic's errors and broken rules to one problem for each fault.

A message never holds a value of a Secret, and shows other values only where the value is the point.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

from pydantic import BaseModel, SecretStr, ValidationError
from pydantic_core import ErrorDetails

from api import rules, shape
from api.base import Fault, Kind, Path
from api.codes import Code
from api.errors import Problem, Severity
from api.grammar import DESCRIPTIONS
from api.reading import RawDocument

_ORDINARY_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_LONGEST_SHOWN = 400
_WANTED = {str: "a text", SecretStr: "a text", int: "a whole number", bool: "true or false"}
_TYPE_HINTS = {
    "a text": "put it in quotes",
    "a whole number": "write digits only, without quotes or a fraction",
    "true or false": "write true or false without quotes",
    "a list": "begin each entry with '- ' on a line of its own",
    "a mapping": "write its fields below it, indented, each as name: value",
}


def field_path(path: Path) -> str:
    """A path as messages show it: `spec.template.spec.engines[0].name`, `metadata.labels[a.b/c]`."""
    text = ""
    for part in path:
        if isinstance(part, str) and _ORDINARY_KEY.fullmatch(part):
            text += f".{part}"
        else:
            text += f"[{_printable(str(part))}]"
    return text.removeprefix(".")


def subject(value: object, namespaced: Mapping[str, bool]) -> str:
    """Kind and name of a document as far as they can be told; `namespaced` knows the kinds by name."""
    if not isinstance(value, dict):
        return ""
    kind = value.get("kind")
    metadata = value.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    name, namespace = metadata.get("name"), metadata.get("namespace")
    if not isinstance(kind, str):
        return _printable(name) if isinstance(name, str) else ""
    if not isinstance(name, str):
        return _printable(kind)
    if not namespaced.get(kind, False):
        return _printable(f"{kind} {name}")
    return _printable(f"{kind} {namespace if isinstance(namespace, str) and namespace else 'default'}/{name}")


def _printable(text: str) -> str:
    """A name on one line that no terminal obeys, cut where it is longer than any can be."""
    cut = text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"
    return cut if cut.isprintable() else "".join(each if each.isprintable() else repr(each)[1:-1] for each in cut)


def suggestion(wrong: str, known: Iterable[str]) -> str:
    """`did you mean …?` for a name that looks like a known one, else the known names, as a hint."""
    names = sorted(known)
    if near := near_name(wrong, names):
        return f"did you mean {near}?"
    return f"known here: {', '.join(names)}" if names else "remove it"


def near_name(wrong: str, known: Iterable[str]) -> str | None:
    """The known name that was probably meant; upper and lower case count for little."""
    by_lower = {name.lower(): name for name in known}
    matches = get_close_matches(wrong.lower(), by_lower, n=1, cutoff=0.6)
    return by_lower[matches[0]] if matches else None


def is_echo(detail: ErrorDetails) -> bool:
    """A list is called too short where its entries are wrong, although enough of them are there."""
    return detail["type"] == "too_short" and len(detail["input"]) >= detail["ctx"]["min_length"]


class Describer:
    """Problems of one document: the same file, subject and lines for all of them."""

    def __init__(self, document: RawDocument, subject: str) -> None:
        self.document = document
        self.subject = subject

    def problem(
        self, code: Code, path: Path, message: str, hint: str, severity: Severity = Severity.ERROR, rule: str = ""
    ) -> Problem:
        """One problem at a path of the document."""
        return Problem(
            code=code,
            message=message,
            file=str(self.document.file),
            line=self.document.line(path),
            subject=self.subject,
            path=field_path(path),
            hint=hint,
            severity=severity,
            rule=rule,
        )

    def fault(self, fault: Fault, at: Path, severity: Severity = Severity.ERROR) -> Problem:
        """A broken rule of the model at a path, or with severity WARNING a caution of it."""
        code = Code.CAUTION if severity is Severity.WARNING else Code.BROKEN_RULE
        if fault.rule == "schema":
            code = Code.DUPLICATE_ENTRY
        rule = "" if fault.rule == "schema" else rules.of_kind(self.subject.partition(" ")[0], fault.rule)
        return self.problem(code, (*at, *fault.at), fault.message, fault.hint, severity, rule)

    def cautions(self, kind: Kind) -> Iterator[Problem]:
        """Everything inside a valid document that is reported and goes on."""
        for path, model in shape.walk(kind):
            for fault in getattr(model, "cautions", tuple)():
                yield self.fault(fault, path, Severity.WARNING)

    def refusals(self, kind: type[Kind], error: ValidationError) -> Iterator[Problem]:
        """Every fault that pydantic found, one problem each."""
        details = [detail for detail in error.errors(include_url=False) if not is_echo(detail)]
        misspelt = _misspelt(kind, details)
        for detail in details:
            path = _path(kind, detail)
            if detail["type"] == "broken_rule":
                for fault in detail["ctx"]["faults"]:
                    yield self.fault(fault, path)
            elif detail["type"] == "extra_forbidden":
                yield self._unknown(kind, path, misspelt.get(path))
            elif detail["type"].startswith("union_tag"):
                yield self._undecided(kind, path, detail["input"])
            elif detail["type"] != "missing":
                yield replace(self._wrong(kind, path, detail), rule=rules.of_field(kind, path, detail["type"]))
            elif path not in misspelt.values():
                yield replace(self._missing(kind, path), rule=rules.of_field(kind, path, "missing"))

    def _undecided(self, kind: type[Kind], path: Path, value: dict[str, Any]) -> Problem:
        """The field that says what the others may be is missing, misspelt or none of its values."""
        here = shape.at(kind, path)
        name = shape.discriminator(here)
        if name in value:
            return self._wrong(kind, (*path, name), {"type": "literal_error", "input": value[name]})
        unknown = [key for key in value if key not in shape.fields(here)]
        typo = next((key for key in unknown if near_name(key, [name])), None)
        if typo is not None:
            return self.problem(Code.UNKNOWN_FIELD, (*path, typo), "unknown field", f"did you mean {name}?")
        return self._missing(kind, (*path, name))

    def _unknown(self, kind: type[Kind], path: Path, meant: Path | None) -> Problem:
        parent = shape.at(kind, path[:-1])
        known = shape.fields(parent)
        hint = f"did you mean {meant[-1]}?" if meant else suggestion(str(path[-1]), known)
        return self.problem(Code.UNKNOWN_FIELD, path, "unknown field", hint)

    def _missing(self, kind: type[Kind], path: Path) -> Problem:
        wanted = _wanted(shape.at(kind, path))
        return self.problem(Code.MISSING_FIELD, path, "is required", f"add {path[-1]}, {wanted}")

    def _wrong(self, kind: type[Kind], path: Path, detail: Mapping[str, Any]) -> Problem:
        name, limits = detail["type"], detail.get("ctx", {})
        if name == "string_pattern_mismatch":
            what = DESCRIPTIONS.get(limits["pattern"].removeprefix("^$|"), f"the form {limits['pattern']}")
            return self.problem(Code.WRONG_FORM, path, f"{detail['input']!r} has the wrong form", f"write {what}")
        if name == "literal_error":
            known = shape.choices(shape.at(kind, path))
            if isinstance(detail["input"], str):
                message = f"{detail['input']!r} is not one of {', '.join(known)}"
                return self.problem(Code.OUT_OF_RANGE, path, message, suggestion(detail["input"], known))
        if limit := _limit(name, limits):
            return self.problem(Code.OUT_OF_RANGE, path, *limit)
        wanted = _wanted(shape.at(kind, path))
        is_text = wanted == "a text" and isinstance(detail["input"], dict | list)
        hint = "write a text" if is_text else _TYPE_HINTS.get(wanted, f"write {wanted}")
        return self.problem(Code.WRONG_TYPE, path, f"must be {wanted}, not {given(detail['input'])}", hint)


def _misspelt(kind: type[Kind], details: list[ErrorDetails]) -> dict[Path, Path]:
    """Unknown fields that stand for a missing one beside them, so that one typo is one problem."""
    missing = {_path(kind, detail) for detail in details if detail["type"] == "missing"}
    pairs: dict[Path, Path] = {}
    for path in (_path(kind, detail) for detail in details if detail["type"] == "extra_forbidden"):
        parent = shape.at(kind, path[:-1])
        beside = [str(other[-1]) for other in missing - set(pairs.values()) if other[:-1] == path[:-1]]
        near = near_name(str(path[-1]), shape.fields(parent))
        if near in beside:
            pairs[path] = (*path[:-1], near)
        elif near is None and len(beside) == 1:
            pairs[path] = (*path[:-1], beside[0])
    return pairs


def _path(kind: type[Kind], detail: ErrorDetails) -> Path:
    return shape.document_path(kind, detail["loc"])


def _limit(name: str, limits: Mapping[str, Any]) -> tuple[str, str] | None:
    """Message and hint where a number, a text or a list is outside its limits."""
    number = {"greater_than_equal": ("ge", "at least"), "less_than_equal": ("le", "at most")}
    if name in number:
        key, words = number[name]
        return f"must be {words} {limits[key]}", f"write a number of {words} {limits[key]}"
    if name == "string_too_short":
        return "must not be empty", "write a value, or remove the field if it may be absent"
    if name == "string_too_long":
        return f"longer than {limits['max_length']} characters", f"shorten it to {limits['max_length']} characters"
    if name == "too_short":
        return f"needs at least {limits['min_length']} entry", "add an entry, or remove the field if it may be absent"
    if name == "too_long":
        return f"more than {limits['max_length']} entries", f"keep at most {limits['max_length']}"
    return None


def _wanted(kind: Any) -> str:
    if choices := shape.choices(kind):
        return choices[0] if len(choices) == 1 else f"one of {', '.join(choices)}"
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return "a mapping"
    return _WANTED.get(kind) or ("a list" if shape.is_list(kind) else "a mapping")


def given(value: object) -> str:
    """What kind of value was given, in words."""
    names = {bool: "true or false", int: "a whole number", float: "a number with a fraction", str: "a text"}
    names |= {list: "a list", dict: "a mapping", type(None): "null"}
    return names.get(type(value), "something else")
