"""The values of the selector language and what its operators do with them.

Python's own types stand for most of them: bool, int, float, str, bytes, list and None. `Uint` is an unsigned
integer, `Map` a map or one of the device's two maps of maps. Numbers compare by value across int, uint and double,
in either order; quantities and versions only compare with their own kind. Every operator raises `CelError` where the
language has no result.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from scheduler.quantity import Quantity
from scheduler.semver import Semver

INT_MIN, INT_MAX, UINT_MAX = -(2**63), 2**63 - 1, 2**64 - 1

Value = object


class CelError(Exception):
    """An expression has no result for this device; a selector that ends so matches nothing."""


class Uint(int):
    """An unsigned 64-bit integer; arithmetic never mixes it with int."""


@dataclass(frozen=True)
class TypeName:
    """What `type(x)` returns and what names such as `int` stand for."""

    name: str


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
    TypeName: "type",
    Quantity: "Quantity",
    Semver: "Semver",
    DeviceView: "device",
}
NUMBERS = frozenset({"int", "uint", "double"})
OPAQUE = frozenset({"Quantity", "Semver", "device"})
"""Kinds that compare with nothing but themselves."""
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


def no_overload(operator: str, *operands: Value) -> CelError:
    """Make the error for operands that an operator or function does not take."""
    return CelError(f"{operator} does not take ({', '.join(kind_of(operand) for operand in operands)})")


def equal(left: Value, right: Value) -> bool:
    """`==`: numbers by value whatever their kind, other kinds never equal one another."""
    kind, other = kind_of(left), kind_of(right)
    if kind in NUMBERS and other in NUMBERS:
        return bool(left == right)
    if kind != other:
        if kind in OPAQUE or other in OPAQUE:
            raise no_overload("==", left, right)
        return False
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(equal(*pair) for pair in zip(left, right, strict=True))
    if isinstance(left, Map) and isinstance(right, Map):
        return left.entries.keys() == right.entries.keys() and all(
            equal(left.get(key), right.get(key)) for key in left.names()
        )
    return bool(left == right)


def less(left: Value, right: Value, operator: str = "<") -> bool:
    """`<`: numbers by value whatever their kind; text, bytes and booleans among themselves."""
    kind, other = kind_of(left), kind_of(right)
    if (kind in NUMBERS and other in NUMBERS) or (kind == other and kind in _ORDERED):
        return bool(left < right)  # type: ignore[operator]  # both kinds are ordered, as just checked
    raise no_overload(operator, left, right)


def less_or_equal(left: Value, right: Value, operator: str = "<=") -> bool:
    """`<=`, over the same kinds as `<`."""
    return less(left, right, operator) or equal(left, right)


def contained(item: Value, container: Value) -> bool:
    """`in`: an element of a list or a key of a map."""
    if isinstance(container, Map):
        return container.has(item)
    if isinstance(container, list):
        return any(equal(item, element) for element in container)
    raise no_overload("in", item, container)


def at(container: Value, key: Value) -> Value:
    """`container[key]`."""
    if isinstance(container, Map):
        return container.get(key)
    if isinstance(container, list) and kind_of(key) in NUMBERS:
        position = int(key)  # type: ignore[call-overload]  # a number, as just checked
        if position != key or not 0 <= position < len(container):
            raise CelError(f"no such index: {key}")
        return container[position]
    raise no_overload("[]", container, key)


def select(container: Value, name: str) -> Value:
    """`container.name`."""
    if isinstance(container, DeviceView):
        return getattr(container, name)
    if isinstance(container, Map):
        return container.get(name)
    raise CelError(f"{kind_of(container)} has no field {name}")


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
    operator: str,
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
    raise no_overload(operator, left, right)


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
