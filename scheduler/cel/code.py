"""What the compiler makes of a part of a selector."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from scheduler.cel.size import ONE, Size
from scheduler.cel.tree import Node
from scheduler.cel.types import Type, Unifier
from scheduler.cel.values import Value

Scope = dict[str, Value]
"""The variables while an expression runs: `device`, and those of the macros around the part."""
Run = Callable[[Scope], Value]


@dataclass(frozen=True)
class Code:
    """A part of an expression: how to run it, the type of its result, its cost and its largest size."""

    run: Run
    type: Type
    cost: int = 1
    size: Size = ONE
    path: tuple[str | None, ...] = ()
    """The group of the device's facts that the part is, then the domain in it; None where that is computed."""


Names = dict[str, Code]
"""The variables in scope while an expression is compiled."""


class Compiler(Protocol):
    """What macros need to compile the parts they are made of."""

    types: Unifier

    def code(self, node: Node, names: Names) -> Code:
        """Compile one node; `names` are the variables in scope. Raises SelectorSyntaxError."""
