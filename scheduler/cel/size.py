"""How large the values of a selector can become, for the estimate of its cost.

An estimate is an upper bound: facts of a device are as long as the API allows, a chosen branch is the longer one.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from scheduler.cel.values import Value

_WEIGHT_MAX = 10**9


@dataclass(frozen=True)
class Size:
    """Characters of a text, or elements of a list or map and the size of the largest of them."""

    count: int
    element: "Size | None" = None

    @cached_property
    def weight(self) -> int:
        """Characters and elements all told, capped."""
        return min(_WEIGHT_MAX, self.count * (self.element.weight if self.element else 1))


ONE = Size(1)
TEXT = Size(256)
"""A string attribute: at most 253 characters (api contract, section 4)."""
ATTRIBUTES = Size(64, Size(64))
"""The names in one domain, or the domains of a device."""


def of_value(value: Value) -> Size:
    """Return the size of a constant."""
    return Size(len(value)) if isinstance(value, str | bytes) else ONE


def largest(*sizes: Size) -> Size:
    """Return a size that none of the given ones exceeds."""
    elements = [size.element for size in sizes if size.element is not None]
    return Size(max(size.count for size in sizes), largest(*elements) if elements else None)


def joined(sizes: Iterable[Size]) -> Size:
    """Return the size of texts or lists put together."""
    parts = list(sizes)
    elements = [size.element for size in parts if size.element is not None]
    return Size(min(_WEIGHT_MAX, sum(size.count for size in parts)), largest(*elements) if elements else None)
