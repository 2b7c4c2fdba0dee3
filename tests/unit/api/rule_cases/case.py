"""What a case of a rule is: documents that break it and documents that just do not."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from builders import Plain


@dataclass(frozen=True, kw_only=True)
class Case:
    """`at` is the field that the fault is said at. Nothing else is wrong with the refused documents."""

    refused: Sequence[Plain]
    accepted: Sequence[Plain]
    at: str


def case(plain: Plain, path: str, *, refused: Any, accepted: Any, at: str = "", beside: Sequence[Plain] = ()) -> Case:
    """A case in which one field of one document decides; a value of None leaves the field out.

    `path` has dots between all parts, `at` is the path in the form of messages and is the same where it is left out.
    """
    return Case(
        refused=(changed(plain, path, refused), *beside),
        accepted=(changed(plain, path, accepted), *beside),
        at=at or shown(path),
    )


def changed(plain: Plain, path: str, value: Any) -> Plain:
    """A copy of the document with one field set; numbers in the path are entries of lists."""
    copy: Plain = deepcopy(plain)
    *parents, last = (int(part) if part.isdigit() else part for part in path.split("."))
    inner: Any = copy
    for part in parents:
        inner = inner.setdefault(part, {}) if isinstance(inner, dict) else inner[part]
    if value is None:
        inner.pop(last, None)
    else:
        inner[last] = value
    return copy


def shown(path: str) -> str:
    """The path as messages have it."""
    text = ""
    for part in path.split("."):
        text += f"[{part}]" if part.isdigit() else f".{part}"
    return text.removeprefix(".")
