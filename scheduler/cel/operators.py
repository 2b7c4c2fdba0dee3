"""The operators of the selector language: the types they take and give, and what they do."""

from collections.abc import Callable

from scheduler.cel import values
from scheduler.cel.tree import SelectorSyntaxError
from scheduler.cel.types import BOOL, Overload, Type, Unifier, overloads
from scheduler.cel.values import CelError, Value

COMPARISONS: dict[str, Callable[[Value, Value], bool]] = {
    "<": values.less,
    "<=": values.less_or_equal,
    ">": lambda left, right: values.less(right, left, ">"),
    ">=": lambda left, right: values.less_or_equal(right, left, ">="),
    "==": values.equals,
    "!=": lambda left, right: not values.equal(left, right),
    "in": values.contained,
}
ARITHMETIC: dict[str, Callable[[Value, Value], Value]] = {
    "+": values.add,
    "-": values.subtract,
    "*": values.multiply,
    "/": values.divide,
    "%": values.modulo,
}
_NUMBERS = ("int", "uint", "double")
_ORDERED = overloads(
    *(f"({left}, {right}) -> bool" for left in _NUMBERS for right in _NUMBERS),
    *("(string, string) -> bool", "(bytes, bytes) -> bool", "(bool, bool) -> bool"),
)
_EQUAL = overloads("(A, A) -> bool")
_COMPUTED = overloads(*(f"({kind}, {kind}) -> {kind}" for kind in _NUMBERS))
_WAYS: dict[str, tuple[Overload, ...]] = {
    **dict.fromkeys(("<", "<=", ">", ">="), _ORDERED),
    **dict.fromkeys(("==", "!="), _EQUAL),
    "in": overloads("(A, list(A)) -> bool", "(A, map(A, B)) -> bool"),
    **dict.fromkeys(("-", "*", "/"), _COMPUTED),
    "%": overloads("(int, int) -> int", "(uint, uint) -> uint"),
    "+": _COMPUTED
    + overloads("(string, string) -> string", "(bytes, bytes) -> bytes", "(list(A), list(A)) -> list(A)"),
}
_NEGATION = overloads("(int) -> int", "(double) -> double")
_KEYS = overloads("(list(A), int) -> A", "(map(A, B), A) -> B")
_OPTIONAL_KEYS = overloads(
    "(optional_type(list(A)), int) -> optional_type(A)", "(optional_type(map(A, B)), A) -> optional_type(B)"
)
_KEYS_IF_THERE = overloads("(list(A), int) -> optional_type(A)", "(map(A, B), A) -> optional_type(B)") + _OPTIONAL_KEYS
_CHOICE = overloads("(bool, A, A) -> A")
_INSTEAD = {
    "<": "left.isLessThan(right)",
    "<=": "left.compareTo(right) <= 0",
    ">": "left.isGreaterThan(right)",
    ">=": "left.compareTo(right) >= 0",
    "+": "left.add(right)",
    "-": "left.sub(right)",
}


def operation_type(types: Unifier, operator: str, operands: tuple[Type, ...]) -> Type:
    """Return the type of an operation. Raises SelectorSyntaxError where the operator does not take such operands."""
    given = tuple(map(types.known, operands))
    if len(given) == 1:
        return _unary_type(types, operator, given[0])
    if operator != "in":
        _refuse_amounts(operator, given)
    if operator in {"==", "!="} and "optional_type" in {kind.name for kind in given}:
        raise SelectorSyntaxError(f"{operator} cannot compare an optional value; ask hasValue() or write orValue(…)")
    found = types.resolve(_WAYS[operator], given)
    if found is not None:
        return found
    left, right = map(types.known, given)
    special = {left.name, right.name} & {"Quantity", "Semver"}
    if special and operator in {"==", "!="}:
        kind = "quantities" if "Quantity" in special else "versions"
        other = right if left.name in special else left
        raise SelectorSyntaxError(f"{kind} cannot equal a {other}; write quantity(…) or semver(…) around it")
    hint = "; write both as int or both as double" if {left.name, right.name} == {"int", "double"} else ""
    raise SelectorSyntaxError(f"{operator} does not take ({left}, {right}){hint}")


def item_type(types: Unifier, operand: Type, key: Type, *, optional: bool) -> Type:
    """Return the type of `operand[key]` or `operand[?key]`. Raises SelectorSyntaxError where there is none."""
    found = types.resolve(_KEYS_IF_THERE if optional else _KEYS + _OPTIONAL_KEYS, (operand, key))
    if found is None:
        raise SelectorSyntaxError(f"[] does not take ({types.settled(operand)}, {types.settled(key)})")
    return found


def choice_type(types: Unifier, test: Type, yes: Type, no: Type) -> Type:
    """Return the type of `test ? yes : no`. Raises SelectorSyntaxError where there is none."""
    if not types.fits((test,), (BOOL,)):
        raise SelectorSyntaxError(f"the test before ? is a {types.settled(test)}, not a boolean")
    found = types.resolve(_CHOICE, (test, yes, no))
    if found is None:
        known = f"a {types.settled(yes)} and a {types.settled(no)}"
        raise SelectorSyntaxError(f"both results of ? must be of one type, not {known}")
    return found


def in_constants(item: Value, container: Value) -> bool:
    """`in` a list of constants. Raises CelError for a quantity or version: the allocator cannot look these up."""
    if container and values.kind_of(item) in {"Quantity", "Semver"}:
        raise CelError(f"a {values.kind_of(item)} cannot be looked up in a list of constants")
    return values.contained(item, container)


def _unary_type(types: Unifier, operator: str, operand: Type) -> Type:
    if operator == "!":
        if not types.fits((operand,), (BOOL,)):
            raise SelectorSyntaxError(f"! takes a boolean, not a {types.settled(operand)}")
        return BOOL
    found = types.resolve(_NEGATION, (operand,))
    if found is None:
        raise SelectorSyntaxError(f"- does not take a {types.settled(operand)}")
    return found


def _refuse_amounts(operator: str, given: tuple[Type, ...]) -> None:
    """Operators other than == and != on quantities and versions have a function instead."""
    special = {kind.name for kind in given} & {"Quantity", "Semver"}
    if not special or operator in {"==", "!="}:
        return
    kind = "quantities" if "Quantity" in special else "versions"
    instead = _INSTEAD.get(operator)
    hint = f"; write {instead}" if instead and (kind == "quantities" or operator in COMPARISONS) else ""
    raise SelectorSyntaxError(f"{operator} is not defined for {kind}{hint}")
