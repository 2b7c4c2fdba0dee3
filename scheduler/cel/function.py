"""One function of the selector language: what it does, how it may be called, and how large its result can be."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from scheduler.cel.size import ONE, Size, joined, largest
from scheduler.cel.types import Overload, overloads
from scheduler.cel.values import Value, no_overload

_GROWING = frozenset({"string", "bytes", "dyn"})


def together(sizes: Sequence[Size]) -> Size:
    """Return the size of a result that may hold all of its arguments."""
    return largest(joined(sizes), ONE) if sizes else ONE


@dataclass(frozen=True)
class Function:
    """One function. `run` checks its arguments again: what a device's attributes are is only known then."""

    run: Callable[..., Value]
    ways: tuple[Overload, ...]
    size: Callable[[Sequence[Size]], Size] | None = None
    """The size of the result from those of the arguments, where it is not `together` or one."""

    @classmethod
    def of(
        cls, run: Callable[..., Value], *ways: str, size: Callable[[Sequence[Size]], Size] | None = None
    ) -> "Function":
        """Make a function from the ways to call it, written as `types.overloads` takes them."""
        return cls(run, overloads(*ways), size)

    def result_size(self, kind: str, sizes: Sequence[Size]) -> Size:
        """Return the largest size of a result of this kind."""
        if self.size is not None:
            return self.size(sizes)
        return together(sizes) if kind in _GROWING else ONE


def on_text(name: str, run: Callable[[str, str], Value]) -> Callable[[Value, Value], Value]:
    """Make a function of two texts from one that need not check them."""

    def checked(value: Value, part: Value) -> Value:
        if isinstance(value, str) and isinstance(part, str):
            return run(value, part)
        raise no_overload(f"{name}()", value, part)

    return checked
