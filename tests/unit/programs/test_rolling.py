"""Which replicas take a changed template now."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from programs.rolling import Rollable, take_change_now


def a_replica(key: str, *, changes: bool = True, ready: bool = True, reachable: bool = True) -> Rollable:
    return Rollable(key=key, changes=changes, ready=ready, reachable=reachable)


@dataclass(frozen=True)
class Case:
    replicas: tuple[Rollable, ...]
    want: set[str]


CASES = {
    "nothing changes": Case((a_replica("a", changes=False),), set()),
    "ready ones go one by one, in order": Case((a_replica("b"), a_replica("a"), a_replica("c")), {"a"}),
    "the next goes when the first is ready again": Case((a_replica("a", changes=False), a_replica("b")), {"b"}),
    "nobody ready goes while one is starting": Case(
        (a_replica("a", changes=False, ready=False), a_replica("b")), set()
    ),
    "those that are not ready go first, together": Case(
        (a_replica("a"), a_replica("b", ready=False), a_replica("c", ready=False)), {"b", "c"}
    ),
    "an unreachable one neither goes nor holds others up": Case(
        (a_replica("a", reachable=False, ready=False), a_replica("b"), a_replica("c")), {"b"}
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_rolling(case: Case) -> None:
    assert take_change_now(case.replicas) == case.want


replicas = st.lists(
    st.builds(Rollable, key=st.uuids().map(str), changes=st.booleans(), ready=st.booleans(), reachable=st.booleans())
)


@given(replicas)
def test_at_most_one_ready_replica_is_touched(found: list[Rollable]) -> None:
    chosen = take_change_now(found)
    touched = [replica for replica in found if replica.key in chosen]
    assert sum(replica.ready for replica in touched) <= 1
    assert all(replica.changes and replica.reachable for replica in touched)


@given(replicas)
def test_a_change_arrives_everywhere_in_the_end(found: list[Rollable]) -> None:
    pending = {
        replica.key: Rollable(key=replica.key, changes=True, ready=replica.ready, reachable=True) for replica in found
    }
    rounds = 0
    while any(replica.changes for replica in pending.values()):
        for key in take_change_now(pending.values()):
            pending[key] = Rollable(key=key, changes=False, ready=True, reachable=True)
        rounds += 1
        assert rounds <= len(found)
