"""The functions of the selector language, by name.

Each may be written as a call or as a method of its first argument. Functions that Kubernetes' own environment has
and this one does not are listed by name, so that a selector which uses one is refused when it is loaded.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import re2  # type: ignore[import-untyped]  # ships no types

from scheduler.cel.values import INT_MIN, CelError, Map, TypeName, Value, bounded, kind_of, no_overload
from scheduler.quantity import Quantity, is_quantity, parse_quantity
from scheduler.semver import Semver, is_semver, parse_semver


@dataclass(frozen=True)
class Function:
    """One function: what it does, how many arguments it takes at least and at most, and the kind it returns."""

    run: Callable[..., Value]
    least: int
    most: int
    kind: str


TYPE_NAMES = frozenset({"bool", "int", "uint", "double", "string", "bytes", "list", "map", "null_type", "type"})

UNAVAILABLE = frozenset(
    {
        "charAt",
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
        "indexOf",
        "isSorted",
        "isIP",
        "isCIDR",
        "ip",
        "cidr",
        "isURL",
        "url",
        "join",
        "lastIndexOf",
        "lowerAscii",
        "max",
        "min",
        "quote",
        "replace",
        "reverse",
        "split",
        "strings",
        "substring",
        "sum",
        "trim",
        "upperAscii",
        "duration",
        "timestamp",
        "optMap",
        "optFlatMap",
        "orValue",
        "hasValue",
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


def _on_text(name: str, test: Callable[[str, str], bool]) -> Callable[[Value, Value], Value]:
    def run(value: Value, part: Value) -> Value:
        if isinstance(value, str) and isinstance(part, str):
            return test(value, part)
        raise no_overload(f"{name}()", value, part)

    return run


@lru_cache(maxsize=1024)
def _pattern(text: str) -> Callable[[str], object]:
    options = re2.Options()
    options.log_errors = False
    try:
        search: Callable[[str], object] = re2.compile(text, options).search
    except re2.error as problem:
        raise CelError(f"{text[:40]!r} is not a regular expression: {problem}") from problem
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


def _quantity(text: Value) -> Value:
    if not isinstance(text, str):
        raise no_overload("quantity()", text)
    try:
        return parse_quantity(text)
    except ValueError as problem:
        raise CelError(str(problem)) from problem


def _is_quantity(text: Value) -> Value:
    if not isinstance(text, str):
        raise no_overload("isQuantity()", text)
    return is_quantity(text)


def _semver(text: Value, *options: Value) -> Value:
    normalize = options[0] if options else False
    if not isinstance(text, str) or not isinstance(normalize, bool):
        raise no_overload("semver()", text, *options)
    try:
        return parse_semver(text, normalize=normalize)
    except ValueError as problem:
        raise CelError(str(problem)) from problem


def _is_semver(text: Value, *options: Value) -> Value:
    normalize = options[0] if options else False
    if not isinstance(text, str) or not isinstance(normalize, bool):
        raise no_overload("isSemver()", text, *options)
    return is_semver(text, normalize=normalize)


def _compared(name: str, test: Callable[[int], Value]) -> Callable[[Value, Value], Value]:
    def run(left: Value, right: Value) -> Value:
        if isinstance(left, Quantity) and isinstance(right, Quantity):
            return test(left.compare(right))
        if isinstance(left, Semver) and isinstance(right, Semver):
            return test(left.compare(right))
        raise no_overload(f"{name}()", left, right)

    return run


def _of_quantity(name: str, run: Callable[[Quantity], Value]) -> Callable[[Value], Value]:
    def checked(value: Value) -> Value:
        if not isinstance(value, Quantity):
            raise no_overload(f"{name}()", value)
        try:
            return run(value)
        except ValueError as problem:
            raise CelError(str(problem)) from problem

    return checked


def _of_semver(name: str, run: Callable[[Semver], int]) -> Callable[[Value], Value]:
    def checked(value: Value) -> Value:
        if not isinstance(value, Semver):
            raise no_overload(f"{name}()", value)
        return bounded(run(value), "int")

    return checked


def _summed(name: str, run: Callable[[Quantity, Quantity | int], Quantity]) -> Callable[[Value, Value], Value]:
    def checked(left: Value, right: Value) -> Value:
        whole = isinstance(right, int) and kind_of(right) == "int"
        if isinstance(left, Quantity) and (whole or isinstance(right, Quantity)):
            return run(left, right)  # type: ignore[arg-type]  # a Quantity or a plain int, as just checked
        raise no_overload(f"{name}()", left, right)

    return checked


FUNCTIONS: dict[str, Function] = {
    "size": Function(_size, 1, 1, "int"),
    "contains": Function(_on_text("contains", lambda text, part: part in text), 2, 2, "bool"),
    "startsWith": Function(_on_text("startsWith", str.startswith), 2, 2, "bool"),
    "endsWith": Function(_on_text("endsWith", str.endswith), 2, 2, "bool"),
    "matches": Function(_on_text("matches", lambda text, part: _pattern(part)(text) is not None), 2, 2, "bool"),
    "int": Function(_int, 1, 1, "int"),
    "uint": Function(_uint, 1, 1, "uint"),
    "double": Function(_double, 1, 1, "double"),
    "string": Function(_string, 1, 1, "string"),
    "bool": Function(_bool, 1, 1, "bool"),
    "bytes": Function(_bytes, 1, 1, "bytes"),
    "dyn": Function(lambda value: value, 1, 1, "dyn"),
    "type": Function(lambda value: TypeName(kind_of(value)), 1, 1, "type"),
    "quantity": Function(_quantity, 1, 1, "Quantity"),
    "isQuantity": Function(_is_quantity, 1, 1, "bool"),
    "semver": Function(_semver, 1, 2, "Semver"),
    "isSemver": Function(_is_semver, 1, 2, "bool"),
    "compareTo": Function(_compared("compareTo", lambda order: order), 2, 2, "int"),
    "isGreaterThan": Function(_compared("isGreaterThan", lambda order: order > 0), 2, 2, "bool"),
    "isLessThan": Function(_compared("isLessThan", lambda order: order < 0), 2, 2, "bool"),
    "sign": Function(_of_quantity("sign", Quantity.sign), 1, 1, "int"),
    "isInteger": Function(_of_quantity("isInteger", Quantity.is_integer), 1, 1, "bool"),
    "asInteger": Function(_of_quantity("asInteger", Quantity.as_integer), 1, 1, "int"),
    "asApproximateFloat": Function(_of_quantity("asApproximateFloat", Quantity.as_float), 1, 1, "double"),
    "add": Function(_summed("add", Quantity.plus), 2, 2, "Quantity"),
    "sub": Function(_summed("sub", Quantity.minus), 2, 2, "Quantity"),
    "major": Function(_of_semver("major", lambda version: version.major), 1, 1, "int"),
    "minor": Function(_of_semver("minor", lambda version: version.minor), 1, 1, "int"),
    "patch": Function(_of_semver("patch", lambda version: version.patch), 1, 1, "int"),
}
