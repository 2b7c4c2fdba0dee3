"""Device selectors: DRA's CEL expressions, compiled once and run against declared devices.

The grammar is cel-python's. Its evaluator is not used: in 0.5 the result of comparing whole with fractional numbers
depends on which stands left, `has` swallows every error, and an unknown function is only noticed when it runs.
`compiler` turns the tree into functions instead and checks names, types and cost first. The same text is checked and
evaluated again by DRA on the serving cluster, so what its API server refuses is refused here, and what its allocator
answers is answered here. A device with a malformed version or amount anywhere matches nothing, whatever an expression
reads.
"""

from dataclasses import dataclass
from functools import lru_cache

from api.classes import Device
from scheduler.cel.compiler import Program, Read, compile_tree
from scheduler.cel.device import Content, content, view
from scheduler.cel.syntax import parse
from scheduler.cel.tree import SelectorSyntaxError
from scheduler.cel.values import CelError, DeviceView

__all__ = [
    "CelError",
    "Content",
    "DeviceView",
    "Match",
    "Read",
    "Selector",
    "compile_error",
    "compile_selector",
    "content",
    "match",
    "view",
]


@dataclass(frozen=True)
class Match:
    """Whether a device passes a selector; `problem` says why there is no answer, where there is none."""

    matched: bool
    problem: str = ""


@dataclass(frozen=True)
class Selector:
    """One compiled expression. One that does not compile has an `error` and matches nothing."""

    expression: str
    error: str | None
    program: Program | None

    @property
    def reads(self) -> tuple[Read, ...]:
        """The facts of the device that the expression names outright, in the order they appear."""
        return self.program.reads if self.program else ()

    @property
    def cost(self) -> int:
        """The estimate of the work that one evaluation takes at most; 0 where it does not compile."""
        return self.program.cost if self.program else 0

    def match(self, device: DeviceView) -> Match:
        """Run the expression. Never raises: errors, results that are no boolean and malformed devices are no match."""
        if self.program is None:
            return Match(matched=False, problem=self.error or "")
        if device.problem:
            return Match(matched=False, problem=device.problem)
        try:
            result = self.program.run({"device": device})
        except (CelError, RecursionError) as problem:
            return Match(matched=False, problem=str(problem))
        if isinstance(result, bool):
            return Match(matched=result)
        return Match(matched=False, problem="the result is not a boolean")


@lru_cache(maxsize=8192)
def compile_selector(expression: str) -> Selector:
    """Compile an expression; the same text is compiled once in a process."""
    try:
        return Selector(expression, None, compile_tree(parse(expression)))
    except SelectorSyntaxError as problem:
        return Selector(expression, str(problem), None)


def compile_error(expression: str) -> str | None:
    """Say what is wrong with an expression before it meets a device (MD-F1); None where nothing is.

    Wrong are also expressions that are too long (characters), too deep (levels) or too costly (estimated work).
    """
    return compile_selector(expression).error


def match(expression: str, device: Device) -> Match:
    """Whether a device, as its class declares it, passes one expression. Never raises.

    An expression that does not compile matches nothing, as does one that meets an error or has no boolean result,
    and any on a device with a malformed fact; `Match.problem` then says why. Quantities and versions compare with
    `compareTo`, `isGreaterThan` and `isLessThan` (api contract, section 2; DRA's own environment).
    """
    return compile_selector(expression).match(view(device))
