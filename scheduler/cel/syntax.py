"""From the text of a selector to a small tree, with the grammar of cel-python.

Refused here, before anything is evaluated: text longer than the API allows, unterminated strings (cel-python's lexer
takes exponential time on them), nesting deeper than `NESTING_MAX`, reserved words as names, escapes and numbers that
the language does not have. Chains of `||` and `&&` become one node, so they may be long.

Differs from the language in one thing: a raw string cannot end in a backslash.
"""

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING

from scheduler.cel.tree import (
    Call,
    Choice,
    Field,
    Item,
    Listing,
    Literal,
    Logic,
    Mapping,
    Name,
    Node,
    Operation,
    SelectorSyntaxError,
)
from scheduler.cel.values import INT_MAX, INT_MIN, UINT_MAX, Uint, Value

if TYPE_CHECKING:
    from celpy.celparser import CELParser
    from lark import Token, Tree

LENGTH_MAX = 10_240
NESTING_MAX = 64

_SKIPPED = frozenset(
    {
        "expr",
        "conditionalor",
        "conditionaland",
        "relation",
        "addition",
        "multiplication",
        "unary",
        "member",
        "primary",
        "paren_expr",
    }
)
_OPERATORS = {
    "relation_lt": "<",
    "relation_le": "<=",
    "relation_gt": ">",
    "relation_ge": ">=",
    "relation_eq": "==",
    "relation_ne": "!=",
    "relation_in": "in",
    "addition_add": "+",
    "addition_sub": "-",
    "multiplication_mul": "*",
    "multiplication_div": "/",
    "multiplication_mod": "%",
}
_RESERVED = frozenset(
    {
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "in",
        "let",
        "loop",
        "package",
        "namespace",
        "return",
        "var",
        "void",
        "while",
    }
)
_NEXT = re.compile(r"//[^\n]*|(?P<quote>[\"'])|(?:\.|\[)(?P<mark>\?)\s*(?=\S)")
_STRINGS = {
    '"""': re.compile(r'"""(?:[^"\\]|\\[\s\S]|"(?!""))*+"""'),
    "'''": re.compile(r"'''(?:[^'\\]|\\[\s\S]|'(?!''))*+'''"),
    '"': re.compile(r'"(?:[^"\\\n]|\\[^\n])*+"'),
    "'": re.compile(r"'(?:[^'\\\n]|\\[^\n])*+'"),
}
_STRING = re.compile("|".join(each.pattern for each in _STRINGS.values()))
_ESCAPE = re.compile(
    r"\\(?:(?P<plain>[abfnrtv\"'\\?`])|[xX](?P<byte>[0-9a-fA-F]{2})|(?P<octal>[0-3][0-7]{2})"
    r"|u(?P<short>[0-9a-fA-F]{4})|U(?P<long>[0-9a-fA-F]{8})|(?P<bad>[\s\S]))"
)
_CLOSED_BY = {"(": ")", "[": "]", "{": "}"}
_PLAIN = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def parse(text: str) -> Node:
    """Return the tree of a selector. Raises SelectorSyntaxError with the place of what is wrong."""
    if len(text) > LENGTH_MAX:
        raise SelectorSyntaxError(f"the expression is longer than {LENGTH_MAX} characters")
    plain, marks = _without_marks(text)
    tree = _parsed(plain)
    if marks:
        _mark(tree, marks)
    return _node(tree, 0)


@cache
def _parser() -> "CELParser":
    from celpy.celparser import CELParser  # noqa: PLC0415  # a quarter of a second that most commands never need

    return CELParser()


def _parsed(text: str) -> "Tree[Token]":
    from celpy.celparser import CELParseError  # noqa: PLC0415  # as above

    try:
        tree: Tree[Token] = _parser().parse(text)
    except CELParseError as problem:
        token = getattr(problem.__context__, "token", None)
        if token is not None and token.type == "$END":
            raise SelectorSyntaxError(f"syntax error: the expression ends too early{_left_open(text)}") from problem
        place = _place(problem.line or 1, problem.column or 1)
        found = f" near {str(token)[:40]!r}" if token else ""
        raise SelectorSyntaxError(f"syntax error at {place}{found}") from problem
    return tree


