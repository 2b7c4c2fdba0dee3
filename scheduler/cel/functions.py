"""The functions of the selector language, by name, each with the ways to call it.

A way that the API server does not know is none here: `compareTo` is a method, `sign` is not. Functions that Kubernetes'
own environment has and this one does not are listed by name, so that a selector which uses one is refused when it is
loaded.
"""

import math
import re
from collections.abc import Callable
from functools import lru_cache

import re2  # type: ignore[import-untyped]  # ships no types

from scheduler.cel import amounts, optional, text
from scheduler.cel.function import Function, on_text
from scheduler.cel.values import INT_MIN, CelError, Map, Value, bounded, no_overload

UNAVAILABLE = frozenset(
    {
        "findAll",
        "find",
        "format",
        "getDate",
        "getDayOfMonth",
        "getDayOfWeek",
        "getDayOfYear",
        "getFullYear",
        "getHours",
        "getMilliseconds",
        "getMinutes",
        "getMonth",
        "getSeconds",
        "includes",
        "isSorted",
        "isIP",
        "isCIDR",
        "ip",
        "cidr",
        "isURL",
        "url",
        "join",
        "max",
        "min",
        "quote",
        "reverse",
        "strings",
        "sum",
        "type",
        "transformList",
        "transformMap",
        "transformMapEntry",
        "duration",
        "timestamp",
        "sort",
        "sortBy",
        "distinct",
        "flatten",
        "slice",
        "first",
        "last",
        "range",
        "authorizer",
    }
)
"""Functions of Kubernetes' environment that selectors cannot use here."""

_DOUBLE = re.compile(r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|Infinity)|NaN")

NAMESPACES = frozenset({"cel", "sets", "math", "optional", "base64", "lists", "strings", "regex", "proto"})
"""Prefixes of function names, as in `sets.contains(a, b)`."""


def _size(value: Value) -> Value:
    if isinstance(value, str | bytes | list):
        return len(value)
    if isinstance(value, Map):
        return len(value.entries)
    raise no_overload("size()", value)


@lru_cache(maxsize=1024)
def pattern(text: str) -> Callable[[str], object]:
    """Return the search of a regular expression. Raises CelError where it is none."""
    options = re2.Options()
    options.log_errors = False
    try:
        search: Callable[[str], object] = re2.compile(text, options).search
    except re2.error as problem:
        reason = problem.args[0].decode() if isinstance(problem.args[0], bytes) else str(problem)
        raise CelError(f"{text[:40]!r} is not a regular expression: {reason}") from problem
    return search


def _int(value: Value) -> Value:
    if isinstance(value, bool):
        raise no_overload("int()", value)
    if isinstance(value, int):
        return bounded(int(value), "int")
    if isinstance(value, float):
        return bounded(_truncated(value), "int")
    if isinstance(value, str) and re.fullmatch(r"[+-]?[0-9]{1,20}", value):
        return bounded(int(value), "int")
    raise no_overload("int()", value)


def _uint(value: Value) -> Value:
    if isinstance(value, bool):
        raise no_overload("uint()", value)
    if isinstance(value, int):
        return bounded(int(value), "uint")
    if isinstance(value, float):
        return bounded(_truncated(value), "uint")
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,20}", value):
        return bounded(int(value), "uint")
    raise no_overload("uint()", value)


def _truncated(value: float) -> int:
    if not math.isfinite(value) or not INT_MIN <= value < 2.0**64:
        raise CelError("number out of range")
    return math.trunc(value)


def _double(value: Value) -> Value:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise no_overload("double()", value)
    if isinstance(value, str) and not _DOUBLE.fullmatch(value):
        raise CelError(f"double() cannot read {value[:40]!r}")
    return float(value)


def _string(value: Value) -> Value:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    if isinstance(value, str | int):
        return str(value)
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError as problem:
            raise CelError("string() takes UTF-8 only") from problem
    raise no_overload("string()", value)


def _bool(value: Value) -> Value:
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        if value in {"1", "t", "true", "T", "TRUE", "True"}:
            return True
        if value in {"0", "f", "false", "F", "FALSE", "False"}:
            return False
    raise no_overload("bool()", value)


def _bytes(value: Value) -> Value:
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode()
    raise no_overload("bytes()", value)


CONVERSIONS = frozenset({"int", "uint", "double", "string", "bool", "bytes"})
"""Functions that the API server runs on constants when it compiles."""

FUNCTIONS: dict[str, Function] = {
    "size": Function.of(
        _size,
        *("(string) -> int", "(bytes) -> int", "(list(A)) -> int", "(map(A, B)) -> int"),
        *("string.() -> int", "bytes.() -> int", "list(A).() -> int", "map(A, B).() -> int"),
    ),
    "contains": Function.of(on_text("contains", lambda value, part: part in value), "string.(string) -> bool"),
    "startsWith": Function.of(on_text("startsWith", str.startswith), "string.(string) -> bool"),
    "endsWith": Function.of(on_text("endsWith", str.endswith), "string.(string) -> bool"),
    "matches": Function.of(
        on_text("matches", lambda value, part: pattern(part)(value) is not None),
        *("(string, string) -> bool", "string.(string) -> bool"),
    ),
    "int": Function.of(_int, "(int) -> int", "(uint) -> int", "(double) -> int", "(string) -> int"),
    "uint": Function.of(_uint, "(uint) -> uint", "(int) -> uint", "(double) -> uint", "(string) -> uint"),
    "double": Function.of(_double, "(double) -> double", "(int) -> double", "(uint) -> double", "(string) -> double"),
    "string": Function.of(
        _string,
        *("(string) -> string", "(bool) -> string", "(int) -> string", "(uint) -> string"),
        *("(double) -> string", "(bytes) -> string"),
    ),
    "bool": Function.of(_bool, "(bool) -> bool", "(string) -> bool"),
    "bytes": Function.of(_bytes, "(bytes) -> bytes", "(string) -> bytes"),
    "dyn": Function.of(lambda value: value, "(A) -> dyn"),
    **amounts.FUNCTIONS,
    **optional.FUNCTIONS,
    **text.FUNCTIONS,
}
