"""From files to plain data with line numbers: which files, what a document is, what a text may not do.

Aliases are counted, files are limited, a key may appear once, and a file that cannot be read is a problem rather than
an absence.
"""

import os
import re
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from api.base import Path as FieldPath
from api.codes import Code
from api.errors import Problem, Severity
from api.nodes import Node, UnusableText, documents

SUFFIXES = (".yaml", ".yml", ".json")
STDIN = Path("-")
"""Standard input, as `-f -` names it."""
SHOWN_STDIN = Path("<stdin>")
LARGEST_FILE = 20 * 1024 * 1024
MOST_ALIASED_VALUES = 100_000
"""How many values aliases may add to those that a document spells out."""


@dataclass(frozen=True)
class RawDocument:
    """One document as plain data. `line` finds any field of it in the file."""

    file: Path
    value: object
    root: Node = field(repr=False)

    def line(self, path: FieldPath = ()) -> int:
        """The line of the field at a path, or of the last part of the path that is there; counted from 1."""
        node, line = self.root, self.root.line
        for part in path:
            found = node.child(part)
            if found is None:
                break
            line, node = found
        return line


@dataclass
class Reading:
    """All documents that could be read, and every problem on the way. `complete` is False after an error."""

    documents: list[RawDocument] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        """Whether every document was read, so that what is not here does not exist."""
        return all(problem.severity is Severity.WARNING for problem in self.problems)


def read(directory: Path, named: Iterable[Path] = ()) -> dict[Path, Reading]:
    """Read the files of a directory and the named ones, each once, in order of their names.

    What is named may be a directory or STDIN, too. The key is the file as a message shows it. A directory that cannot
    be listed is an entry with a problem.
    """
    readings: dict[Path, Reading] = {}
    seen: set[Path] = set()
    for place in (directory, *named):
        for file in _files(place, readings):
            identity = Path(os.path.realpath(file))
            if identity not in seen:
                seen.add(identity)
                readings[file] = read_file(file, regular_only=file != place)
    if STDIN in readings:
        readings[SHOWN_STDIN] = readings.pop(STDIN)
    return readings


def read_file(file: Path, *, regular_only: bool = False) -> Reading:
    """Read the documents of one file, or of STDIN; what is wrong with it is in the result, never raised."""
    reading = Reading()
    shown = SHOWN_STDIN if file == STDIN else file
    try:
        text = _text(_content(file, regular_only=regular_only), shown, reading)
    except OSError as error:
        hint = "make it readable, or move it out of the fleet directory"
        reading.problems.append(_problem(Code.UNREADABLE, shown, 1, f"cannot be read: {error.strerror or error}", hint))
        return reading
    if text is not None:
        _parse(shown, text, reading)
    return reading


def fleets_below(directory: Path) -> Iterator[tuple[Path, tuple[Path, ...]]]:
    """Tell fleets apart below a directory: each folder that has documents, and the paths to load for it.

    A folder with a Fleet is one with all that lies below it; any other is one of its own, without those below.
    """
    for folder, folders, files in os.walk(directory):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        documents = tuple(Path(folder, name) for name in sorted(files) if _is_document(name))
        if any(_has_fleet(file) for file in documents):
            folders.clear()
            yield Path(folder), (Path(folder),)
        elif documents:
            yield Path(folder), documents


def _has_fleet(file: Path) -> bool:
    values = (document.value for document in read_file(file, regular_only=True).documents)
    return any(isinstance(value, dict) and value.get("kind") == "Fleet" for value in values)


def _files(directory: Path, readings: dict[Path, Reading]) -> Iterator[Path]:
    is_file = not directory.is_dir() and (os.path.lexists(directory) or directory.suffix in SUFFIXES)
    if directory == STDIN or is_file:
        yield directory
        return

    def unlistable(error: OSError) -> None:
        place = Path(error.filename or directory)
        message = f"cannot be listed: {error.strerror}"
        hint = (
            "name a directory with the fleet's documents" if place == directory else "make it readable, or move it away"
        )
        readings[place] = Reading(problems=[_problem(Code.UNREADABLE, place, 0, message, hint)])

    visited: set[str] = set()
    for folder, folders, files in os.walk(directory, onerror=unlistable, followlinks=True):
        real = os.path.realpath(folder)
        folders[:] = sorted(name for name in folders if not name.startswith(".")) if real not in visited else []
        if real in visited:
            continue
        visited.add(real)
        yield from (Path(folder, name) for name in sorted(files) if _is_document(name))


