"""What a selector is made of, without the words it was written in."""

from dataclasses import dataclass

from scheduler.cel.values import Value


class SelectorSyntaxError(Exception):
    """A selector that cannot be used, with the place in it."""


@dataclass(frozen=True)
class Literal:
    """A constant of any kind but list and map."""

    value: Value


@dataclass(frozen=True)
class Name:
    """A variable or the name of a type."""

    name: str
    place: str


@dataclass(frozen=True)
class Field:
    """`operand.name`, or `operand.?name` where it is optional."""

    operand: "Node"
    name: str
    place: str
    optional: bool = False


@dataclass(frozen=True)
class Item:
    """`operand[key]`, or `operand[?key]` where it is optional."""

    operand: "Node"
    key: "Node"
    optional: bool = False


@dataclass(frozen=True)
class Call:
    """`name(arguments)` or `receiver.name(arguments)`."""

    name: str
    receiver: "Node | None"
    arguments: tuple["Node", ...]
    place: str


@dataclass(frozen=True)
class Operation:
    """A unary or binary operator; `-` has one or two operands."""

    operator: str
    operands: tuple["Node", ...]


@dataclass(frozen=True)
class Logic:
    """A chain of `||` or `&&`."""

    operator: str
    operands: tuple["Node", ...]


@dataclass(frozen=True)
class Choice:
    """`test ? yes : no`."""

    test: "Node"
    yes: "Node"
    no: "Node"


@dataclass(frozen=True)
class Listing:
    """`[items]`."""

    items: tuple["Node", ...]


@dataclass(frozen=True)
class Mapping:
    """`{key: value}`."""

    entries: tuple[tuple["Node", "Node"], ...]


Node = Literal | Name | Field | Item | Call | Operation | Logic | Choice | Listing | Mapping
