"""From the tree of a selector to a function of a device, checked and costed on the way.

Refused here is what the API server refuses when a claim is made: variables, functions, macros and fields of `device`
that do not exist, calls and operands of types that do not go together, constants that cannot be converted; besides,
expressions whose estimated cost exceeds `COST_MAX`. What depends on a device's attributes is left to evaluation.
"""

import difflib
from dataclasses import dataclass, replace

from scheduler.cel import values
from scheduler.cel.code import Code, Names, Run, Scope
from scheduler.cel.function import Function
from scheduler.cel.functions import CONVERSIONS, FUNCTIONS, NAMESPACES, UNAVAILABLE, pattern
from scheduler.cel.macros import MACROS
from scheduler.cel.operators import ARITHMETIC, COMPARISONS, choice_type, in_constants, item_type, operation_type
from scheduler.cel.size import ATTRIBUTES, ONE, TEXT, Size, joined, largest, of_value
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
from scheduler.cel.types import BOOL, DEVICE, DYN, STRING, Type, Unifier, listed, optional, parsed
from scheduler.cel.values import CelError, Map, Value

COST_MAX = 100_000
"""Units of work, one for each operator, element and eight characters; about a tenth of a second."""

_FIELDS = {
    "driver": (STRING, TEXT),
    "attributes": (parsed("map(string, map(string, any))"), Size(ATTRIBUTES.count, ATTRIBUTES)),
    "capacity": (parsed("map(string, map(string, Quantity))"), Size(ATTRIBUTES.count, ATTRIBUTES)),
}
"""The fields of `device`, with their types and sizes."""


@dataclass(frozen=True)
class Read:
    """An attribute or capacity of the device that an expression names outright."""

    group: str
    """`attributes` or `capacity`."""
    domain: str
    name: str


@dataclass(frozen=True)
class Program:
    """A whole selector, ready to run; `reads` are in the order they appear."""

    run: Run
    cost: int
    reads: tuple[Read, ...]


def compile_tree(tree: Node) -> Program:
    """Check a selector and make it runnable. Raises SelectorSyntaxError."""
    compiler = _Compiler()
    code = compiler.code(tree, {"device": Code(lambda scope: scope["device"], DEVICE)})
    kind = compiler.types.settled(code.type)
    if kind.name not in {"bool", "any"}:
        raise SelectorSyntaxError(f"the result is a {kind}, not a boolean")
    compiler.check_alike()
    return Program(code.run, code.cost, tuple(dict.fromkeys(compiler.reads)))


