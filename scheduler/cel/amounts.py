"""Kubernetes' own functions of quantities, versions and sets."""

from collections.abc import Callable

from scheduler.cel.function import Function
from scheduler.cel.values import CelError, Value, bounded, equal, kind_of, no_overload
from scheduler.quantity import Quantity, is_quantity, parse_quantity
from scheduler.semver import Semver, is_semver, parse_semver


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


def _of_sets(name: str, run: Callable[[list[Value], list[Value]], bool]) -> Callable[[Value, Value], Value]:
    def checked(left: Value, right: Value) -> Value:
        if isinstance(left, list) and isinstance(right, list):
            return run(left, right)
        raise no_overload(f"sets.{name}()", left, right)

    return checked


def _contains(left: list[Value], right: list[Value]) -> bool:
    return all(any(equal(item, other) for other in left) for item in right)


_COMPARED = ("Quantity.(Quantity) -> {}", "Semver.(Semver) -> {}")
_ON_SETS = "(list(A), list(A)) -> bool"

FUNCTIONS: dict[str, Function] = {
    "quantity": Function.of(_quantity, "(string) -> Quantity"),
    "isQuantity": Function.of(_is_quantity, "(string) -> bool"),
    "semver": Function.of(_semver, "(string) -> Semver", "(string, bool) -> Semver"),
    "isSemver": Function.of(_is_semver, "(string) -> bool", "(string, bool) -> bool"),
    "compareTo": Function.of(_compared("compareTo", lambda order: order), *(way.format("int") for way in _COMPARED)),
    "isGreaterThan": Function.of(
        _compared("isGreaterThan", lambda order: order > 0), *(way.format("bool") for way in _COMPARED)
    ),
    "isLessThan": Function.of(
        _compared("isLessThan", lambda order: order < 0), *(way.format("bool") for way in _COMPARED)
    ),
    "sign": Function.of(_of_quantity("sign", Quantity.sign), "(Quantity) -> int"),
    "isInteger": Function.of(_of_quantity("isInteger", Quantity.is_integer), "Quantity.() -> bool"),
    "asInteger": Function.of(_of_quantity("asInteger", Quantity.as_integer), "Quantity.() -> int"),
    "asApproximateFloat": Function.of(_of_quantity("asApproximateFloat", Quantity.as_float), "Quantity.() -> double"),
    "add": Function.of(_summed("add", Quantity.plus), "Quantity.(Quantity) -> Quantity", "Quantity.(int) -> Quantity"),
    "sub": Function.of(_summed("sub", Quantity.minus), "Quantity.(Quantity) -> Quantity", "Quantity.(int) -> Quantity"),
    "major": Function.of(_of_semver("major", lambda version: version.major), "Semver.() -> int"),
    "minor": Function.of(_of_semver("minor", lambda version: version.minor), "Semver.() -> int"),
    "patch": Function.of(_of_semver("patch", lambda version: version.patch), "Semver.() -> int"),
    "sets.contains": Function.of(_of_sets("contains", _contains), _ON_SETS),
    "sets.equivalent": Function.of(
        _of_sets("equivalent", lambda left, right: _contains(left, right) and _contains(right, left)), _ON_SETS
    ),
    "sets.intersects": Function.of(
        _of_sets("intersects", lambda left, right: any(_contains(left, [item]) for item in right)), _ON_SETS
    ),
}
