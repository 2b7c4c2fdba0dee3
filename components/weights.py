"""Weights of a service's entries spread over their endpoints (reference: routing, section 5)."""

from collections.abc import Sequence
from math import ceil, gcd

LARGEST = 1_000_000
"""The largest weight a Gateway API backend may carry."""


def spread(entries: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Weights of the endpoints of each (weight, number of usable endpoints).

    The ratio between entries is kept exactly, whatever the number of endpoints behind each; an entry without endpoints
    drops out and its share goes to the others; no weight is 0.
    """
    scale = max((ceil(count / weight) for weight, count in entries if count), default=1)
    weights = [_divide(weight * scale, count) for weight, count in entries]
    flat = iter(lowered([weight for group in weights for weight in group]))
    return [[next(flat) for _ in group] for group in weights]


def lowered(weights: Sequence[int]) -> list[int]:
    """The smallest weights with the same ratios; where they are too large, the nearest ones that are not."""
    if not weights:
        return []
    common = gcd(*weights)
    largest = max(weights) // common
    if largest <= LARGEST:
        return [weight // common for weight in weights]
    return [max(1, round(weight / common / largest * LARGEST)) for weight in weights]


def _divide(total: int, count: int) -> list[int]:
    if not count:
        return []
    base, remainder = divmod(total, count)
    return [base + 1 if position < remainder else base for position in range(count)]
