"""Taints and tolerations, which are a matter between deployments and clusters and never reach pods."""

from collections.abc import Iterable

from api.terms import Effect, Taint, Toleration


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Whether one toleration covers one taint; an absent value equals an empty one."""
    if toleration.effect is not None and toleration.effect != taint.effect:
        return False
    if toleration.operator == "Exists":
        return not toleration.key or toleration.key == taint.key
    return toleration.key == taint.key and (toleration.value or "") == taint.value


def untolerated(
    taints: Iterable[Taint], tolerations: Iterable[Toleration], effect: Effect | None = None
) -> tuple[Taint, ...]:
    """Return the taints that no toleration covers, of one effect where one is given."""
    allowed = tuple(tolerations)
    return tuple(
        taint
        for taint in taints
        if effect in {None, taint.effect} and not any(tolerates(toleration, taint) for toleration in allowed)
    )
