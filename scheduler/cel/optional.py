"""Functions of values that may be absent: what `device.attributes["domain"].?name` yields."""

from scheduler.cel.function import Function, together
from scheduler.cel.values import CelError, Optional, Value, no_overload


def _has_value(value: Value) -> Value:
    return bool(_read("hasValue", value).values)


def _value(value: Value) -> Value:
    found = _read("value", value).values
    if not found:
        raise CelError("the optional value is absent")
    return found[0]


def _or_value(value: Value, otherwise: Value) -> Value:
    found = _read("orValue", value).values
    return found[0] if found else otherwise


def _or(value: Value, otherwise: Value) -> Value:
    return value if _read("or", value).values else _read("or", otherwise)


def _read(name: str, value: Value) -> Optional:
    if not isinstance(value, Optional):
        raise no_overload(f"{name}()", value)
    return value


_SOME = "optional_type(A)"

FUNCTIONS: dict[str, Function] = {
    "optional.of": Function.of(lambda value: Optional((value,)), f"(A) -> {_SOME}", size=together),
    "optional.none": Function.of(Optional, f"() -> {_SOME}"),
    "hasValue": Function.of(_has_value, f"{_SOME}.() -> bool"),
    "value": Function.of(_value, f"{_SOME}.() -> A", size=together),
    "orValue": Function.of(_or_value, f"{_SOME}.(A) -> A", size=together),
    "or": Function.of(_or, f"{_SOME}.({_SOME}) -> {_SOME}", size=together),
}
