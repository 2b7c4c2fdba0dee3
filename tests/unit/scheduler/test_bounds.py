"""What one decision costs at most: selectors run, clusters looked at, choices tried. Counted, never timed."""

import time
from typing import Any

import builders
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from unit.scheduler.worlds import (
    AT_LEAST_20,
    AT_LEAST_40,
    AT_LEAST_79,
    H100,
    L4,
    L40S,
    MEMORY,
    NIC_DRA,
    active,
    cluster,
    decide,
    deployment,
    device,
    places,
    pool,
    snapshot,
)

from api.classes import Device
from scheduler import Plan, Snapshot, compile_error, fill, schedule, selector_problems
from scheduler.fill import STEPS_MAX, Places
from scheduler.hardware import Option


def copied(devices: tuple[Device, ...]) -> tuple[Device, ...]:
    """Equal devices of their own, as every cluster's outputs have them."""
    return tuple(Device.model_validate(each.model_dump()) for each in devices)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(
    st.lists(st.lists(st.sampled_from([L4, L40S, H100, NIC_DRA]), min_size=1, max_size=3), min_size=1, max_size=8),
    st.lists(st.lists(st.sampled_from([AT_LEAST_20, AT_LEAST_40, AT_LEAST_79]), min_size=1, max_size=3), max_size=4),
)
def test_selectors_run_at_most_once_for_each_distinct_device(kinds: list[list[Device]], cels: list[list[str]]) -> None:
    fleet = [cluster(f"c{number}", pool("p", 1, *copied(tuple(each)))) for number, each in enumerate(kinds * 3)]
    asks = [
        deployment(3, f"d{number}", engines=[builders.an_engine(members=[asking(*each)])])
        for number, each in enumerate(cels)
    ]
    world = snapshot(fleet, *asks)
    plan = schedule(world)
    bound = len({each.capacity["memory"].value if each.capacity else "" for kind in kinds for each in kind}) * len(
        {cel for each in cels for cel in each}
    )
    assert plan.evaluations <= bound
    replicas = [each for one in plan.deployments.values() for each in active(one)]
    assert schedule(snapshot(fleet, *asks, replicas=replicas)).evaluations <= bound


def asking(*cels: str) -> dict[str, Any]:
    return builders.a_member(requests=[builders.a_request(count=1, cel=cels)])


def counted(monkeypatch: pytest.MonkeyPatch, world: Snapshot) -> tuple[Plan, int]:
    """The plan, and how often a cluster was asked for a place."""
    asked = []
    greedy = Places.greedy

    def counting(self: Places, profile: int, position: int) -> object:
        asked.append(position)
        return greedy(self, profile, position)

    monkeypatch.setattr(Places, "greedy", counting)
    plan = schedule(world)
    monkeypatch.undo()
    return plan, len(asked)


def test_a_full_cluster_is_asked_once_for_all_deployments_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    fleet = [cluster(f"c{number:02}", pool("p", 2, *copied((L4,)))) for number in range(40)]
    asks = [deployment(2, f"d{number:02}") for number in range(60)]
    plan, asked = counted(monkeypatch, snapshot(fleet, *asks))
    placed = sum(len(each.placements) for each in plan.deployments.values())
    assert placed == 80
    assert asked <= placed + len(fleet)


def test_other_words_for_the_same_hardware_share_what_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    fleet = [cluster(f"c{number:02}", pool("p", 1, *copied((L4,)))) for number in range(40)]
    asks = [
        deployment(2, f"d{number:02}", cel=f'{MEMORY}.compareTo(quantity("{number + 1}Mi")) > 0')
        for number in range(60)
    ]
    plan, asked = counted(monkeypatch, snapshot(fleet, *asks))
    placed = sum(len(each.placements) for each in plan.deployments.values())
    assert placed == 40
    assert asked <= placed + len(fleet)


