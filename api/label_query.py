"""Label selectors as `-l` takes them: `tier=prod`, `tier!=dev`, `region in (eu,us)`, `spot`, `!spot`, joined by commas.

The grammar is that of kubectl. Selectors inside documents are another thing: those are labels that must be equal.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from api.errors import InvocationError
from api.grammar import is_label_key, is_label_value

_HINT = "write key=value, key!=value, 'key in (a,b)', 'key notin (a,b)', key or !key, joined by commas"
_PARTS = re.compile(r",(?![^(]*\))")
_SET = re.compile(r"\s*(?P<key>\S+)\s+(?P<word>in|notin)\s*\((?P<values>[^()]*)\)\s*")
_EQUAL = re.compile(r"\s*(?P<key>[^=!\s]+)\s*(?P<word>==|=|!=)\s*(?P<values>[^=!\s]*)\s*")
_THERE = re.compile(r"\s*(?P<word>!?)\s*(?P<key>[^=!\s]+)\s*")


@dataclass(frozen=True)
class Requirement:
    """What one key must have. `values` are empty where it must only be there, or must not be."""

    key: str
    wanted: Literal["in", "notin", "there", "absent"]
    values: frozenset[str] = frozenset()

    def admits(self, labels: Mapping[str, str]) -> bool:
        """Whether labels are such; a key that is absent is none of the values of `notin`."""
        if self.wanted in ("there", "absent"):
            return (self.key in labels) == (self.wanted == "there")
        return (labels.get(self.key) in self.values) == (self.wanted == "in")


@dataclass(frozen=True)
class LabelQuery:
    """All requirements of a selector."""

    requirements: tuple[Requirement, ...] = ()

    def admits(self, labels: Mapping[str, str]) -> bool:
        """Whether labels meet every requirement."""
        return all(requirement.admits(labels) for requirement in self.requirements)


def parse(text: str) -> LabelQuery:
    """Read a selector; an empty one admits everything.

    Raises:
        InvocationError: it is none.

    """
    if not text.strip():
        return LabelQuery()
    return LabelQuery(tuple(_requirement(part, text) for part in _PARTS.split(text)))


def _requirement(part: str, whole: str) -> Requirement:
    found = _SET.fullmatch(part) or _EQUAL.fullmatch(part) or _THERE.fullmatch(part)
    if found is None or not is_label_key(found["key"]):
        raise InvocationError(f"-l {whole!r} is no label selector", hint=_HINT)
    if "values" not in found.groupdict():
        return Requirement(found["key"], "absent" if found["word"] else "there")
    values = frozenset(value.strip() for value in found["values"].split(","))
    if not all(is_label_value(value) for value in values):
        raise InvocationError(f"-l {whole!r} has what is no value of a label", hint=_HINT)
    return Requirement(found["key"], "notin" if found["word"] in ("!=", "notin") else "in", values)
