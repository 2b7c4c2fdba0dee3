"""The macros of the selector language: `has`, and the ones that run an expression for each element."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from scheduler.cel.code import Code, CompilePart, Names, Run, Scope
from scheduler.cel.size import ONE, Size
from scheduler.cel.syntax import Call, Field, Name, Node, SelectorSyntaxError
from scheduler.cel.values import CelError, DeviceView, Map, Value, kind_of, no_overload, select

_ITERABLE = frozenset({"list", "map", "dyn", "attributes", "capacity", "attributes domain", "capacity domain"})

Each = Callable[[Scope], Iterator[tuple[Value, Scope]]]
"""The elements a macro goes through, each with the scope in which its expressions run."""


@dataclass(frozen=True)
class Macro:
    """One macro: whether it is written as a method, and how it is compiled."""

    method: bool
    build: Callable[[CompilePart, Call, Names], Code]


def _has(compile_part: CompilePart, node: Call, names: Names) -> Code:
    if len(node.arguments) != 1 or not isinstance(node.arguments[0], Field):
        raise SelectorSyntaxError(f'{node.place}: has() takes a field, as in has(device.attributes["domain"].name)')
    field = node.arguments[0]
    checked, operand = compile_part(field, names), compile_part(field.operand, names)

    def run(scope: Scope) -> Value:
        container = operand.run(scope)
        if isinstance(container, Map):
            return container.has(field.name)
        if isinstance(container, DeviceView):
            return select(container, field.name) is not None
        raise CelError(f"{kind_of(container)} has no fields")

    return Code(run, "bool", checked.cost)


def _loop(
    finish: Callable[[Each, tuple[Run, ...]], Run], kind: str, *, bodies: int = 1, keeps: bool = False
) -> Callable[[CompilePart, Call, Names], Code]:
    """Make the compiler of a macro over elements; `bodies` expressions at most, `keeps` if elements stay."""

    def build(compile_part: CompilePart, node: Call, names: Names) -> Code:
        variable, parts = _arguments(node, bodies)
        source = compile_part(node.receiver or node, names)
        if source.kind not in _ITERABLE:
            raise SelectorSyntaxError(f"{node.place}: {node.name}() needs a list or a map, not a {source.kind}")
        element = source.size.element or ONE
        bound = Code(lambda scope: scope[variable], "dyn", 1, element)
        codes = [compile_part(part, {**names, variable: bound}) for part in parts]

        def each(scope: Scope) -> Iterator[tuple[Value, Scope]]:
            return ((item, {**scope, variable: item}) for item in _elements(source.run(scope)))

        cost = source.cost + max(1, source.size.count) * (1 + sum(code.cost for code in codes))
        size = Size(source.size.count, element if keeps else codes[-1].size) if kind == "list" else ONE
        return Code(finish(each, tuple(code.run for code in codes)), kind, cost, size)

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
    "filter": Macro(method=True, build=_loop(_filter, "list", keeps=True)),
    "map": Macro(method=True, build=_loop(_map, "list", bodies=2)),
}
