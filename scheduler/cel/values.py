"""The values of the selector language and what its operators do with them.

Python's own types stand for most of them: bool, int, float, str, bytes, list and None. `Uint` is an unsigned
integer, `Map` a map or one of the device's two maps of maps. Numbers compare by value across int, uint and double,
in either order; quantities and versions only compare with their own kind. Every operator raises `CelError` where the
language has no result.
"""

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from scheduler.quantity import Quantity
from scheduler.semver import Semver

INT_MIN, INT_MAX, UINT_MAX = -(2**63), 2**63 - 1, 2**64 - 1

Value = object


class CelError(Exception):
    """An expression has no result for this device; a selector that ends so matches nothing."""


class Uint(int):
    """An unsigned 64-bit integer; arithmetic never mixes it with int."""


@dataclass(frozen=True, eq=False)
class Optional:
    """A value that may be absent, as `.?name` yields it."""

    values: tuple[Value, ...] = ()
    """The value, or nothing."""


@dataclass(frozen=True)
class Map:
    """A map. `missing` is what an absent key yields; without it an absent key is an error."""

    entries: dict[Value, Value] = field(default_factory=dict)
    missing: "Map | None" = None

    def get(self, key: Value) -> Value:
        """Return the value under a key. Raises CelError where there is none."""
        found = self.entries.get(map_key(key), self.missing)
        if found is None and map_key(key) not in self.entries:
            raise CelError(f"no such key: {key}")
        return found

    def has(self, key: Value) -> bool:
        """Whether the key is present."""
        return map_key(key) in self.entries

    def names(self) -> Iterator[Value]:
        """Go through the keys as they were written."""
        return (key[1] if isinstance(key, tuple) else key for key in self.entries)


@dataclass(frozen=True, eq=False)
class DeviceView:
    """The variable `device`: one device as selectors see it."""

    driver: str
    attributes: Map
    capacity: Map
    problem: str = ""
    """What of its facts cannot be read; nothing matches a device with any."""


_KINDS: dict[type, str] = {
    bool: "bool",
    int: "int",
    Uint: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    list: "list",
    Map: "map",
    type(None): "null_type",
    Optional: "optional_type",
    Quantity: "Quantity",
    Semver: "Semver",
    DeviceView: "device",
}
NUMBERS = frozenset({"int", "uint", "double"})
_OPAQUE = frozenset({"Quantity", "Semver"})
"""Kinds that refuse to be asked whether they equal another kind, except `null`."""
_ORDERED = frozenset({"string", "bytes", "bool"})


def kind_of(value: Value) -> str:
    """Return the language's name of a value's type."""
    return _KINDS[type(value)]


def map_key(key: Value) -> Value:
    """Return a key as the dictionary holds it, booleans apart from numbers. Raises CelError for other kinds."""
    if isinstance(key, bool):
        return ("bool", key)
    if isinstance(key, str | int | float):
        return key
    raise CelError(f"{kind_of(key)} cannot be a map key")


def no_overload(name: str, *operands: Value) -> CelError:
    """Make the error for operands that an operator or function does not take."""
    return CelError(f"{name} does not take ({', '.join(kind_of(operand) for operand in operands)})")


def equals(left: Value, right: Value) -> bool:
    """`==`. A quantity or version on its left side cannot be compared with another kind; the allocator errs there."""
    kind, other = kind_of(left), kind_of(right)
    if kind in _OPAQUE and other not in {kind, "null_type"}:
        raise no_overload("==", left, right)
    return equal(left, right)


def equal(left: Value, right: Value) -> bool:
    """Whether two values are the same: numbers by value whatever their kind, other kinds never equal one another."""
    kind, other = kind_of(left), kind_of(right)
    if kind in NUMBERS and other in NUMBERS:
        return bool(operator.eq(*_comparable(left, right)))
    if kind != other:
        return False
    if isinstance(left, Optional) and isinstance(right, Optional):
        return equal(list(left.values), list(right.values))
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(equal(*pair) for pair in zip(left, right, strict=True))
    if isinstance(left, Map) and isinstance(right, Map):
        return left.entries.keys() == right.entries.keys() and all(
            equal(left.get(key), right.get(key)) for key in left.names()
        )
    return bool(left == right)


def less(left: Value, right: Value, sign: str = "<") -> bool:
    """`<`: numbers by value whatever their kind; text, bytes and booleans among themselves."""
    kind, other = kind_of(left), kind_of(right)
    if (kind in NUMBERS and other in NUMBERS) or (kind == other and kind in _ORDERED):
        return bool(operator.lt(*_comparable(left, right)))
    raise no_overload(sign, left, right)


def less_or_equal(left: Value, right: Value, sign: str = "<=") -> bool:
    """`<=`, over the same kinds as `<`."""
    return less(left, right, sign) or equal(left, right)


