"""What `-l` asks of labels, in the language of `kubectl get -l`: `region=us,tier!=test,zone in (a,b),gpu,!spot`. Pure.

Source: Kubernetes, "Labels and selectors". A label that is not there differs from every value, as there.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from api.errors import InvocationError
from api.grammar import is_label_key, is_label_value

HINT = (
    "write labels as `kubectl get -l` takes them: region=us, tier!=test, zone in (a,b), gpu, !spot; commas between them"
)
_KEY = r"(?P<key>[^\s!=,()]+)"
_FORMS = {
    "in": re.compile(rf"{_KEY}\s*={{1,2}}\s*(?P<values>[^\s!=,()]*)"),
    "notin": re.compile(rf"{_KEY}\s*!=\s*(?P<values>[^\s!=,()]*)"),
    "set": re.compile(rf"{_KEY}\s+(?P<operator>in|notin)\s*\((?P<values>[^()]*)\)"),
    "exists": re.compile(_KEY),
    "absent": re.compile(rf"!\s*{_KEY}"),
}
_BETWEEN = re.compile(r",(?![^(]*\))")


@dataclass(frozen=True, kw_only=True)
class _Term:
    key: str
    operator: str
    values: frozenset[str] = frozenset()

    def holds(self, labels: Mapping[str, str]) -> bool:
        found = labels.get(self.key)
        return {
            "in": found in self.values,
            "notin": found not in self.values,
            "exists": found is not None,
            "absent": found is None,
        }[self.operator]


@dataclass(frozen=True, kw_only=True)
class LabelQuery:
    """Terms that labels have to meet, all of them; one without terms is met by any labels."""

    terms: tuple[_Term, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether labels meet every term."""
        return all(term.holds(labels) for term in self.terms)


def label_query(text: str) -> LabelQuery:
    """What a text asks of labels.

    Raises:
        InvocationError: it is no such text.

    """
    return LabelQuery(terms=tuple(_term(part.strip()) for part in _BETWEEN.split(text)))


def _term(text: str) -> _Term:
    for form, pattern in _FORMS.items():
        if match := pattern.fullmatch(text):
            found = match.groupdict()
            operator = found.get("operator") or form
            values = frozenset(value.strip() for value in (found.get("values") or "").split(","))
            if is_label_key(found["key"]) and all(map(is_label_value, values)):
                return _Term(key=found["key"], operator=operator, values=values)
    raise InvocationError(f"{text or 'nothing'} asks nothing of labels", hint=HINT)
