"""What the compiler makes of a part of a selector."""

from collections.abc import Callable
from dataclasses import dataclass

from scheduler.cel.size import ONE, Size
from scheduler.cel.syntax import Node
from scheduler.cel.values import Value

Scope = dict[str, Value]
"""The variables while an expression runs: `device`, and those of the macros around the part."""
Run = Callable[[Scope], Value]


@dataclass(frozen=True)
class Code:
    """A part of an expression: how to run it, the kind of its result where known, its cost and its largest size."""

    run: Run
    kind: str
    cost: int = 1
    size: Size = ONE
    domain: str | None = None
    """The domain that was picked, for a part that is one domain of the device's attributes or capacity."""


Names = dict[str, Code]
"""The variables in scope while an expression is compiled."""
CompilePart = Callable[[Node, Names], Code]
