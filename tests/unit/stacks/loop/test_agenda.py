"""What the loop starts next, told from facts and a clock alone."""

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from api.names import StackName
from stacks.loop.agenda import (
    LONGEST_PAUSE,
    Asked,
    Done,
    Facts,
    Limits,
    is_settled,
    pause,
    seen_right,
    to_start,
    wakes_at,
)

NOW = 1000.0
GATEWAY, PLACEMENT, ROUTING = (StackName("f", kind) for kind in ("gateway", "placement", "routing"))
CLUSTERS = [StackName("f", "cluster", name) for name in "abcd"]
SERVING = [StackName("f", "serving", name) for name in "abcd"]
WORKLOADS = [StackName("f", "workloads", name) for name in "abcd"]
EVERY = [GATEWAY, *CLUSTERS, *SERVING, PLACEMENT, *WORKLOADS, ROUTING]

AS_IT_WAS = Asked(digest="same", edited="first")
OTHER = Asked(digest="other", edited="first")
SICK = Asked(digest="same", edited="first", astray=frozenset({"n/one is not ready"}))
LIMITS = Limits(parallel=3, drift_interval=600.0, drain=5.0)
FRESH = Done(asked=AS_IT_WAS, at=NOW - 1)


def calm(**changes: object) -> Facts:
    """Every stack was brought up just now, and is asked for nothing else."""
    facts = Facts(asked=dict.fromkeys(EVERY, AS_IT_WAS), done=dict.fromkeys(EVERY, FRESH))
    return replace(facts, **changes)  # type: ignore[arg-type]


def asking(*stacks: StackName) -> Facts:
    """The same, and these are asked for something else."""
    return calm(asked={stack: OTHER if stack in stacks else AS_IT_WAS for stack in EVERY})


def started(facts: Facts, now: float = NOW, limits: Limits = LIMITS) -> set[StackName]:
    return set(to_start(facts, limits, now))


def test_nothing_is_started_where_nothing_changed() -> None:
    assert started(calm()) == set()
    assert is_settled(calm(), LIMITS)


@pytest.mark.parametrize("stack", EVERY, ids=str)
def test_a_stack_is_started_alone_when_it_alone_is_asked_for_something_else(stack: StackName) -> None:
    facts = asking(stack)
    assert started(facts) == {stack}
    assert not is_settled(facts, LIMITS)
    assert started(replace(facts, running=frozenset({stack}))) == set(), "and not a second time while it runs"


def test_every_stack_is_looked_at_again_after_the_drift_interval_and_not_all_at_once() -> None:
    times = {
        stack: next(
            second for second in range(1000) if stack in to_start(calm(), replace(LIMITS, parallel=99), NOW + second)
        )
        for stack in (GATEWAY, *CLUSTERS, *WORKLOADS, ROUTING)
    }
    assert all(450 <= second <= 600 for second in times.values())
    assert len(set(times.values())) > len(times) / 2
    assert PLACEMENT not in to_start(calm(), LIMITS, NOW + 10_000), "it holds nothing to look at"


def test_looks_can_pause_and_what_is_to_be_done_does_not() -> None:
    late = NOW + 1000
    assert started(calm(), late) >= {GATEWAY, ROUTING}
    assert started(calm(looks=False), late) == set()
    for asked in (OTHER, SICK):
        assert started(replace(calm(looks=False), asked=calm().asked | {GATEWAY: asked}), late) == {GATEWAY}
    failed = replace(calm(looks=False), done=calm().done | {GATEWAY: replace(FRESH, failures=1)})
    assert started(failed, late) == {GATEWAY}
    assert is_settled(calm(looks=False), LIMITS)


def test_infrastructure_has_so_many_places_and_takes_none_from_traffic() -> None:
    facts = asking(*EVERY)
    found = started(facts)
    assert sum(stack.kind in {"gateway", "cluster", "serving"} for stack in found) == 3
    assert ROUTING in found
    asked = {**facts.asked, ROUTING: AS_IT_WAS}
    assert started(calm(running=frozenset(CLUSTERS[:3]), asked=asked)) == {PLACEMENT, *WORKLOADS[:3]}


