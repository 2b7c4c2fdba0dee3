"""From YAML or JSON text to a tree of nodes that know their place: one for each mapping, list and scalar.

The parser is libyaml where PyYAML was built with it, else PyYAML's own, slower with the same answers. Only its events
are used: depth, anchors and what a plain scalar stands for are decided here, so nothing is ever instantiated.

Plain scalars follow YAML 1.2: `no`, `on`, `None` and a date are texts. Numbers with a leading zero are refused, because
readers disagree about their value.
"""

import re
from collections.abc import Iterator
from typing import Any, Final, Literal

import yaml

_FASTEST: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

DEEPEST = 100
"""How many mappings and lists may lie in one another."""

_TAG: Final = "tag:yaml.org,2002:"
_NOT_PRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_PLAIN: tuple[tuple[str, str, re.Pattern[str]], ...] = (
    ("null", "~nN", re.compile(r"~|null|Null|NULL")),
    ("bool", "tTfF", re.compile(r"true|True|TRUE|false|False|FALSE")),
    ("int", "-+0123456789", re.compile(r"[-+]?(0b[01_]+|0o[0-7_]+|0x[0-9a-fA-F_]+|[0-9][0-9_]*)")),
    (
        "float",
        "-+0123456789.",
        re.compile(
            r"[-+]?[0-9][0-9_]*\.[0-9_]*([eE][-+]?[0-9]+)?|[-+]?[0-9][0-9_]*[eE][-+]?[0-9]+"
            r"|[-+]?\.[0-9][0-9_]*([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"
        ),
    ),
    ("merge", "<", re.compile("<<")),
)
_BY_FIRST: dict[str, list[tuple[str, re.Pattern[str]]]] = {}
for _tag, _letters, _pattern in _PLAIN:
    for _letter in _letters:
        _BY_FIRST.setdefault(_letter, []).append((_tag, _pattern))

Shape = Literal["map", "list", "scalar"]


_PLAIN_WORDS: tuple[tuple[str, str, str], ...] = (
    ("mapping values are not allowed", "a second ': ' in one line", "put the value in quotes, or begin a new line"),
    ("unexpected end of stream", "a quote that is not closed begins here", "close it"),
    ("could not find expected ':'", "a line that has no ': '", "write it as name: value, or check its indentation"),
    ("did not find expected key", "a line that fits no indentation above it", "indent it as far as its neighbours"),
    ("tab character", "a tab in the indentation", "indent with blanks"),
    ("cannot start any token", "a tab or one of @ ` % begins here", "indent with blanks, put a value in quotes"),
    ("expected node content", "a value is missing, or there is a comma or bracket too many", "check the line before"),
    ("did not find expected ','", "a bracket that is not closed, or a missing comma", "check the lines before"),
    ("expected <document start>", "a document that begins without ---", "write --- on a line of its own before it"),
    ("block sequence entries are not allowed", "'- ' where no list can begin", "begin the list on a new line"),
)
"""What the parser says, what that means to people, and what to do."""


class UnusableText(Exception):
    """A text that is no YAML or JSON, or that is nested too deeply; `line` counts from 1."""

    def __init__(self, line: int, message: str, hint: str = "", *, is_too_deep: bool = False) -> None:
        super().__init__(message)
        self.line = line
        self.message = message
        self.hint = hint or "correct the syntax there"
        self.is_too_deep = is_too_deep


class Node:
    """A mapping (`value` holds pairs of nodes), a list (nodes) or a scalar (its text).

    `tag` is the short name of a YAML type such as `int`, or a whole tag that is none of them. `line` counts from 1,
    `column` too; `start` and `end` are characters of the text.
    """

    __slots__ = ("column", "end", "is_shared", "line", "shape", "start", "tag", "value")

    def __init__(self, shape: Shape, tag: str, value: Any, mark: Any) -> None:
        self.shape = shape
        self.tag = tag
        self.value = value
        self.line: int = mark.line + 1
        self.column: int = mark.column + 1
        self.start: int = mark.index
        self.end: int = mark.index
        self.is_shared = False

    def child(self, part: str | int) -> tuple[int, "Node"] | None:
        """Find the entry of a list, or the value of a key; with the line where its key or it begins."""
        if self.shape == "map":
            for key, value in self.value:
                if key.shape == "scalar" and key.value == str(part) and key.tag != "merge":
                    return key.line, value
            return self._merged(part)
        if self.shape == "list" and isinstance(part, int) and part < len(self.value):
            item: Node = self.value[part]
            return item.line, item
        return None

    def _merged(self, part: str | int) -> tuple[int, "Node"] | None:
        for key, value in self.value:
            if key.tag == "merge":
                sources: list[Node] = value.value if value.shape == "list" else [value]
                if found := next((found for source in sources if (found := source.child(part))), None):
                    return found
        return None