def test_nothing_is_searched_where_nothing_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    fleet, ask = [cluster(f"c{number}", 1) for number in range(10)], deployment(5)
    first = decide(fleet, ask)
    plan, asked = counted(monkeypatch, snapshot(fleet, ask, replicas=active(first)))
    assert asked == 0
    assert places(plan.deployments["ml-team", "d"]) == places(first)


def test_deployments_that_ask_the_same_share_their_verdicts() -> None:
    fleet = [cluster(f"c{number}", 0) for number in range(5)]
    plan = schedule(snapshot(fleet, deployment(1, "a"), deployment(2, "b"), deployment(1, "c", cel=AT_LEAST_40)))
    a, b, c = (plan.deployments["ml-team", name].verdicts for name in "abc")
    assert a is b
    assert a != c


def test_a_search_for_devices_without_end_is_given_up_and_says_so() -> None:
    many = [device(f"d{number}", count=60 - number, memory="23034Mi") for number in range(16)]
    odd = [builders.a_request(f"r{number}", count=33 + number % 3, cel=AT_LEAST_20) for number in range(15)]
    last = builders.a_request("last", count=64, cel=AT_LEAST_20)
    asks = deployment(1, engines=[builders.an_engine(members=[builders.a_member(requests=[*odd, last])])])
    plan = decide([cluster("alpha", pool("p", 1, *many))], asks, deployment(1, "other"))
    assert plan.placements == ()
    assert "the search for other devices was given up" in plan.condition.message


COSTS = [9, 12, 13, 8, 12, 22, 11, 22]
FREE = [14, 15, 15, 15, 15, 13, 13, 13]


def test_a_search_for_pools_without_end_is_given_up_and_says_so() -> None:
    options = tuple(tuple(Option(number, cost, False) for number in range(len(FREE))) for cost in COSTS)
    search = fill._Search(options, FREE)
    assert search.run() is None
    assert search.cut_off
    assert search._steps <= STEPS_MAX
    engines = [builders.an_engine(f"e{number}", members=[asking(AT_LEAST_20)], copies=8) for number in range(8)]
    for engine, cost in zip(engines, COSTS, strict=True):
        engine["copies"] = cost
    fleet = [cluster("alpha", *(pool(f"p{number}", free) for number, free in enumerate(FREE)))]
    plan = decide(fleet, deployment(1, engines=engines))
    assert plan.placements == ()
    assert "the search for other pools was given up" in plan.condition.message


def test_selectors_that_together_take_too_long_are_refused() -> None:
    each_fact = "device.attributes.all(a, device.attributes[a].all(b, device.attributes[a][b] != {}))"
    cels = [each_fact.format(number) for number in range(16)]
    requests = [builders.a_request("a", cel=cels[:8]), builders.a_request("b", cel=cels[8:])]
    asks = deployment(1, engines=[builders.an_engine(members=[builders.a_member(requests=requests)])])
    problems = list(selector_problems(asks))
    assert 0 < len(problems) < len(cels)
    assert {problem.message.partition(";")[0] for problem in problems} == {
        "with the selectors before it, this one would take too long to evaluate"
    }
    plan = schedule(snapshot([cluster("alpha", 9)], asks, deployment(1, "other")))
    assert plan.deployments["ml-team", "d"].condition.reason == "InvalidNodeSelector"
    assert places(plan.deployments["ml-team", "other"]) == ["alpha0"]


def nested(first: str, then: str, last: str) -> str:
    return f"cel.bind(a, {first}, " + f"cel.bind(a, {then}, " * 45 + last + ")" * 46


DOUBLING = {
    "types of keys and values": nested("{}", "{a: a}", "a == a"),
    "types that follow from use": nested("{}", "cel.bind(b, {}, b[a] == a ? b : b)", "a == a"),
    "types of elements": nested("[]", "[[[[[a]]]]]", "a == a"),
}


@pytest.mark.parametrize("expression", DOUBLING.values(), ids=DOUBLING)
def test_types_that_grow_are_refused_at_once(expression: str) -> None:
    began = time.process_time()
    assert "nested too deep in one another" in (compile_error(expression) or "")
    assert time.process_time() - began < 5