def test_what_serves_waits_for_its_own_cluster_and_for_no_other() -> None:
    facts = calm(asked={**calm().asked, SERVING[0]: OTHER, SERVING[1]: OTHER}, running=frozenset({CLUSTERS[0]}))
    assert started(facts) == {SERVING[1]}
    both = asking(CLUSTERS[0], SERVING[0])
    assert started(both) == {CLUSTERS[0]}


def test_a_slow_workloads_stack_holds_back_no_withdrawal() -> None:
    facts = calm(asked={**calm().asked, ROUTING: OTHER}, running=frozenset(WORKLOADS[:3]))
    assert started(facts) == {ROUTING}


def test_sick_endpoints_leave_before_placement_hears_of_it() -> None:
    facts = asking(PLACEMENT, ROUTING, WORKLOADS[1])
    assert started(facts) == {ROUTING}
    sick = replace(facts, asked={**facts.asked, WORKLOADS[2]: SICK})
    assert started(sick) == {ROUTING}, "routing knows of all that is seen sick"
    assert started(replace(facts, running=frozenset({ROUTING}))) == set()
    blocked = {"leaving": {WORKLOADS[0]: frozenset({"n/one"})}, "endpoints": frozenset({"n/one"})}
    assert started(replace(facts, running=frozenset({WORKLOADS[0]}), **blocked)) == {PLACEMENT, WORKLOADS[1]}


def test_what_is_seen_astray_starts_one_run_and_another_only_when_it_comes_again() -> None:
    facts = calm(asked={**calm().asked, WORKLOADS[0]: SICK})
    assert started(facts) == {WORKLOADS[0]}
    tried = replace(facts, done={**facts.done, WORKLOADS[0]: Done(asked=SICK, at=NOW)})
    assert started(tried) == set()
    assert is_settled(tried, LIMITS)
    assert started(tried, NOW + 31) == {WORKLOADS[0]}, "it is still so, and tried again after a while"
    recovered = seen_right(tried.done[WORKLOADS[0]], AS_IT_WAS)
    assert started(replace(tried, done={**facts.done, WORKLOADS[0]: recovered})) == {WORKLOADS[0]}


def test_the_other_way_round_is_something_else() -> None:
    healthy = replace(SICK, astray=frozenset({"n/one is ready"}))
    facts = calm(
        asked={**calm().asked, WORKLOADS[0]: healthy}, done={**calm().done, WORKLOADS[0]: Done(asked=SICK, at=NOW)}
    )
    assert started(facts) == {WORKLOADS[0]}


def test_what_is_being_taken_away_does_not_come_back_into_rotation() -> None:
    facts = calm(
        asked={**calm().asked, ROUTING: OTHER},
        running=frozenset({WORKLOADS[0]}),
        leaving={WORKLOADS[0]: frozenset({"n/one"})},
        endpoints=frozenset({"n/one", "n/two"}),
    )
    assert started(facts) == set()
    assert started(replace(facts, endpoints=frozenset({"n/two"}))) == {ROUTING}


def test_replicas_are_taken_away_after_their_endpoints_have_drained_and_never_beside_routing() -> None:
    facts = replace(asking(WORKLOADS[0]), leaving={WORKLOADS[0]: frozenset({"n/one"})}, withdrawn_at=NOW - 2)
    assert started(facts) == set()
    assert wakes_at(facts, LIMITS, NOW) == NOW + 3
    assert started(facts, NOW + 3) == {WORKLOADS[0]}
    assert started(replace(facts, running=frozenset({ROUTING})), NOW + 3) == set()


def test_a_stack_that_failed_waits_longer_each_time_and_an_edit_ends_the_wait() -> None:
    failed = Done(asked=AS_IT_WAS, at=NOW, failures=3)
    facts = calm(asked={**calm().asked, CLUSTERS[0]: OTHER}, done={**calm().done, CLUSTERS[0]: failed})
    assert started(facts) == set(), "what was observed alone does not end it"
    assert is_settled(facts, LIMITS)
    again = NOW + pause(CLUSTERS[0], 3)
    assert wakes_at(facts, LIMITS, NOW) == again
    assert started(facts, again) == {CLUSTERS[0]}
    edited = replace(facts, asked={**facts.asked, CLUSTERS[0]: Asked(digest="other", edited="second")})
    assert started(edited) == {CLUSTERS[0]}


