"""The macros of the selector language: `has`, `cel.bind`, and the ones that run an expression for each element."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from scheduler.cel.code import Code, Compiler, Names, Run, Scope
from scheduler.cel.size import ONE, Size
from scheduler.cel.tree import Call, Field, Name, Node, SelectorSyntaxError
from scheduler.cel.types import BOOL, DYN, Type, listed, optional
from scheduler.cel.values import CelError, DeviceView, Map, Optional, Value, has_field, kind_of, no_overload

Each = Callable[[Scope], Iterator[tuple[Value, Scope]]]
"""The elements a macro goes through, each with the scope in which its expressions run."""
Build = Callable[[Compiler, Call, Names], Code]


@dataclass(frozen=True)
class Macro:
    """One macro: whether it is written as a method, and how it is compiled."""

    method: bool
    build: Build


def _has(compiler: Compiler, node: Call, names: Names) -> Code:
    field = node.arguments[0] if len(node.arguments) == 1 else None
    if not isinstance(field, Field) or field.optional:
        raise SelectorSyntaxError(f'{node.place}: has() takes a field, as in has(device.attributes["domain"].name)')
    name, checked, operand = field.name, compiler.code(field, names), compiler.code(field.operand, names)

    def run(scope: Scope) -> Value:
        container = operand.run(scope)
        if isinstance(container, Optional):
            return bool(container.values) and _has_field(container.values[0], name)
        return _has_field(container, name)

    return Code(run, BOOL, checked.cost)


def _has_field(container: Value, name: str) -> bool:
    if not isinstance(container, Map | DeviceView):
        raise CelError(f"{kind_of(container)} has no fields")
    return has_field(container, name)


def _loop(finish: Callable[[Each, tuple[Run, ...]], Run], gives: str, *, bodies: int = 1, tests: bool = True) -> Build:
    """Make the compiler of a macro over elements.

    It has `bodies` expressions at most, and gives a boolean (`bool`), some of the elements (`same`) or what the last
    expression makes of them (`made`). The first expression is a boolean if it `tests`, or if there is another one.
    """

    def build(compiler: Compiler, node: Call, names: Names) -> Code:
        variable, parts = _arguments(node, bodies)
        source = compiler.code(node.receiver or node, names)
        kind, element = _element_type(compiler, node, source.type), source.size.element or ONE
        bound = Code(lambda scope: scope[variable], kind, 1, element)
        codes = [compiler.code(part, {**names, variable: bound}) for part in parts]
        if tests or len(codes) > 1:
            _check_test(compiler, node, codes[0].type)

        def each(scope: Scope) -> Iterator[tuple[Value, Scope]]:
            return ((item, {**scope, variable: item}) for item in _elements(source.run(scope)))

        cost = source.cost + max(1, source.size.count) * (1 + sum(code.cost for code in codes))
        run = finish(each, tuple(code.run for code in codes))
        if gives == "bool":
            return Code(run, BOOL, cost)
        if gives == "same":
            return Code(run, listed(kind), cost, Size(source.size.count, element))
        return Code(run, listed(codes[-1].type), cost, Size(source.size.count, codes[-1].size))

    return build


def _element_type(compiler: Compiler, node: Call, source: Type) -> Type:
    kind = compiler.types.known(source)
    if kind.name in {"list", "map"}:
        return kind.parameters[0]
    if kind.name != "dyn" and not kind.is_variable:
        found = "an attribute" if kind.name == "any" else f"a {kind}"
        raise SelectorSyntaxError(f"{node.place}: {node.name}() needs a list or a map, not {found}")
    compiler.types.fits((DYN,), (kind,))
    return DYN


def _check_test(compiler: Compiler, node: Call, test: Type) -> None:
    if not compiler.types.fits((test,), (BOOL,)):
        found = compiler.types.settled(test)
        raise SelectorSyntaxError(f"{node.place}: the test of {node.name}() is a {found}, not a boolean")


def _bind(compiler: Compiler, node: Call, names: Names) -> Code:
    """`cel.bind(name, value, expression)`; an error in the value is one only where the name is used."""
    variable = node.arguments[0] if node.arguments else None
    if not isinstance(variable, Name) or len(node.arguments) != 3:
        raise SelectorSyntaxError(f"{node.place}: write cel.bind(name, value, expression)")
    name, value = variable.name, compiler.code(node.arguments[1], names)
    bound = replace(value, run=lambda scope: _unless_failed(scope[name]), cost=1)
    body = compiler.code(node.arguments[2], {**names, name: bound})

    def run(scope: Scope) -> Value:
        try:
            found = value.run(scope)
        except CelError as problem:
            found = problem
        return body.run({**scope, name: found})

    return replace(body, run=run, cost=1 + value.cost + body.cost)


def _unless_failed(value: Value) -> Value:
    if isinstance(value, CelError):
        raise value
    return value


def _on_optional(*, flat: bool) -> Build:
    """`optMap`, or `optFlatMap` whose expression is optional itself."""

    def build(compiler: Compiler, node: Call, names: Names) -> Code:
        variable, parts = _arguments(node, 1)
        source = compiler.code(node.receiver or node, names)
        kind = compiler.types.variable()
        if not compiler.types.fits((source.type,), (optional(kind),)):
            found = compiler.types.settled(source.type)
            raise SelectorSyntaxError(f"{node.place}: {node.name}() needs an optional value, not a {found}")
        bound = Code(lambda scope: scope[variable], kind, 1, source.size)
        body = compiler.code(parts[0], {**names, variable: bound})
        if flat and not compiler.types.fits((body.type,), (optional(compiler.types.variable()),)):
            raise SelectorSyntaxError(f"{node.place}: the expression of optFlatMap() must be an optional value")

        def run(scope: Scope) -> Value:
            value = source.run(scope)
            if not isinstance(value, Optional):
                raise no_overload(f"{node.name}()", value)
            found = tuple(body.run({**scope, variable: item}) for item in value.values)
            return found[0] if flat and found else Optional(found)

        return replace(
            body, run=run, cost=1 + source.cost + body.cost, type=body.type if flat else optional(body.type), path=()
        )

    return build


def _arguments(node: Call, bodies: int) -> tuple[str, tuple[Node, ...]]:
    variable = node.arguments[0] if node.arguments else None
    if not isinstance(variable, Name) or not 2 <= len(node.arguments) <= bodies + 1:
        raise SelectorSyntaxError(f"{node.place}: write {node.name}(name, expression)")
    return variable.name, node.arguments[1:]


def _elements(value: Value) -> Iterator[Value]:
    if isinstance(value, list):
        return iter(value)
    if isinstance(value, Map):
        return value.names()
    raise no_overload("a macro", value)


def _truth(value: Value) -> bool:
    if not isinstance(value, bool):
        raise no_overload("a test", value)
    return value


def _quantified(*, decisive: bool) -> Callable[[Each, tuple[Run, ...]], Run]:
    """`exists` (decisive true) or `all` (decisive false): one decisive element settles it, errors elsewhere or not."""

    def finish(each: Each, bodies: tuple[Run, ...]) -> Run:
        def run(scope: Scope) -> Value:
            failure: CelError | None = None
            for _, inner in each(scope):
                try:
                    if _truth(bodies[0](inner)) is decisive:
                        return decisive
                except CelError as problem:
                    failure = failure or problem
            if failure is not None:
                raise failure
            return not decisive

        return run

    return finish


def _exists_one(each: Each, bodies: tuple[Run, ...]) -> Run:
    return lambda scope: sum(_truth(bodies[0](inner)) for _, inner in each(scope)) == 1


def _filter(each: Each, bodies: tuple[Run, ...]) -> Run:
    return lambda scope: [item for item, inner in each(scope) if _truth(bodies[0](inner))]


def _map(each: Each, bodies: tuple[Run, ...]) -> Run:
    if len(bodies) == 1:
        return lambda scope: [bodies[0](inner) for _, inner in each(scope)]
    return lambda scope: [bodies[1](inner) for _, inner in each(scope) if _truth(bodies[0](inner))]


MACROS: dict[str, Macro] = {
    "has": Macro(method=False, build=_has),
    "exists": Macro(method=True, build=_loop(_quantified(decisive=True), "bool")),
    "all": Macro(method=True, build=_loop(_quantified(decisive=False), "bool")),
    "exists_one": Macro(method=True, build=_loop(_exists_one, "bool")),
    "filter": Macro(method=True, build=_loop(_filter, "same")),
    "map": Macro(method=True, build=_loop(_map, "made", bodies=2, tests=False)),
    "cel.bind": Macro(method=False, build=_bind),
    "optMap": Macro(method=True, build=_on_optional(flat=False)),
    "optFlatMap": Macro(method=True, build=_on_optional(flat=True)),
}