def documents(text: str) -> Iterator[Node]:
    """Yield the root of every document in a text, in order; a document without content has none.

    Raises:
        UnusableText: the text is no YAML or JSON from some line on.

    """
    if found := _NOT_PRINTABLE.search(text):
        line = text.count("\n", 0, found.start()) + 1
        raise UnusableText(line, "a control character", "remove it, or write it as an escape in double quotes")
    loader: Any = _FASTEST
    if "\\u" in text and re.search(r"\\u[dD][89abAB]", text):
        loader = (
            yaml.SafeLoader
        )  # libyaml refuses the two halves in which JSON writes a character beyond the basic plane
    try:
        yield from _composed(loader(text))
    except yaml.MarkedYAMLError as error:
        raise _in_plain_words(error) from error
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        raise UnusableText(1, type(error).__name__) from error


def _in_plain_words(error: Any) -> UnusableText:
    mark = error.problem_mark or error.context_mark
    said = error.problem or error.context or "syntax error"
    if "unexpected end of stream" in said and error.context_mark:
        mark = error.context_mark
    line = mark.line + 1 if mark else 1
    message, hint = next(((words, fix) for part, words, fix in _PLAIN_WORDS if part in said), (said, ""))
    return UnusableText(line, message, hint, is_too_deep="nesting depth" in said)


def _composed(parser: Any) -> Iterator[Node]:
    composer = _Composer()
    while True:
        event = parser.get_event()
        kind = type(event)
        if kind is yaml.DocumentStartEvent:
            composer = _Composer()
        elif kind is yaml.DocumentEndEvent:
            if composer.root is not None:
                yield composer.root
        elif kind is yaml.StreamEndEvent or event is None:
            return
        elif kind is not yaml.StreamStartEvent:
            composer.take(event, kind)


class _Composer:
    """The tree of one document, built from its events without recursion."""

    def __init__(self) -> None:
        self.root: Node | None = None
        self._open: list[Node] = []
        self._keys: list[Node | None] = []
        self._anchors: dict[str, Node] = {}

    def take(self, event: Any, kind: type) -> None:
        """Add what an event says."""
        if kind is yaml.ScalarEvent:
            self._add(Node("scalar", _scalar_tag(event), event.value, event.start_mark), event)
        elif kind is yaml.MappingStartEvent:
            self._begin(Node("map", _tag_of(event.tag, "map"), [], event.start_mark), event)
        elif kind is yaml.SequenceStartEvent:
            self._begin(Node("list", _tag_of(event.tag, "seq"), [], event.start_mark), event)
        elif kind is yaml.AliasEvent:
            self._alias(event)
        else:
            self._keys.pop()
            self._open.pop().end = event.end_mark.index

    def _begin(self, node: Node, event: Any) -> None:
        self._add(node, event)
        self._open.append(node)
        self._keys.append(None)
        if len(self._open) > DEEPEST:
            raise UnusableText(node.line, "nested too deeply to be a document", is_too_deep=True)

    def _add(self, node: Node, event: Any) -> None:
        node.end = event.end_mark.index
        if event.anchor is not None:
            node.is_shared = True
            self._anchors[event.anchor] = node
        self._place(node)

    def _place(self, node: Node) -> None:
        if not self._open:
            self.root = node
            return
        parent = self._open[-1]
        if parent.shape == "list":
            parent.value.append(node)
        elif (key := self._keys[-1]) is None:
            self._keys[-1] = node
        else:
            parent.value.append((key, node))
            self._keys[-1] = None

    def _alias(self, event: Any) -> None:
        node = self._anchors.get(event.anchor)
        if node is None:
            raise UnusableText(
                event.start_mark.line + 1,
                f"the alias *{event.anchor} has no anchor before it",
                f"write &{event.anchor} at the value that is meant, or quotes if it is a text",
            )
        self._place(node)


def _scalar_tag(event: Any) -> str:
    if event.tag is not None:
        return _tag_of(event.tag, "str")
    if not event.implicit[0]:
        return "str"
    text: str = event.value
    if not text:
        return "null"
    for tag, pattern in _BY_FIRST.get(text[0], ()):
        if pattern.fullmatch(text):
            return tag
    return "str"


def _tag_of(tag: str | None, default: str) -> str:
    if tag is None or tag == "!":
        return default
    return tag.removeprefix(_TAG) if tag.startswith(_TAG) else tag