def _comparable(left: Any, right: Any) -> tuple[Any, Any]:
    """Make both doubles where one is: the allocator compares whole numbers with fractions that way."""
    return (float(left), float(right)) if isinstance(left, float) or isinstance(right, float) else (left, right)


def contained(item: Value, container: Value) -> bool:
    """`in`: an element of a list or a key of a map."""
    if isinstance(container, Map):
        return container.has(item)
    if isinstance(container, list):
        return any(equal(item, element) for element in container)
    raise no_overload("in", item, container)


def at(container: Value, key: Value) -> Value:
    """`container[key]`."""
    if isinstance(container, Optional):
        return at_if_there(container, key)
    if isinstance(container, Map):
        return container.get(key)
    if isinstance(container, list) and kind_of(key) in NUMBERS:
        position = int(key)  # type: ignore[call-overload]  # a number, as just checked
        if position != key or not 0 <= position < len(container):
            raise CelError(f"no such index: {key}")
        return container[position]
    raise no_overload("[]", container, key)


def at_if_there(container: Value, key: Value) -> Optional:
    """`container[?key]`."""
    values = container.values if isinstance(container, Optional) else (container,)
    try:
        return Optional(tuple(at(value, key) for value in values))
    except CelError:
        return Optional()


def select(container: Value, name: str) -> Value:
    """`container.name`."""
    if isinstance(container, Optional):
        return Optional(tuple(select(value, name) for value in container.values if has_field(value, name)))
    if isinstance(container, DeviceView):
        return getattr(container, name)
    if isinstance(container, Map):
        return container.get(name)
    raise CelError(f"{kind_of(container)} has no field {name}")


def select_if_there(container: Value, name: str) -> Optional:
    """`container.?name`."""
    values = container.values if isinstance(container, Optional) else (container,)
    return Optional(tuple(select(value, name) for value in values if has_field(value, name)))


def has_field(container: Value, name: str) -> bool:
    """Whether `container.name` is there; every domain is, with no facts where the device has none of it."""
    if isinstance(container, Map):
        return container.has(name) or container.missing is not None
    return isinstance(container, DeviceView) and hasattr(container, name)


def bounded(value: int, kind: str) -> int:
    """Return an integer of the kind `int` or `uint`. Raises CelError where it does not fit 64 bits."""
    if kind == "uint":
        if 0 <= value <= UINT_MAX:
            return Uint(value)
    elif INT_MIN <= value <= INT_MAX:
        return int(value)
    raise CelError(f"{kind} overflow")


def add(left: Value, right: Value) -> Value:
    """`+`: numbers of one kind, or text, bytes and lists of one kind joined."""
    if kind_of(left) == kind_of(right) and isinstance(left, str | bytes | list):
        return left + right  # type: ignore[operator]  # both are of one kind, as just checked
    return _arithmetic("+", left, right, lambda a, b: a + b, lambda a, b: a + b)


def subtract(left: Value, right: Value) -> Value:
    """`-` between numbers of one kind."""
    return _arithmetic("-", left, right, lambda a, b: a - b, lambda a, b: a - b)


def multiply(left: Value, right: Value) -> Value:
    """`*` between numbers of one kind."""
    return _arithmetic("*", left, right, lambda a, b: a * b, lambda a, b: a * b)


def divide(left: Value, right: Value) -> Value:
    """`/`: whole numbers towards zero, doubles as IEEE 754 says."""
    return _arithmetic("/", left, right, _whole_quotient, _quotient)


def modulo(left: Value, right: Value) -> Value:
    """`%`: whole numbers only, with the sign of the left side."""
    return _arithmetic("%", left, right, lambda a, b: a - b * _whole_quotient(a, b), None)


def negate(value: Value) -> Value:
    """Unary `-` of int and double."""
    if isinstance(value, float):
        return -value
    if isinstance(value, int) and kind_of(value) == "int":
        return bounded(-value, "int")
    raise no_overload("-", value)


def _arithmetic(
    sign: str,
    left: Value,
    right: Value,
    whole: Callable[[int, int], int],
    real: Callable[[float, float], float] | None,
) -> Value:
    kind = kind_of(left)
    if kind == kind_of(right):
        if kind in {"int", "uint"} and isinstance(left, int) and isinstance(right, int):
            return bounded(whole(int(left), int(right)), kind)
        if real is not None and isinstance(left, float) and isinstance(right, float):
            return real(left, right)
    raise no_overload(sign, left, right)


def _whole_quotient(left: int, right: int) -> int:
    if right == 0:
        raise CelError("division by zero")
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _quotient(left: float, right: float) -> float:
    if right != 0.0:
        return left / right
    if left == 0.0 or left != left:  # noqa: PLR0124  # NaN is the one value that differs from itself
        return float("nan")
    return float("inf") if (left > 0) == (str(right)[0] != "-") else float("-inf")
