"""The entries of a service spread over endpoints: the reference's table, and what holds for any entries."""

from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from components.weights import LARGEST, spread

STEADY = settings(deadline=None, derandomize=True)

TABLE: dict[str, tuple[list[tuple[int, int]], list[list[int]]]] = {
    "90/10": ([(90, 1), (10, 1)], [[9], [1]]),
    "95/5": ([(95, 1), (5, 1)], [[19], [1]]),
    "two alike": ([(2, 1), (2, 1)], [[1], [1]]),
    "two endpoints beside one, the same weight": ([(1, 2), (1, 1)], [[1, 1], [2]]),
    "80 over three beside 20": ([(80, 3), (20, 1)], [[27, 27, 26], [20]]),
    "three beside two": ([(1, 3), (1, 2)], [[1, 1, 1], [2, 1]]),
    "five beside two of triple weight": ([(1, 5), (3, 2)], [[1, 1, 1, 1, 1], [8, 7]]),
    "two beside one of triple weight": ([(1, 2), (3, 1)], [[1, 1], [6]]),
    "seven over three": ([(7, 3)], [[3, 2, 2]]),
    "50/50 over four and three": ([(50, 4), (50, 3)], [[13, 13, 12, 12], [17, 17, 16]]),
    "100 over three beside seven ones": ([(100, 3), (1, 7)], [[234, 233, 233], [1] * 7]),
    "an entry without endpoints leaves its share to the others": ([(90, 1), (10, 0)], [[1], []]),
    "the largest weight": ([(1_000_000, 1), (1, 2)], [[1_000_000], [1, 1]]),
    "nobody has an endpoint": ([(90, 0), (10, 0)], [[], []]),
    "no entries": ([], []),
}


@pytest.mark.parametrize(("entries", "want"), TABLE.values(), ids=TABLE)
def test_the_reference(entries: list[tuple[int, int]], want: list[list[int]]) -> None:
    assert spread(entries) == want


ENTRIES = st.lists(st.tuples(st.integers(1, LARGEST), st.integers(0, 40)), min_size=1, max_size=8)
SMALL = st.lists(st.tuples(st.integers(1, 100), st.integers(0, 12)), min_size=1, max_size=5)
"""Small enough for exact ratios: nothing has to be rounded down to the largest weight."""


@STEADY
@given(ENTRIES)
def test_every_endpoint_has_a_weight_a_gateway_takes(entries: list[tuple[int, int]]) -> None:
    weights = spread(entries)
    assert [len(group) for group in weights] == [count for _, count in entries]
    assert all(1 <= weight <= LARGEST for group in weights for weight in group)
    assert all(isinstance(weight, int) for group in weights for weight in group)


@STEADY
@given(SMALL)
def test_entries_keep_their_ratio_exactly(entries: list[tuple[int, int]]) -> None:
    sums = [(weight, sum(group)) for (weight, count), group in zip(entries, spread(entries), strict=True) if count]
    assert len({Fraction(total, weight) for weight, total in sums}) <= 1


@STEADY
@given(SMALL, st.data())
def test_an_entry_s_share_does_not_depend_on_how_many_stand_behind_it(
    entries: list[tuple[int, int]], data: st.DataObject
) -> None:
    assume(any(count for _, count in entries))
    other = [(weight, data.draw(st.integers(1, 12)) if count else 0) for weight, count in entries]
    assert _shares(entries) == _shares(other)


@STEADY
@given(ENTRIES)
def test_endpoints_of_one_entry_differ_little_and_the_first_have_more(entries: list[tuple[int, int]]) -> None:
    for group in spread(entries):
        assert all(first >= second for first, second in pairwise(group))
    for group in spread([(weight, count) for weight, count in entries if weight <= 100 and count <= 12]):
        assert not group or max(group) - min(group) <= 1


@STEADY
@given(ENTRIES, st.integers(0, 8))
def test_an_entry_without_endpoints_changes_nothing(entries: list[tuple[int, int]], position: int) -> None:
    where = min(position, len(entries))
    wider = [*entries[:where], (17, 0), *entries[where:]]
    found = spread(wider)
    assert found[where] == []
    assert [*found[:where], *found[where + 1 :]] == spread(entries)


@STEADY
@given(ENTRIES)
def test_weights_that_had_to_be_rounded_stay_close(entries: list[tuple[int, int]]) -> None:
    weights = spread(entries)
    total_weight = sum(weight for weight, count in entries if count)
    total = sum(sum(group) for group in weights)
    for (weight, count), group in zip(entries, weights, strict=True):
        if count:
            # rounding moves each weight by less than one: at most 40 of them in the entry and 320 in the total
            assert abs(Fraction(sum(group), total) - Fraction(weight, total_weight)) <= Fraction(360, total)


def _shares(entries: list[tuple[int, int]]) -> list[Fraction]:
    weights = spread(entries)
    total = sum(sum(group) for group in weights)
    return [Fraction(sum(group), total) for group in weights]
