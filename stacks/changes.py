"""What operations do to resources: the engine's steps, and what several of them come to. Pure.

The engine tells one change in several steps: a component is told twice, a replacement three times. A pass brings one
stack up more than once. What counts for people is each resource once, with what all of it came to.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

CREATE, UPDATE, REPLACE, DELETE, SAME = "create", "update", "replace", "delete", "same"
CHANGES = (CREATE, UPDATE, REPLACE, DELETE)

STACK_TYPE = "pulumi:pulumi:Stack"
_ENGINES_OWN = (STACK_TYPE, "pulumi:providers:")
"""Entries that stand for no resource: a stack's for itself, and providers."""

_MEANT: Mapping[str, str] = {
    "create": CREATE,
    "import": CREATE,
    "update": UPDATE,
    "replace": REPLACE,
    "create-replacement": REPLACE,
    "delete-replaced": REPLACE,
    "import-replacement": REPLACE,
    "delete": DELETE,
    "discard": DELETE,
    "same": SAME,
    "read": SAME,
    "refresh": SAME,
}
"""The engine's words for steps, in ours; steps of other names change no resource."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """One resource and what is done to it. `operation` is one of CHANGES, or SAME."""

    urn: str
    type: str
    operation: str
    fields: tuple[str, ...] = field(default=())
    """Paths of the inputs that differ, where the provider tells them; never their values."""

    @property
    def name(self) -> str:
        """The resource's name in its stack."""
        return self.urn.rpartition("::")[2]

    @property
    def kind(self) -> str:
        """Kubernetes kind, or noun of a component."""
        return self.type.rpartition(":")[2]


def step_of(urn: str, kind: str, operation: str, fields: Iterable[str] = ()) -> Step | None:
    """The engine's step in our words; None where it is about no resource, or changes none."""
    meant = _MEANT.get(operation)
    if meant is None or kind.startswith(_ENGINES_OWN):
        return None
    return Step(urn=urn, type=kind, operation=meant, fields=tuple(sorted(fields)))


def net(steps: Iterable[Step]) -> tuple[Step, ...]:
    """What steps one after the other come to, each resource once, in the order in which they were first met."""
    found: dict[tuple[str, str], Step | None] = {}
    for step in steps:
        key = (step.urn, step.type)
        before = found.get(key)
        operation = step.operation if before is None else _then(before.operation, step.operation)
        fields = {*step.fields, *(before.fields if before else ())}
        gone = operation is None
        found[key] = (
            None
            if gone
            else Step(urn=step.urn, type=step.type, operation=operation or "", fields=tuple(sorted(fields)))
        )
    return tuple(step for step in found.values() if step is not None)


def _then(first: str, second: str) -> str | None:
    """One operation for two on the same resource; None where nothing is left of them."""
    if second == SAME:
        return first
    if first == SAME:
        return second
    if first == CREATE:
        return None if second == DELETE else CREATE
    if first == DELETE:
        return DELETE if second == DELETE else REPLACE
    if second == DELETE:
        return DELETE
    return REPLACE if REPLACE in (first, second) else second


def counts(steps: Iterable[Step]) -> dict[str, int]:
    """How many resources are created, updated, replaced, deleted and left, by operation; none is left out for zero."""
    return dict(Counter(step.operation for step in steps))
