"""Semantic versions with the precedence of semver.org 2.0.0, for device selectors.

Strict reading wants all three numbers, without a leading `v` or leading zeros. Normalised reading strips one `v`,
leading zeros and adds missing numbers. An empty pre-release or build part is refused in both.
"""

import re
from dataclasses import dataclass, field
from functools import lru_cache

_NUMBER_MAX = 2**64 - 1
_IDENTIFIER = re.compile(r"[0-9A-Za-z-]+")
_SHORT_WITH_EXTRA = "a version without all three numbers takes neither a pre-release nor a build part"

Precedence = tuple[tuple[int, int, int], bool, tuple[tuple[bool, int, str], ...]]


@dataclass(frozen=True)
class Semver:
    """A version; two are equal when neither comes before the other, so the build part does not count."""

    major: int = field(compare=False)
    minor: int = field(compare=False)
    patch: int = field(compare=False)
    precedence: Precedence

    def compare(self, other: "Semver") -> int:
        """-1, 0 or 1, as this version comes before, with or after the other."""
        return (self.precedence > other.precedence) - (self.precedence < other.precedence)


@lru_cache(maxsize=4096)
def parse_semver(text: str, *, normalize: bool = False) -> Semver:
    """Read a version, strictly or after normalising it. Raises ValueError for anything that is not one."""
    if len(text) > 256:
        raise ValueError(f"{text[:40]!r} is not a semantic version")
    rest, plus, build = (_normalized(text) if normalize else text).partition("+")
    rest, minus, pre_release = rest.partition("-")
    numbers = [_number(part, text) for part in rest.split(".")]
    if len(numbers) != 3:
        raise ValueError(f"{text!r} is not a semantic version: write major.minor.patch")
    if plus:
        _identifiers(build, text)
    identifiers = tuple(_identifier(part, text) for part in _identifiers(pre_release, text)) if minus else ()
    major, minor, patch = numbers
    return Semver(major, minor, patch, ((major, minor, patch), not minus, identifiers))


def is_semver(text: str, *, normalize: bool = False) -> bool:
    """Whether the text is a version, strictly or after normalising it."""
    try:
        parse_semver(text, normalize=normalize)
    except ValueError:
        return False
    return True


def _normalized(text: str) -> str:
    parts = text.removeprefix("v").split(".", 2)
    parts = [_without_leading_zeros(part) for part in parts]
    if len(parts) < 3:
        if "+" in parts[-1] or "-" in parts[-1]:
            raise ValueError(f"{text!r} is not a semantic version: {_SHORT_WITH_EXTRA}")
        parts += ["0"] * (3 - len(parts))
    return ".".join(parts)


def _without_leading_zeros(part: str) -> str:
    stripped = part.lstrip("0") if len(part) > 1 else part
    return stripped if stripped[:1].isdigit() else part[:1] + stripped if part.startswith("0") else stripped


def _number(part: str, text: str) -> int:
    if not (part.isascii() and part.isdigit()) or (len(part) > 1 and part[0] == "0") or int(part) > _NUMBER_MAX:
        raise ValueError(f"{text!r} is not a semantic version: {part!r} is not a number without leading zeros")
    return int(part)


def _identifiers(part: str, text: str) -> list[str]:
    identifiers = part.split(".")
    if not all(_IDENTIFIER.fullmatch(identifier) for identifier in identifiers):
        raise ValueError(f"{text!r} is not a semantic version: {part!r} is not a dotted list of identifiers")
    return identifiers


def _identifier(part: str, text: str) -> tuple[bool, int, str]:
    """Make a sort key of an identifier: numbers come before text, numbers by value, text by its characters."""
    return (False, _number(part, text), "") if part.isdigit() else (True, 0, part)