class _Compiler:
    """One expression being compiled; collects what it reads."""

    def __init__(self) -> None:
        self.reads: list[Read] = []
        self.types = Unifier()
        self._alike: list[tuple[str, Type, Type]] = []

    def code(self, node: Node, names: Names) -> Code:
        """Compile one node. `names` are the variables in scope."""
        code = self._simple(node, names) or self._composite(node, names)
        if code.cost > COST_MAX:
            raise SelectorSyntaxError("the expression would take too long to evaluate; use fewer or shorter lists")
        return code

    def check_alike(self) -> None:
        """Raise SelectorSyntaxError for elements of a list or map that are not of one type, now that all is known."""
        for what, first, other in self._alike:
            settled, found = self.types.settled(first), self.types.settled(other)
            if settled != found:
                raise SelectorSyntaxError(f"the {what} must be of one type, not {settled} and {found}")

    def _simple(self, node: Node, names: Names) -> Code | None:
        match node:
            case Literal():
                return Code(_constant(node.value), Type(values.kind_of(node.value)), 1, of_value(node.value))
            case Name():
                return self._name(node, names)
            case Field():
                return self._field(node, names)
            case Item():
                return self._item(node, names)
            case _:
                return None

    def _composite(self, node: Node, names: Names) -> Code:
        match node:
            case Call():
                return self._call(node, names)
            case Operation():
                return self._operation(node, [self.code(operand, names) for operand in node.operands])
            case Logic():
                return self._logic(node, [self.code(operand, names) for operand in node.operands])
            case Choice():
                return self._choice([self.code(part, names) for part in (node.test, node.yes, node.no)])
            case Listing():
                return self._listing([self.code(item, names) for item in node.items])
            case Mapping():
                return self._mapping([(self.code(key, names), self.code(item, names)) for key, item in node.entries])
            case _:
                raise TypeError(f"{node} is not a node with parts")

    def _name(self, node: Name, names: Names) -> Code:
        if node.name in names:
            return names[node.name]
        raise SelectorSyntaxError(f"{node.place}: there is no variable {node.name}; a selector reads device")

    def _field(self, node: Field, names: Names) -> Code:
        operand, name = self.code(node.operand, names), node.name
        select = values.select_if_there if node.optional else values.select
        kind, size = self._field_type(node, self.types.known(operand.type), operand.size)
        code = Code(lambda scope: select(operand.run(scope), name), kind, operand.cost + 1, size)
        return self._traced(code, operand, name)

    def _field_type(self, node: Field, kind: Type, size: Size) -> tuple[Type, Size]:
        if kind.name == "optional_type":
            inner, found = self._field_type(replace(node, optional=False), kind.parameters[0], size)
            return optional(inner), found
        if kind == DEVICE:
            if node.name not in _FIELDS:
                raise SelectorSyntaxError(
                    f"{node.place}: device has no field {node.name}, only driver, attributes and capacity"
                )
            found_type, found = _FIELDS[node.name]
        elif kind.name == "map":
            found_type, found = kind.parameters[1], size.element or TEXT
        elif kind.is_dynamic or kind.is_variable:
            self.types.fits((DYN,), (kind,))
            found_type, found = DYN, size.element or TEXT
        else:
            raise SelectorSyntaxError(f"{node.place}: a {kind} has no field {node.name}")
        return optional(found_type) if node.optional else found_type, found

    def _item(self, node: Item, names: Names) -> Code:
        operand, key = self.code(node.operand, names), self.code(node.key, names)
        kind = item_type(self.types, operand.type, key.type, optional=node.optional)
        pick = values.at_if_there if node.optional else values.at
        run = lambda scope: pick(operand.run(scope), key.run(scope))  # noqa: E731  # one of several closures
        code = Code(run, kind, operand.cost + key.cost + 1, _element(operand.size))
        text = node.key.value if isinstance(node.key, Literal) else None
        return self._traced(code, operand, text if isinstance(text, str) else None)

    def _traced(self, code: Code, operand: Code, name: str | None) -> Code:
        """Code that picks a part of the device, with where it is; notes the fact where that is a named one."""
        kind = self.types.known(operand.type)
        if kind == DEVICE and name in {"attributes", "capacity"}:
            return replace(code, path=(name,))
        if len(operand.path) == 1:
            return replace(code, path=(*operand.path, name))
        if len(operand.path) == 2:
            group, domain = operand.path
            if group and domain and name:
                self.reads.append(Read(group, domain, name))
            return replace(code, size=TEXT if group == "attributes" else ONE)
        return code

    def _call(self, node: Call, names: Names) -> Code:
        name, receiver = _called(node)
        macro = MACROS.get(name)
        if macro is not None and (receiver is not None) == macro.method:
            return macro.build(self, node, names)
        function = FUNCTIONS.get(name)
        if function is None:
            raise SelectorSyntaxError(f"{node.place}: {_unknown_function(node, names)}")
        parts = (receiver, *node.arguments) if receiver is not None else node.arguments
        arguments = [self.code(part, names) for part in parts]
        kind = self._call_type(node, function, arguments)
        _compute_constant(node, name)
        runs, call = [argument.run for argument in arguments], function.run
        sizes = [argument.size for argument in arguments]
        size = function.result_size(self.types.known(kind).name, sizes)
        cost = 1 + sum(argument.cost for argument in arguments) + sum(each.weight for each in (*sizes, size)) // 8
        return Code(lambda scope: call(*(run(scope) for run in runs)), kind, cost, size)

    def _call_type(self, node: Call, function: Function, arguments: list[Code]) -> Type:
        name, receiver = _called(node)
        ways = tuple(way for way in function.ways if way.method == (receiver is not None))
        if not ways:
            spelling = f"write {name}(…)" if receiver is not None else f"write value.{name}(…)"
            kind = "a function, not a method" if receiver is not None else "a method"
            raise SelectorSyntaxError(f"{node.place}: {name}() is {kind}; {spelling}")
        if all(len(way.takes) != len(arguments) for way in ways):
            raise SelectorSyntaxError(f"{node.place}: {name}() does not take {len(node.arguments)} arguments")
        found = self.types.resolve(ways, tuple(argument.type for argument in arguments))
        if found is None:
            kinds = ", ".join(str(self.types.settled(argument.type)) for argument in arguments)
            raise SelectorSyntaxError(f"{node.place}: {name}() does not take ({kinds})")
        return found

    def _operation(self, node: Operation, operands: list[Code]) -> Code:
        kind = operation_type(self.types, node.operator, tuple(operand.type for operand in operands))
        if len(operands) == 1:
            return _unary(node.operator, operands[0], kind)
        left, right = operands
        cost = left.cost + right.cost + 1
        if node.operator in ARITHMETIC:
            compute, size = ARITHMETIC[node.operator], joined([left.size, right.size])
            run: Run = lambda scope: compute(left.run(scope), right.run(scope))  # noqa: E731  # one of two closures
            return Code(run, kind, cost + size.count // 8, size)
        compare = COMPARISONS[node.operator]
        if node.operator == "in":
            cost += right.size.count * (1 + _element(right.size).weight // 8)
            listing = node.operands[1]
            if isinstance(listing, Listing) and all(isinstance(item, Literal) for item in listing.items):
                compare = in_constants
        else:
            cost += min(left.size.weight, right.size.weight) // 8
        return Code(lambda scope: compare(left.run(scope), right.run(scope)), kind, cost)

    def _logic(self, node: Logic, operands: list[Code]) -> Code:
        for operand in operands:
            if not self.types.fits((operand.type,), (BOOL,)):
                found = self.types.settled(operand.type)
                raise SelectorSyntaxError(f"{node.operator} takes booleans, not a {found}")
        runs, decisive = tuple(operand.run for operand in operands), node.operator == "||"
        return Code(_chain(runs, decisive=decisive), BOOL, 1 + sum(operand.cost for operand in operands))

    def _choice(self, parts: list[Code]) -> Code:
        test, yes, no = parts
        kind = choice_type(self.types, test.type, yes.type, no.type)

        def run(scope: Scope) -> Value:
            decided = test.run(scope)
            if not isinstance(decided, bool):
                raise values.no_overload("?:", decided)
            return yes.run(scope) if decided else no.run(scope)

        return Code(run, kind, 1 + test.cost + max(yes.cost, no.cost), largest(yes.size, no.size))

    def _listing(self, items: list[Code]) -> Code:
        runs = tuple(item.run for item in items)
        element = largest(*(item.size for item in items)) if items else None
        kind = listed(self._joined("elements of a list", [item.type for item in items]))
        size = Size(len(items), element)
        return Code(lambda scope: [run(scope) for run in runs], kind, 1 + sum(item.cost for item in items), size)

    def _mapping(self, entries: list[tuple[Code, Code]]) -> Code:
        runs = tuple((key.run, item.run) for key, item in entries)

        def run(scope: Scope) -> Value:
            found: dict[Value, Value] = {}
            for key, item in runs:
                name = values.map_key(key(scope))
                if name in found:
                    raise CelError("a map repeats a key")
                found[name] = item(scope)
            return Map(found)

        keys = self._joined("keys of a map", [key.type for key, _ in entries])
        kind = Type("map", (keys, self._joined("values of a map", [item.type for _, item in entries])))
        cost = 1 + sum(key.cost + item.cost for key, item in entries)
        element = largest(*(code.size for entry in entries for code in entry)) if entries else None
        return Code(run, kind, cost, Size(len(entries), element))

    def _joined(self, what: str, kinds: list[Type]) -> Type:
        """Return the type that all elements have."""
        if not kinds:
            return self.types.variable()
        found = kinds[0]
        for kind in kinds[1:]:
            general = self.types.general(found, kind)
            if general is None:
                settled, other = self.types.settled(found), self.types.settled(kind)
                raise SelectorSyntaxError(f"the {what} must be of one type, not {settled} and {other}")
            self._alike.append((what, kinds[0], kind))
            found = general
        return found


def _constant(value: Value) -> Run:
    return lambda _scope: value


def _element(size: Size) -> Size:
    return size.element or ONE


def _called(node: Call) -> tuple[str, Node | None]:
    """The name of what is called and its receiver; `sets.contains(a, b)` is a function with a name of two parts."""
    if isinstance(node.receiver, Name):
        name = f"{node.receiver.name}.{node.name}"
        if name in FUNCTIONS or name in MACROS:
            return name, None
    return node.name, node.receiver


def _compute_constant(node: Call, name: str) -> None:
    """Refuse what the API server computes when it compiles and cannot: constants to convert, and constant patterns."""
    last = node.arguments[-1] if node.arguments else None
    if not isinstance(last, Literal):
        return
    try:
        if name in CONVERSIONS:
            FUNCTIONS[name].run(last.value)
        elif name == "matches" and isinstance(last.value, str):
            pattern(last.value)
    except CelError as problem:
        raise SelectorSyntaxError(f"{node.place}: {problem}") from problem


def _unary(operator: str, operand: Code, kind: Type) -> Code:
    if operator == "-":
        return Code(lambda scope: values.negate(operand.run(scope)), kind, operand.cost + 1)

    def run(scope: Scope) -> Value:
        value = operand.run(scope)
        if not isinstance(value, bool):
            raise values.no_overload("!", value)
        return not value

    return Code(run, kind, operand.cost + 1)


def _chain(runs: tuple[Run, ...], *, decisive: bool) -> Run:
    """`||` (decisive true) or `&&` (decisive false): one decisive side settles it, errors on the others or not."""

    def run(scope: Scope) -> Value:
        failure: CelError | None = None
        for part in runs:
            try:
                value = part(scope)
            except CelError as problem:
                failure = failure or problem
                continue
            if value is decisive:
                return decisive
            if not isinstance(value, bool):
                failure = failure or values.no_overload("||" if decisive else "&&", value)
        if failure is not None:
            raise failure
        return not decisive

    return run


def _unknown_function(node: Call, names: Names) -> str:
    name = node.name
    if isinstance(node.receiver, Name) and node.receiver.name in NAMESPACES - names.keys():
        return f"{node.receiver.name}.{name}() cannot be used in a selector here"
    if name in UNAVAILABLE:
        return f"{name}() cannot be used in a selector here"
    close = difflib.get_close_matches(name, [*FUNCTIONS, *MACROS], n=1)
    return f"there is no function {name}()" + (f"; did you mean {close[0]}()?" if close else "")
