"""Edits of documents by commands: one value in a text, and every other character of it as it was. Pure.

The place of the edit comes from the YAML parser. Its result is parsed again and has to be exactly what was meant;
where a text is laid out in a way that this does not do, the document is written anew with its comments kept.
"""

import difflib
import io
import re
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from api.errors import ModelplaneError
from api.terms import Taint

Plain = dict[str, Any]
Change = Callable[[Any], None]
Surgery = Callable[[list[str], Any], None]
"""Changes lines in place, given the parsed document with its positions."""


class NoEdit(ModelplaneError):
    """A document is laid out in a way that no edit was found for."""

    code = "MP138"


@dataclass(frozen=True, kw_only=True)
class Subject:
    """Which document of a text is meant."""

    kind: str
    name: str
    namespace: str = "default"
    """Left out of account for kinds without one."""

    def is_of(self, document: Any) -> bool:
        """Whether a parsed document is the one."""
        if not isinstance(document, dict) or document.get("kind") != self.kind:
            return False
        metadata = document.get("metadata") or {}
        is_named = metadata.get("name") == self.name
        return is_named and (self.kind == "InferenceCluster" or metadata.get("namespace", "default") == self.namespace)


def with_replicas(text: str, subject: Subject, replicas: int) -> str:
    """The text with another number of replicas.

    Raises:
        NoEdit: the document is not there, or no edit was found.

    """

    def change(document: Any) -> None:
        document["spec"]["replicas"] = replicas

    def surgery(lines: list[str], document: Any) -> None:
        spec = document["spec"]
        if "replicas" not in spec:
            _insert_key(lines, document, [f"replicas: {replicas}"], f'"replicas": {replicas}')
            return
        line, column = spec.lc.value("replicas")
        lines[line] = lines[line][:column] + re.sub(r"^[^\s,#}\]]+", str(replicas), lines[line][column:])

    return _edited(text, subject, change, surgery)


def with_taint(text: str, subject: Subject, taint: Taint) -> str:
    """The text with one more taint of its cluster, the first of them.

    Raises:
        NoEdit: the document is not there, or no edit was found.

    """
    plain = {"key": taint.key, "effect": taint.effect}
    flow = f"{{key: {taint.key}, effect: {taint.effect}}}"

    def change(document: Any) -> None:
        document["spec"]["taints"] = [plain, *(document["spec"].get("taints") or [])]

    def surgery(lines: list[str], document: Any) -> None:
        spec = document["spec"]
        if "taints" not in spec:
            quoted = f'"taints": [{{"key": "{taint.key}", "effect": "{taint.effect}"}}]'
            _insert_key(lines, document, ["taints:", f"- {flow}"], quoted)
            return
        taints = spec["taints"]
        if taints and not taints.fa.flow_style():
            line, _ = taints.lc.item(0)
            dash = lines[line].index("-")
            lines.insert(line, f"{lines[line][:dash]}- {flow}\n")
            return
        line, column = spec.lc.value("taints")
        rest = lines[line][column:].removeprefix("[")
        lines[line] = f"{lines[line][:column]}[{flow}{', ' if taints else ''}{rest}"

    return _edited(text, subject, change, surgery)


def without_taint(text: str, subject: Subject, key: str) -> str:
    """The text without its cluster's taints of this key.

    Raises:
        NoEdit: the document is not there, or no edit was found.

    """

    def change(document: Any) -> None:
        kept = [taint for taint in document["spec"].get("taints") or [] if taint["key"] != key]
        if kept:
            document["spec"]["taints"] = kept
        else:
            document["spec"].pop("taints", None)

    def surgery(lines: list[str], document: Any) -> None:
        spec = document["spec"]
        taints = spec["taints"]
        start, _ = spec.lc.key("taints")
        stay = [position for position, taint in enumerate(taints) if taint["key"] != key]
        first = taints.lc.item(0)[0]
        if first == start and len(stay) == 0:
            del lines[start]  # on one line with its key
            return
        firsts = [taints.lc.item(position)[0] for position in range(len(taints))]
        ends = [*firsts[1:], _end_of(lines, firsts[-1], lines[firsts[-1]].index("-"))]
        for position in reversed(range(len(taints))):
            if position not in stay:
                del lines[firsts[position] : ends[position]]
        if not stay:
            del lines[start]

    return _edited(text, subject, change, surgery)


def difference(before: str, after: str, file: str) -> str:
    """What an edit changes, as `diff -u` shows it."""
    lines = difflib.unified_diff(before.splitlines(keepends=True), after.splitlines(keepends=True), file, file)
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def _edited(text: str, subject: Subject, change: Change, surgery: Surgery) -> str:
    meant = _plain_documents(text)
    found = [document for document in meant if subject.is_of(document)]
    if len(found) != 1:
        raise NoEdit(f"{subject.kind} {subject.name} is not there once", hint="edit it by hand")
    change(found[0])
    attempts: tuple[Callable[[], str], ...] = (
        lambda: _by_surgery(text, subject, surgery),
        lambda: _written_anew(text, subject, change),
    )
    for attempt in attempts:
        try:
            edited = attempt()
            if _plain_documents(edited) == meant:
                return edited
        except (YAMLError, LookupError, TypeError, ValueError, AttributeError):
            continue
    raise NoEdit(f"{subject.kind} {subject.name} is laid out in a way that cannot be edited", hint="edit it by hand")


def _by_surgery(text: str, subject: Subject, surgery: Surgery) -> str:
    lines = text.splitlines(keepends=True)
    surgery(lines, next(found for found in YAML().load_all(text) if subject.is_of(found)))
    return "".join(lines)


def _written_anew(text: str, subject: Subject, change: Change) -> str:
    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 4096
    documents = list(yaml.load_all(text))
    for document in documents:
        if subject.is_of(document):
            change(document)
    stream = io.StringIO()
    yaml.dump_all(documents, stream)
    return stream.getvalue()


def _plain_documents(text: str) -> list[Any]:
    return [deepcopy(document) for document in YAML(typ="safe", pure=True).load_all(text)]


def _insert_key(lines: list[str], document: Any, block: list[str], flow: str) -> None:
    """Put a key first into the spec: as lines of its own, or inside of braces."""
    spec = document["spec"]
    if spec.fa.flow_style():
        line, column = document.lc.value("spec")
        rest = lines[line][column:].removeprefix("{")
        lines[line] = f"{lines[line][:column]}{{{flow}, {rest}"
        return
    line, column = spec.lc.key(list(spec)[0])  # noqa: RUF015 - an empty one is a LookupError
    lines[line:line] = [f"{' ' * column}{text}\n" for text in block]


def _end_of(lines: list[str], first: int, dash: int) -> int:
    """The line after an item of a list that begins on a line: the next one that is not deeper than its dash."""
    for number in range(first + 1, len(lines)):
        text = lines[number]
        if text.strip() and len(text) - len(text.lstrip()) <= dash:
            return number
    return len(lines)
