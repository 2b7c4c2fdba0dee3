"""Conditions with times that move only when a status does."""

from collections.abc import Iterable

from api.base import Condition


def condition(kind: str, status: bool, reason: str, message: str = "") -> Condition:  # noqa: FBT001 - a status is one
    """A condition without its time."""
    return Condition(type=kind, status="True" if status else "False", reason=reason, message=message)


def dated(conditions: Iterable[Condition], last: Iterable[Condition], now: str) -> tuple[Condition, ...]:
    """The conditions with transition times: the earlier one while the status stays, `now` where it changed."""
    before = {earlier.type: earlier for earlier in last}
    return tuple(
        current.model_copy(
            update={
                "last_transition_time": before[current.type].last_transition_time
                if current.type in before and before[current.type].status == current.status
                else now
            }
        )
        for current in conditions
    )
