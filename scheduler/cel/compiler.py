"""From the tree of a selector to a function of a device, checked and costed on the way.

Refused here: variables, functions, macros and fields of `device` that do not exist, wrong numbers of arguments,
operands and results whose kind is known and wrong, and expressions whose estimated cost exceeds `COST_MAX`. What
depends on a device's attributes has the kind `dyn` and is left to evaluation.
"""

import difflib
from collections.abc import Callable
from dataclasses import dataclass, replace

from scheduler.cel import values
from scheduler.cel.code import Code, Names, Run, Scope
from scheduler.cel.functions import FUNCTIONS, NAMESPACES, TYPE_NAMES, UNAVAILABLE
from scheduler.cel.macros import MACROS
from scheduler.cel.size import ATTRIBUTES, ONE, TEXT, Size, joined, largest, of_value
from scheduler.cel.syntax import (
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
from scheduler.cel.values import CelError, Map, TypeName, Value

COST_MAX = 100_000
"""Units of work, one for each operator, element and eight characters; about a tenth of a second."""

_COMPARISONS: dict[str, Callable[[Value, Value], bool]] = {
    "<": values.less,
    "<=": values.less_or_equal,
    ">": lambda left, right: values.less(right, left, ">"),
    ">=": lambda left, right: values.less_or_equal(right, left, ">="),
    "==": values.equal,
    "!=": lambda left, right: not values.equal(left, right),
    "in": values.contained,
}
_ARITHMETIC: dict[str, Callable[[Value, Value], Value]] = {
    "+": values.add,
    "-": values.subtract,
    "*": values.multiply,
    "/": values.divide,
    "%": values.modulo,
}
_INSTEAD = {
    "<": "left.isLessThan(right)",
    "<=": "left.compareTo(right) <= 0",
    ">": "left.isGreaterThan(right)",
    ">=": "left.compareTo(right) >= 0",
    "+": "left.add(right)",
    "-": "left.sub(right)",
}


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
    code = compiler.code(tree, {"device": Code(lambda scope: scope["device"], "device")})
    if code.kind not in {"bool", "dyn"}:
        raise SelectorSyntaxError(f"the result is a {code.kind}, not a boolean")
    return Program(code.run, code.cost, tuple(dict.fromkeys(compiler.reads)))


class _Compiler:
    """One expression being compiled; collects what it reads."""

    def __init__(self) -> None:
        self.reads: list[Read] = []

    def code(self, node: Node, names: Names) -> Code:
        """Compile one node. `names` are the variables in scope."""
        code = self._simple(node, names) or self._composite(node, names)
        if code.cost > COST_MAX:
            raise SelectorSyntaxError("the expression would take too long to evaluate; use fewer or shorter lists")
        return code

    def _simple(self, node: Node, names: Names) -> Code | None:
        match node:
            case Literal():
                return Code(_constant(node.value), values.kind_of(node.value), 1, of_value(node.value))
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
        if node.name in TYPE_NAMES:
            return Code(_constant(TypeName(node.name)), "type")
        raise SelectorSyntaxError(f"{node.place}: there is no variable {node.name}; a selector reads device")

    def _field(self, node: Field, names: Names) -> Code:
        operand, name = self.code(node.operand, names), node.name
        code = Code(lambda scope: values.select(operand.run(scope), name), "dyn", operand.cost + 1, TEXT)
        if operand.kind == "device":
            return _device_field(code, node)
        if operand.domain is not None:
            return self._read(code, operand, name)
        if operand.kind in {"attributes", "capacity"}:
            return replace(code, kind=f"{operand.kind} domain", size=ATTRIBUTES, domain=name)
        if operand.kind not in {"dyn", "map", "attributes domain", "capacity domain"}:
            raise SelectorSyntaxError(f"{node.place}: a {operand.kind} has no field {name}")
        return replace(
            code, kind="Quantity" if operand.kind == "capacity domain" else "dyn", size=_element(operand.size)
        )

    def _item(self, node: Item, names: Names) -> Code:
        operand, key = self.code(node.operand, names), self.code(node.key, names)
        text = node.key.value if isinstance(node.key, Literal) else None
        run = lambda scope: values.at(operand.run(scope), key.run(scope))  # noqa: E731  # one of several closures
        code = Code(run, "dyn", operand.cost + key.cost + 1, _element(operand.size))
        if operand.kind in {"attributes", "capacity"}:
            domain = text if isinstance(text, str) else None
            return replace(code, kind=f"{operand.kind} domain", size=ATTRIBUTES, domain=domain)
        if operand.domain is not None and isinstance(text, str):
            return self._read(code, operand, text)
        return replace(code, kind="Quantity" if operand.kind == "capacity domain" else "dyn")

    def _read(self, code: Code, operand: Code, name: str) -> Code:
        """Code that reads one named fact of the device."""
        group = operand.kind.removesuffix(" domain")
        self.reads.append(Read(group, operand.domain or "", name))
        return replace(code, kind="Quantity" if group == "capacity" else "dyn", size=TEXT)

    def _call(self, node: Call, names: Names) -> Code:
        macro = MACROS.get(node.name)
        if macro is not None and (node.receiver is not None) == macro.method:
            return macro.build(self.code, node, names)
        if isinstance(node.receiver, Name) and node.receiver.name in NAMESPACES - names.keys():
            raise SelectorSyntaxError(
                f"{node.place}: {node.receiver.name}.{node.name}() cannot be used in a selector here"
            )
        function = FUNCTIONS.get(node.name)
        if function is None:
            raise SelectorSyntaxError(f"{node.place}: {_unknown_function(node.name)}")
        parts = (node.receiver, *node.arguments) if node.receiver is not None else node.arguments
        if not function.least <= len(parts) <= function.most:
            raise SelectorSyntaxError(f"{node.place}: {node.name}() does not take {len(node.arguments)} arguments")
        arguments = [self.code(part, names) for part in parts]
        runs, call = [argument.run for argument in arguments], function.run
        sizes = [argument.size for argument in arguments]
        cost = 1 + sum(argument.cost for argument in arguments) + sum(size.weight for size in sizes) // 8
        kind = arguments[0].kind if node.name == "dyn" else function.kind
        size = joined(sizes) if function.kind in {"string", "bytes", "dyn"} else ONE
        return Code(lambda scope: call(*(run(scope) for run in runs)), kind, cost, largest(size, ONE))

    def _operation(self, node: Operation, operands: list[Code]) -> Code:
        if len(operands) == 1:
            return _unary(node.operator, operands[0])
        left, right = operands
        _refuse_mixed(node.operator, left.kind, right.kind)
        cost = left.cost + right.cost + 1
        if node.operator in _ARITHMETIC:
            compute, size = _ARITHMETIC[node.operator], joined([left.size, right.size])
            kind = left.kind if left.kind == right.kind else "dyn"
            run: Run = lambda scope: compute(left.run(scope), right.run(scope))  # noqa: E731  # one of two closures
            return Code(run, kind, cost + size.count // 8, size)
        compare = _COMPARISONS[node.operator]
        if node.operator == "in":
            cost += right.size.count * (1 + _element(right.size).weight // 8)
        else:
            cost += min(left.size.weight, right.size.weight) // 8
        return Code(lambda scope: compare(left.run(scope), right.run(scope)), "bool", cost)

    def _logic(self, node: Logic, operands: list[Code]) -> Code:
        for operand in operands:
            if operand.kind not in {"bool", "dyn"}:
                raise SelectorSyntaxError(f"{node.operator} takes booleans, not a {operand.kind}")
        runs, decisive = tuple(operand.run for operand in operands), node.operator == "||"
        return Code(_chain(runs, decisive=decisive), "bool", 1 + sum(operand.cost for operand in operands))

    def _choice(self, parts: list[Code]) -> Code:
        test, yes, no = parts
        if test.kind not in {"bool", "dyn"}:
            raise SelectorSyntaxError(f"the test before ? is a {test.kind}, not a boolean")

        def run(scope: Scope) -> Value:
            decided = test.run(scope)
            if not isinstance(decided, bool):
                raise values.no_overload("?:", decided)
            return yes.run(scope) if decided else no.run(scope)

        kind = yes.kind if yes.kind == no.kind else "dyn"
        return Code(run, kind, 1 + test.cost + max(yes.cost, no.cost), largest(yes.size, no.size))

    def _listing(self, items: list[Code]) -> Code:
        runs = tuple(item.run for item in items)
        element = largest(*(item.size for item in items)) if items else None
        size = Size(len(items), element)
        return Code(lambda scope: [run(scope) for run in runs], "list", 1 + sum(item.cost for item in items), size)

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

        cost = 1 + sum(key.cost + item.cost for key, item in entries)
        element = largest(*(code.size for entry in entries for code in entry)) if entries else None
        return Code(run, "map", cost, Size(len(entries), element))


def _constant(value: Value) -> Run:
    return lambda _scope: value


def _element(size: Size) -> Size:
    return size.element or ONE


def _device_field(code: Code, node: Field) -> Code:
    if node.name == "driver":
        return replace(code, kind="string", size=TEXT)
    if node.name in {"attributes", "capacity"}:
        return replace(code, kind=node.name, size=Size(ATTRIBUTES.count, ATTRIBUTES))
    raise SelectorSyntaxError(f"{node.place}: device has no field {node.name}, only driver, attributes and capacity")


def _unary(operator: str, operand: Code) -> Code:
    if operator == "-":
        return Code(lambda scope: values.negate(operand.run(scope)), operand.kind, operand.cost + 1)
    if operand.kind not in {"bool", "dyn"}:
        raise SelectorSyntaxError(f"! takes a boolean, not a {operand.kind}")

    def run(scope: Scope) -> Value:
        value = operand.run(scope)
        if not isinstance(value, bool):
            raise values.no_overload("!", value)
        return not value

    return Code(run, "bool", operand.cost + 1)


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


def _refuse_mixed(operator: str, left: str, right: str) -> None:
    """Operators on quantities and versions whose kind is known before anything runs."""
    special = {left, right} & {"Quantity", "Semver"}
    if not special or operator == "in":
        return
    kind = "quantities" if "Quantity" in special else "versions"
    if operator not in {"==", "!="}:
        instead = _INSTEAD.get(operator)
        hint = f"; write {instead}" if instead and (kind == "quantities" or operator in _COMPARISONS) else ""
        raise SelectorSyntaxError(f"{operator} is not defined for {kind}{hint}")
    if left != right and "dyn" not in {left, right}:
        other = right if left in special else left
        raise SelectorSyntaxError(f"{kind} cannot equal a {other}; write quantity(…) or semver(…) around it")


def _unknown_function(name: str) -> str:
    if name in UNAVAILABLE:
        return f"{name}() cannot be used in a selector here"
    close = difflib.get_close_matches(name, [*FUNCTIONS, *MACROS], n=1)
    return f"there is no function {name}()" + (f"; did you mean {close[0]}()?" if close else "")
