"""Transition times move with the status and with nothing else."""

import pytest

from api.base import Condition
from programs.conditions import condition, dated

NOW, THEN = "2026-08-02T00:00:00Z", "2026-08-01T00:00:00Z"
READY = Condition(type="Ready", status="True", reason="Available", last_transition_time=THEN)
NOT_READY = Condition(type="Ready", status="False", reason="Starting", message="0 of 1", last_transition_time=THEN)

CASES: dict[str, tuple[Condition, list[Condition], str]] = {
    "it is new": (condition("Ready", status=True, reason="Available"), [], NOW),
    "nothing changed": (condition("Ready", status=True, reason="Available"), [READY], THEN),
    "the status changed": (condition("Ready", status=True, reason="Available"), [NOT_READY], NOW),
    "only the reason changed": (condition("Ready", status=False, reason="Pending"), [NOT_READY], THEN),
    "only the message changed": (
        condition("Ready", status=False, reason="Starting", message="1 of 2"),
        [NOT_READY],
        THEN,
    ),
    "another condition has that status": (
        condition("Accepted", status=True, reason="Accepted"),
        [READY],
        NOW,
    ),
}


@pytest.mark.parametrize(("current", "last", "time"), CASES.values(), ids=CASES)
def test_dates(current: Condition, last: list[Condition], time: str) -> None:
    want = current.model_copy(update={"last_transition_time": time})
    assert dated([current], last, NOW) == (want,)


def test_conditions_keep_their_order_and_those_that_are_gone_stay_gone() -> None:
    both = [condition("B", status=True, reason="x"), condition("A", status=True, reason="x")]
    assert [found.type for found in dated(both, [READY], NOW)] == ["B", "A"]
