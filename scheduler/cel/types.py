"""The types of the selector language, known before anything runs, and which of them fit one another.

The rules are those of CEL's checker, as the API server applies them: a value of unknown type (`dyn`, and `any` for
attributes, whose type only the device tells) fits everything, a type variable becomes what it first meets, and `null`
fits the types that may be absent.
"""

import re
from dataclasses import dataclass
from functools import cached_property

from scheduler.cel.tree import SelectorSyntaxError

WEIGHT_MAX = 200
"""Types that one type may consist of; lists of maps of lists grow with every level of an expression, even doubling."""

_TOKEN = re.compile(r"\w+|[(),]")


@dataclass(frozen=True)
class Type:
    """One type, such as `int` or `list(string)`; type variables are written in capitals, as in `list(A)`."""

    name: str
    parameters: "tuple[Type, ...]" = ()

    def __str__(self) -> str:
        """As in the language: `map(string, int)`."""
        return f"{self.name}({', '.join(map(str, self.parameters))})" if self.parameters else self.name

    @cached_property
    def weight(self) -> int:
        """How many types it consists of."""
        return 1 + sum(each.weight for each in self.parameters)

    @property
    def is_variable(self) -> bool:
        """Whether it stands for a type that is not known yet."""
        return self.name[0].isupper() and self.name not in {"Quantity", "Semver"}

    @property
    def is_dynamic(self) -> bool:
        """Whether only evaluation can tell."""
        return self.name in {"dyn", "any"}


BOOL, STRING, DYN, ANY, DEVICE = Type("bool"), Type("string"), Type("dyn"), Type("any"), Type("device")
_NULLABLE = frozenset({"Quantity", "Semver", "device", "optional_type"})

Bindings = dict[str, Type]


@dataclass(frozen=True)
class Overload:
    """One way to call a function: as a method of its first argument or not, what it takes and what it gives."""

    method: bool
    takes: tuple[Type, ...]
    gives: Type


class Unifier:
    """What the type variables of one expression stand for, as far as is known."""

    def __init__(self) -> None:
        self._bound: Bindings = {}
        self._fresh = 0

    def variable(self) -> Type:
        """Make a type that is not known yet."""
        self._fresh += 1
        return Type(f"T{self._fresh}")

    def settled(self, kind: Type) -> Type:
        """Return a type with what is still unknown in it replaced by `dyn`."""
        known = self.known(kind)
        return DYN if known.is_variable else Type(known.name, tuple(map(self.settled, known.parameters)))

    def general(self, left: Type, right: Type) -> Type | None:
        """Return the more general of two types, None where neither fits the other."""
        if not self.fits((left,), (right,)):
            return None
        return left if _is_as_general(left, right) else right

    def known(self, kind: Type) -> Type:
        """Return a type with the variables in it replaced by what they stand for.

        Raises SelectorSyntaxError for one that consists of too many.
        """
        if kind.is_variable:
            return self.known(self._bound[kind.name]) if kind.name in self._bound else kind
        found = Type(kind.name, tuple(map(self.known, kind.parameters))) if kind.parameters else kind
        if found.weight > WEIGHT_MAX:
            raise SelectorSyntaxError("the lists and maps of the expression are nested too deep in one another")
        return found

    def fits(self, given: tuple[Type, ...], wanted: tuple[Type, ...]) -> bool:
        """Whether each type can be used where the other is wanted; variables are bound only where all can."""
        given = tuple(map(self.known, given))
        bound = dict(self._bound)
        if len(given) == len(wanted) and all(_fits(bound, *pair) for pair in zip(given, wanted, strict=True)):
            self._bound = bound
            return True
        return False

    def resolve(self, overloads: tuple[Overload, ...], given: tuple[Type, ...]) -> Type | None:
        """Return what a call gives: `dyn` where it depends on which of the ways is taken, None where none fits."""
        found: Type | None = None
        for overload in overloads:
            takes, gives = self._renamed(overload)
            if self.fits(given, takes):
                result = self.known(gives)
                if found is None:
                    found = result
                elif not found.is_dynamic and found != result:
                    found = DYN
        return found

    def _renamed(self, overload: Overload) -> tuple[tuple[Type, ...], Type]:
        fresh: Bindings = {}

        def renamed(kind: Type) -> Type:
            if kind.is_variable:
                if kind.name not in fresh:
                    fresh[kind.name] = self.variable()
                return fresh[kind.name]
            return Type(kind.name, tuple(map(renamed, kind.parameters))) if kind.parameters else kind

        return tuple(map(renamed, overload.takes)), renamed(overload.gives)


def parsed(text: str) -> Type:
    """Read a type as it is written: `map(string, list(A))`."""
    return _parsed(_TOKEN.findall(text))


def overloads(*texts: str) -> tuple[Overload, ...]:
    """Read ways to call a function: `string.(string) -> bool` is a method, `(string) -> int` is none."""
    return tuple(_overload(text) for text in texts)


def _overload(text: str) -> Overload:
    head, gives = text.rsplit(" -> ", 1)
    receiver, dot, call = head.rpartition(".")
    takes = _listed(_TOKEN.findall(call))
    return Overload(bool(dot), ((parsed(receiver),) if dot else ()) + takes, parsed(gives))


def _parsed(tokens: list[str]) -> Type:
    name = tokens.pop(0)
    return Type(name, _listed(tokens) if tokens[:1] == ["("] else ())


def _listed(tokens: list[str]) -> tuple[Type, ...]:
    tokens.pop(0)
    found = []
    while tokens[0] != ")":
        found.append(_parsed(tokens))
        if tokens[0] == ",":
            tokens.pop(0)
    tokens.pop(0)
    return tuple(found)


def _fits(bound: Bindings, given: Type, wanted: Type) -> bool:
    if wanted.is_variable:
        answer = _stands_for(bound, wanted, given)
        if answer or wanted.name in bound:
            return answer
    if given.is_variable:
        return _stands_for(bound, given, wanted)
    if given.is_dynamic or wanted.is_dynamic:
        return True
    if given.name != wanted.name:
        return "null_type" in {given.name, wanted.name} and bool({given.name, wanted.name} & _NULLABLE)
    pairs = zip(given.parameters, wanted.parameters, strict=True)
    return all(_fits(bound, *pair) for pair in pairs)


def _stands_for(bound: Bindings, variable: Type, other: Type) -> bool:
    """Whether a variable stands for the other type, or can from now on; it keeps the more general of two."""
    if variable == other:
        return True
    before = bound.get(variable.name)
    if before is None:
        if _occurs(bound, variable, other):
            return False
        bound[variable.name] = other
        return True
    if before == other:
        return True
    if not _fits(bound, other, before):
        return False
    general = other if _is_as_general(other, before) else before
    if not _occurs(bound, variable, general):
        bound[variable.name] = general
    return True


def _occurs(bound: Bindings, variable: Type, within: Type) -> bool:
    if variable == within:
        return True
    if within.is_variable:
        return within.name in bound and _occurs(bound, variable, bound[within.name])
    return any(_occurs(bound, variable, each) for each in within.parameters)


def _is_as_general(left: Type, right: Type) -> bool:
    if left.is_dynamic or left.is_variable:
        return True
    if right.is_dynamic or right.is_variable or left.name != right.name:
        return False
    return all(_is_as_general(*pair) for pair in zip(left.parameters, right.parameters, strict=True))


def optional(kind: Type) -> Type:
    """Return the type of a value that may be absent."""
    return Type("optional_type", (kind,))


def listed(kind: Type) -> Type:
    """Return the type of a list of such elements."""
    return Type("list", (kind,))