def is_read_from(directory: Path, file: Path) -> bool:
    """Whether a file of this name is, or would be, read among the documents of a directory."""
    place, root = Path(os.path.realpath(file)), Path(os.path.realpath(directory))
    if place == root:
        return True
    if not place.is_relative_to(root) or not _is_document(place.name):
        return False
    return not any(folder.startswith(".") for folder in place.relative_to(root).parts[:-1])


def _is_document(name: str) -> bool:
    pulumi = name.startswith("Pulumi.") and name.endswith((".yaml", ".yml"))
    return name.endswith(SUFFIXES) and not name.startswith(".") and not pulumi


def _text(content: bytes, file: Path, reading: Reading) -> str | None:
    if len(content) > LARGEST_FILE:
        message = f"larger than {LARGEST_FILE // 1024 // 1024} MiB"
        reading.problems.append(_problem(Code.TOO_LARGE, file, 1, message, "split it into several files"))
        return None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        reading.problems.append(_not_text(file, content, error.start))
        return None
    if "\0" in text:
        reading.problems.append(_not_text(file, content, content.index(0)))
        return None
    if not text.strip():
        hint = "write a document, or remove the file: an emptied file must not look like a removed deployment"
        reading.problems.append(_problem(Code.EMPTY_FILE, file, 1, "the file is empty", hint))
        return None
    return text


def _content(file: Path, *, regular_only: bool) -> bytes:
    if file == STDIN:
        return sys.stdin.buffer.read(LARGEST_FILE + 1)
    if regular_only and not stat.S_ISREG(file.stat().st_mode):
        raise OSError(0, "it is no regular file")
    with file.open("rb") as stream:
        return stream.read(LARGEST_FILE + 1)


def _not_text(file: Path, content: bytes, at: int) -> Problem:
    line = content.count(b"\n", 0, at) + 1
    hint = "save it as UTF-8, or move it out of the fleet directory"
    return _problem(Code.NOT_TEXT, file, line, "binary data or another encoding than UTF-8", hint)


def _parse(file: Path, text: str, reading: Reading) -> None:
    found = 0
    try:
        for root in documents(text):
            found += 1
            _add_document(file, root, reading)
    except UnusableText as error:
        if error.is_too_deep:
            hint = "check brackets and indentation"
            problem = _problem(Code.TOO_LARGE, file, error.line, "nested too deeply to be a document", hint)
        else:
            hint = f"{error.hint}; nothing below it was read"
            problem = _problem(Code.NOT_YAML, file, error.line, f"not YAML or JSON: {error.message}", hint)
        reading.problems.append(problem)
        return
    if not found:
        reading.problems.append(_empty(file, 1))


def _add_document(file: Path, root: Node, reading: Reading) -> None:
    if root.tag == "null":
        reading.problems.append(_empty(file, root.line))
        return
    construction = _Construction(file)
    value = construction.value(root)
    if construction.aliased > MOST_ALIASED_VALUES:
        message = f"aliases expand to more than {MOST_ALIASED_VALUES} values"
        hint = "write the values out, or share less"
        reading.problems.append(_problem(Code.TOO_LARGE, file, root.line, message, hint))
        return
    reading.problems.extend(construction.problems)
    if not construction.problems:
        reading.documents.extend(_items(RawDocument(file, value, root)))


def _items(document: RawDocument) -> Iterator[RawDocument]:
    """The document, or what a `kind: List` holds, as `kubectl get -o yaml` writes it."""
    value = document.value
    if not isinstance(value, dict) or (value.get("apiVersion"), value.get("kind")) != ("v1", "List"):
        yield document
        return
    found = document.root.child("items")
    items = value.get("items")
    if found is None or not isinstance(items, list):
        yield document
        return
    for item, node in zip(items, found[1].value, strict=True):
        yield from _items(RawDocument(document.file, item, node))


