"""Kubernetes quantities as exact values, for device selectors.

A quantity is a number with a binary suffix (`Ki` to `Ei`), a decimal suffix (`n` to `E`) or an exponent. Values are
held in units of one billionth and rounded away from zero to that. Binary forms saturate at plus and minus 2^63-1, so
`8Ei` equals `10Ei`; decimal and exponent forms do not (api contract, section 2).
"""

import re
from dataclasses import dataclass
from decimal import ROUND_UP, Context, Decimal
from functools import lru_cache

_NANO = 10**9
_INT64_MAX = 2**63 - 1
_INT64_MIN = -(2**63)
_EXPONENT_MAX = 400
_FORM = re.compile(
    r"(?P<sign>[+-]?)(?P<digits>[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
    r"(?:(?P<binary>[KMGTPE]i)|[eE](?P<exponent>[+-]?[0-9]+)|(?P<decimal>[numkMGTPE]))?"
)
_BINARY = {f"{letter}i": 2 ** (10 * power) for power, letter in enumerate("KMGTPE", start=1)}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_EXACT = Context(prec=2000, rounding=ROUND_UP)


@dataclass(frozen=True)
class Quantity:
    """An amount in billionths of its unit; equal amounts are equal, however they were written."""

    nanos: int

    def is_integer(self) -> bool:
        """Whether the amount is a whole number that fits a signed 64-bit integer."""
        return self.nanos % _NANO == 0 and _INT64_MIN <= self.nanos // _NANO <= _INT64_MAX

    def as_integer(self) -> int:
        """Return the amount as a whole number. Raises ValueError where `is_integer` is false."""
        if not self.is_integer():
            raise ValueError("the quantity is not a 64-bit integer")
        return self.nanos // _NANO

    def as_float(self) -> float:
        """Return the amount as the nearest float; infinite where it is too large for one."""
        try:
            return self.nanos / _NANO
        except OverflowError:
            return float("inf") if self.nanos > 0 else float("-inf")

    def sign(self) -> int:
        """-1, 0 or 1."""
        return (self.nanos > 0) - (self.nanos < 0)

    def compare(self, other: "Quantity") -> int:
        """-1, 0 or 1, as this amount is smaller than, equal to or larger than the other."""
        return (self.nanos > other.nanos) - (self.nanos < other.nanos)

    def plus(self, other: "Quantity | int") -> "Quantity":
        """Return the sum; a plain integer counts as that many whole units."""
        return Quantity(self.nanos + _nanos(other))

    def minus(self, other: "Quantity | int") -> "Quantity":
        """Return the difference; a plain integer counts as that many whole units."""
        return Quantity(self.nanos - _nanos(other))


@lru_cache(maxsize=4096)
def parse_quantity(text: str) -> Quantity:
    """Read a quantity. Raises ValueError for anything that is not one, blanks and unknown suffixes included."""
    match = _FORM.fullmatch(text)
    if match is None or len(text) > 256:
        raise ValueError(f"{text[:40]!r} is not a Kubernetes quantity")
    number = Decimal(match["sign"] + match["digits"])
    if match["binary"]:
        nanos = _rounded(_EXACT.multiply(number, Decimal(_BINARY[match["binary"]])))
        limit = _INT64_MAX * _NANO
        return Quantity(max(-limit, min(limit, nanos)))
    exponent = int(match["exponent"]) if match["exponent"] else _DECIMAL.get(match["decimal"] or "", 0)
    if abs(exponent) > _EXPONENT_MAX:
        raise ValueError(f"{text[:40]!r} is out of range for a Kubernetes quantity")
    return Quantity(_rounded(_EXACT.scaleb(number, exponent)))


def is_quantity(text: str) -> bool:
    """Whether the text is a quantity, negative ones included."""
    try:
        parse_quantity(text)
    except ValueError:
        return False
    return True


def _nanos(operand: Quantity | int) -> int:
    return operand.nanos if isinstance(operand, Quantity) else operand * _NANO


def _rounded(value: Decimal) -> int:
    return int(_EXACT.to_integral_value(_EXACT.scaleb(value, 9)))