def test_only_the_stacks_that_are_named_are_started() -> None:
    limits = replace(LIMITS, only=frozenset({str(WORKLOADS[1])}))
    assert started(asking(*EVERY), limits=limits) == {WORKLOADS[1]}
    assert is_settled(asking(*EVERY[:5]), limits)


@given(st.integers(1, 10_000), st.sampled_from(EVERY))
def test_pauses_are_bounded_and_never_short(failures: int, stack: StackName) -> None:
    assert 3.75 <= pause(stack, failures) <= LONGEST_PAUSE
    assert pause(stack, failures) == pause(stack, failures)


states = st.sampled_from([AS_IT_WAS, OTHER, SICK])
histories = st.none() | st.builds(Done, asked=states, at=st.floats(0, NOW, allow_nan=False), failures=st.integers(0, 4))


@given(
    st.lists(st.tuples(states, histories, st.booleans(), st.booleans()), min_size=len(EVERY), max_size=len(EVERY)),
    st.integers(1, 4),
    st.booleans(),
)
def test_whatever_happens_lanes_stay_within_bounds_and_something_always_follows(
    drawn: list[tuple[Asked, Done | None, bool, bool]],
    parallel: int,
    looks: bool,
) -> None:
    running: set[StackName] = set()
    limits = replace(LIMITS, parallel=parallel)
    for stack, (_, _, runs, _) in zip(EVERY, drawn, strict=True):
        kinds = {"workloads"} if stack.kind == "workloads" else {"gateway", "cluster", "serving"}
        if runs and (stack.kind in {"placement", "routing"} or sum(each.kind in kinds for each in running) < parallel):
            running.add(stack)
    facts = Facts(
        asked={stack: asked for stack, (asked, _, _, _) in zip(EVERY, drawn, strict=True)},
        done={stack: done for stack, (_, done, _, _) in zip(EVERY, drawn, strict=True) if done},
        running=frozenset(running),
        looks=looks,
        leaving={
            stack: frozenset({str(stack)})
            for stack, row in zip(EVERY, drawn, strict=True)
            if row[3] and stack in WORKLOADS
        },
    )
    found = to_start(facts, limits, NOW)
    assert running.isdisjoint(found)
    together = running.union(found)
    assert sum(stack.kind in {"gateway", "cluster", "serving"} for stack in together) <= parallel
    assert sum(stack.kind == "workloads" for stack in together) <= parallel
    for stack in found:
        if stack.kind == "serving":
            assert StackName("f", "cluster", stack.cluster) not in together
        if stack in facts.leaving:
            assert ROUTING not in together
    assert found or running or is_settled(facts, limits) or wakes_at(facts, limits, NOW) < math.inf


cluster_names = st.lists(st.text("abcdefgh-", min_size=1, max_size=12), min_size=1, max_size=12, unique=True)


@settings(deadline=None)
@given(st.integers(1, 7), cluster_names)
def test_shards_bring_up_everything_once_and_a_cluster_s_stacks_together(parts: int, names: list[str]) -> None:
    pairs = {name: {StackName("f", kind, name) for kind in ("cluster", "workloads")} for name in names}
    stacks = [GATEWAY, PLACEMENT, ROUTING, *(stack for pair in pairs.values() for stack in pair)]
    facts = Facts(asked=dict.fromkeys(stacks, OTHER), done=dict.fromkeys(stacks, FRESH))
    whole = replace(LIMITS, parallel=1000)
    shards = [is_meant_by(facts, replace(whole, shard=(part, parts))) for part in range(1, parts + 1)]
    assert sorted(map(str, set().union(*shards))) == sorted(map(str, stacks))
    assert sum(map(len, shards)) == len(stacks)
    assert {GATEWAY, PLACEMENT, ROUTING} <= shards[0]
    for pair in pairs.values():
        assert [pair & shard for shard in shards if pair & shard] == [pair]


def is_meant_by(facts: Facts, limits: Limits) -> set[StackName]:
    """Everything that is started sooner or later: each stack asked for alone."""
    alone = (replace(facts, asked={**dict.fromkeys(facts.asked, AS_IT_WAS), stack: OTHER}) for stack in facts.asked)
    return {stack for each in alone for stack in to_start(each, limits, NOW)}