def _left_open(text: str) -> str:
    """Which bracket is still open at the end, in words; empty where none is. Brackets in strings do not count."""
    opened: list[str] = []
    for character in _STRING.sub("", text):
        if character in _CLOSED_BY:
            opened.append(_CLOSED_BY[character])
        elif opened and character == opened[-1]:
            opened.pop()
    return f", a {opened[-1]} is missing" if opened else ""


def _place(line: int | None, column: int | None) -> str:
    return f"column {column}" if line in {None, 1} else f"line {line}, column {column}"


def _without_marks(text: str) -> tuple[str, set[int]]:
    """Blank the `?` of `.?name` and `[?key]`, which the grammar does not have; return where the name or key begins.

    Raises SelectorSyntaxError for a string without an end.
    """
    plain, marks, position = list(text), set[int](), 0
    while match := _NEXT.search(text, position):
        position = match.end()
        if match["mark"]:
            plain[match.start("mark")] = " "
            marks.add(position)
        elif match["quote"]:
            position = _end_of_string(text, match)
    return "".join(plain), marks


def _end_of_string(text: str, match: re.Match[str]) -> int:
    quote = match[0] * 3 if text.startswith(match[0] * 3, match.start()) else match[0]
    string = _STRINGS[quote].match(text, match.start())
    if string is None:
        line = text.count("\n", 0, match.start()) + 1
        column = match.start() - text.rfind("\n", 0, match.start())
        raise SelectorSyntaxError(f"syntax error: the string that begins at {_place(line, column)} has no end")
    return string.end()


def _mark(tree: "Tree[Token]", marks: set[int]) -> None:
    """Rename what is optional. Raises SelectorSyntaxError for a `?` that belongs to no field and no key."""
    found = set()
    for part in tree.iter_subtrees():
        if part.data in {"member_dot", "member_dot_arg", "member_index"}:
            begin = _token(part).start_pos if part.data != "member_index" else _subtrees(part)[1].meta.start_pos
            if begin in marks:
                found.add(begin)
                part.data = f"optional_{part.data}"
    if found != marks:
        raise SelectorSyntaxError("syntax error: only a field or a key can be optional, as in .?name and [?key]")


def _node(tree: "Tree[Token]", depth: int) -> Node:
    if depth > NESTING_MAX:
        raise SelectorSyntaxError(f"the expression is nested more than {NESTING_MAX} levels deep")
    while tree.data in _SKIPPED and len(tree.children) == 1:
        tree = _subtrees(tree)[0]
    return _BUILDERS[tree.data](tree, depth + 1)


def _subtrees(tree: "Tree[Token]") -> "list[Tree[Token]]":
    return [child for child in tree.children if not isinstance(child, str)]


def _token(tree: "Tree[Token]") -> "Token":
    return next(child for child in tree.children if isinstance(child, str))


def _logic(tree: "Tree[Token]", depth: int) -> Node:
    kind = tree.data
    operands = []
    while tree.data == kind and len(tree.children) == 2:
        rest, last = _subtrees(tree)
        operands.append(_node(last, depth))
        tree = rest
    operands.append(_node(tree, depth))
    return Logic("||" if kind == "conditionalor" else "&&", tuple(reversed(operands)))


def _choice(tree: "Tree[Token]", depth: int) -> Node:
    test, yes, no = _subtrees(tree)
    return Choice(_node(test, depth), _node(yes, depth), _node(no, depth))


def _binary(tree: "Tree[Token]", depth: int) -> Node:
    left, right = _subtrees(tree)
    return Operation(_OPERATORS[left.data], (_node(_subtrees(left)[0], depth), _node(right, depth)))


def _unary(tree: "Tree[Token]", depth: int) -> Node:
    operator, operand = _subtrees(tree)
    return Operation("!" if operator.data == "unary_not" else "-", (_node(operand, depth),))


def _field(tree: "Tree[Token]", depth: int) -> Node:
    token, optional = _token(tree), tree.data.startswith("optional")
    return Field(_node(_subtrees(tree)[0], depth), str(token), _place(token.line, token.column), optional)


def _item(tree: "Tree[Token]", depth: int) -> Node:
    operand, key = _subtrees(tree)
    return Item(_node(operand, depth), _node(key, depth), tree.data.startswith("optional"))


def _method(tree: "Tree[Token]", depth: int) -> Node:
    token = _token(tree)
    receiver, *arguments = _subtrees(tree)
    place = _place(token.line, token.column)
    return Call(str(token), _node(receiver, depth), tuple(_listed(arguments, depth)), place)