class _Construction:
    """Plain data out of the nodes of one document; every alias shares the value of its anchor."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.problems: list[Problem] = []
        self.aliased = 0
        self._done: dict[int, tuple[Any, int]] = {}
        self._open: set[int] = set()
        self._root: Node | None = None

    def value(self, node: Node) -> Any:
        """Construct a document; `problems` and `aliased` tell whether it may be used."""
        self._root = node
        return self._construct(node)[0]

    def _construct(self, node: Node) -> tuple[Any, int]:
        """A value, and how many values it is made of."""
        return self._shared(node) if node.is_shared else self._fresh(node)

    def _shared(self, node: Node) -> tuple[Any, int]:
        identity = id(node)
        if identity in self._done:
            value, size = self._done[identity]
            self.aliased += size
            return value, size
        if identity in self._open:
            self._refuse(Code.NOT_YAML, node, "an alias refers to what it is part of", "write the value out")
            return None, 1
        self._open.add(identity)
        made = self._fresh(node)
        self._open.discard(identity)
        self._done[identity] = made
        return made

    def _fresh(self, node: Node) -> tuple[Any, int]:
        if node.shape == "scalar":
            return self._scalar(node), 1
        if node.shape == "map":
            return self._mapping(node)
        if node.tag != "seq":
            self._refuse_tag(node)
            return None, 1
        items = [self._construct(item) for item in node.value]
        return [value for value, _ in items], 1 + sum(size for _, size in items)

    def _mapping(self, node: Node) -> tuple[Any, int]:
        if node.tag != "map":
            self._refuse_tag(node)
            return None, 1
        own: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        total = 1
        for key_node, value_node in node.value:
            value, size = self._construct(value_node)
            total += size
            if key_node.tag == "merge":
                self._merge(merged, value, value_node)
            elif (key := self._key(key_node)) is not None:
                if key in own:
                    self._refuse_second(key, key_node, node)
                own[key] = value
        return (merged | own if merged else own), total

    def _refuse_second(self, key: str, node: Node, mapping: Node) -> None:
        first = next(other for other, _ in mapping.value if other.value == node.value)
        message = f"the key {key} is already on line {first.line}"
        is_document = key in ("apiVersion", "kind") and mapping is self._root
        hint = "keep one of the two, or write --- between two documents" if is_document else "keep one of the two"
        self._refuse(Code.DUPLICATE_KEY, node, message, hint)

    def _merge(self, merged: dict[str, Any], value: Any, node: Node) -> None:
        for source in value if isinstance(value, list) else [value]:
            if isinstance(source, dict):
                merged.update({key: item for key, item in source.items() if key not in merged})
            else:
                self._refuse(Code.NOT_YAML, node, "<< takes a mapping", "write << : *anchor of a mapping")

    def _key(self, node: Node) -> str | None:
        if node.shape == "scalar" and node.tag != "null":
            return _joined_surrogates(node.value)
        self._refuse(Code.NOT_YAML, node, "a key must be a text", "write a plain name before the colon")
        return None

    def _scalar(self, node: Node) -> Any:
        make = _MAKERS.get(node.tag)
        if make is None:
            self._refuse_tag(node)
            return None
        try:
            return make(node.value)
        except AmbiguousNumber as error:
            self._refuse(
                Code.NOT_YAML, node, str(error), "put it in quotes if it is a text, else write it without the zero"
            )
        except (ValueError, KeyError):
            self._refuse(Code.NOT_YAML, node, "no such number or text", "put it in quotes if it is a text")
        return None

    def _refuse_tag(self, node: Node) -> None:
        shown = node.tag if node.tag.startswith("!") else f"!!{node.tag}"
        self._refuse(Code.NOT_YAML, node, f"the tag {shown} is not supported", "remove the tag")

    def _refuse(self, code: Code, node: Node, message: str, hint: str) -> None:
        self.problems.append(_problem(code, self.file, node.line, message, hint))


class AmbiguousNumber(Exception):
    """A number with a leading zero: octal to YAML 1.1 and kubectl, decimal to YAML 1.2."""


def _integer(text: str) -> int:
    digits = text.replace("_", "").lstrip("+-")
    if len(digits) > 1 and digits[0] == "0" and digits.isdigit():
        octal = f"{int(digits, 8)} to kubectl and " if not set(digits) & set("89") else ""
        raise AmbiguousNumber(f"{text} is {octal}{int(digits)} to YAML 1.2")
    return int(text.replace("_", ""), 0)


def _number(text: str) -> float:
    return float(re.sub(r"\.(inf|nan)", r"\1", text.replace("_", ""), flags=re.IGNORECASE))


def _joined_surrogates(text: str) -> str:
    """JSON writes characters beyond the basic plane as two escapes, which YAML reads as two characters."""
    if not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text):
        return text.encode("utf-16", "surrogatepass").decode("utf-16")
    return text


_MAKERS: dict[str, Callable[[str], Any]] = {
    "null": lambda _: None,
    "int": _integer,
    "float": _number,
    "bool": lambda text: {"true": True, "false": False}[text.lower()],
    **dict.fromkeys(("str", "timestamp", "value", "merge"), _joined_surrogates),
}


def _empty(file: Path, line: int) -> Problem:
    hint = "remove the file or the separator if nothing is meant"
    return _problem(Code.EMPTY_DOCUMENT, file, line, "a document without content is skipped", hint, Severity.WARNING)


def _problem(
    code: Code, file: Path, line: int, message: str, hint: str, severity: Severity = Severity.ERROR
) -> Problem:
    return Problem(code=code, message=message, file=str(file), line=line, hint=hint, severity=severity)