def _optional_method(tree: "Tree[Token]", _depth: int) -> Node:
    token = _token(tree)
    raise SelectorSyntaxError(f"syntax error at {_place(token.line, token.column)}: a call cannot be optional")


def _call(tree: "Tree[Token]", depth: int) -> Node:
    token = _token(tree)
    return Call(str(token), None, tuple(_listed(_subtrees(tree), depth)), _place(token.line, token.column))


def _name(tree: "Tree[Token]", _depth: int) -> Node:
    token = _token(tree)
    place = _place(token.line, token.column)
    if token in _RESERVED:
        raise SelectorSyntaxError(f"syntax error at {place}: {token} is a reserved word")
    return Name(str(token), place)


def _listing(tree: "Tree[Token]", depth: int) -> Node:
    return Listing(tuple(_listed(_subtrees(tree), depth)))


def _mapping(tree: "Tree[Token]", depth: int) -> Node:
    parts = list(_listed(_subtrees(tree), depth))
    return Mapping(tuple(zip(parts[::2], parts[1::2], strict=True)))


def _message(tree: "Tree[Token]", _depth: int) -> Node:
    raise SelectorSyntaxError(f"syntax error at {_place(tree.meta.line, tree.meta.column)}: messages cannot be built")


def _listed(lists: "list[Tree[Token]]", depth: int) -> Iterator[Node]:
    return (_node(child, depth) for tree in lists for child in _subtrees(tree))


def _literal(tree: "Tree[Token]", _depth: int) -> Node:
    token = _token(tree)
    text = str(token)
    return Literal(_CONSTANTS.get(token.type, _text)(text))


def _text(text: str) -> str:
    return _unquoted(text, binary=False)


def _whole(text: str, least: int, most: int) -> int:
    number = int(text, 16 if "x" in text else 10) if len(text) <= 64 else most + 1
    if not least <= number <= most:
        raise SelectorSyntaxError(f"the number {text[:40]} does not fit 64 bits")
    return number


def _unquoted(text: str, *, binary: bool) -> str:
    """Return the content of a string, or of bytes as one character a byte."""
    raw = text[0] in "rR"
    body = text[1:] if raw else text
    width = 3 if body[:3] in {'"""', "'''"} else 1
    body = body[width:-width]
    if binary:
        body = body.encode().decode("latin-1")
    return body if raw else _ESCAPE.sub(lambda match: _unescaped(match, binary=binary), body)


def _unescaped(match: re.Match[str], *, binary: bool) -> str:
    code = match["byte"] or match["short"] or match["long"]
    if match["plain"]:
        return _PLAIN.get(match["plain"], match["plain"])
    if match["octal"]:
        return chr(int(match["octal"], 8))
    number = int(code, 16) if code else -1
    if number < 0 or number > 0x10FFFF or 0xD800 <= number <= 0xDFFF or (binary and not match["byte"]):
        raise SelectorSyntaxError(f"syntax error: {match[0]!r} is not an escape; write \\\\ for a backslash")
    return chr(number)


_CONSTANTS: dict[str, Callable[[str], Value]] = {
    "BOOL_LIT": lambda text: text == "true",
    "NULL_LIT": lambda _text: None,
    "FLOAT_LIT": float,
    "UINT_LIT": lambda text: Uint(_whole(text[:-1], 0, UINT_MAX)),
    "INT_LIT": lambda text: _whole(text, INT_MIN, INT_MAX),
    "BYTES_LIT": lambda text: _unquoted(text[1:], binary=True).encode("latin-1"),
}
_BUILDERS = {
    "expr": _choice,
    "conditionalor": _logic,
    "conditionaland": _logic,
    "relation": _binary,
    "addition": _binary,
    "multiplication": _binary,
    "unary": _unary,
    "member_dot": _field,
    "member_dot_arg": _method,
    "member_index": _item,
    "optional_member_dot": _field,
    "optional_member_dot_arg": _optional_method,
    "optional_member_index": _item,
    "member_object": _message,
    "dot_ident_arg": _call,
    "dot_ident": _name,
    "ident_arg": _call,
    "ident": _name,
    "list_lit": _listing,
    "map_lit": _mapping,
    "literal": _literal,
}
