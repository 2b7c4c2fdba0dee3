"""Placement against a brute-force search, over small fleets where devices and pools are scarce and ambiguous."""

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import builders
from hypothesis import given, settings
from hypothesis import strategies as st
from unit.scheduler.worlds import (
    AT_LEAST_20,
    AT_LEAST_40,
    AT_LEAST_79,
    BELOW_30,
    H100,
    IS_NIC,
    L4,
    L40S,
    NIC_DRA,
    NIC_SYNTHETIC,
    active,
    cluster,
    decide,
    deployment,
    pool,
)

from api import ModelDeployment
from api.classes import Device
from api.deployments import Engine, Member
from api.terms import DeviceRequest
from scheduler import Cluster, DeploymentPlan, Placement, Pool, match

Free = Counter[str]
"""Free nodes of one cluster by pool."""


def claimable(device: Device) -> bool:
    return device.claim == "DRA"


def requests_of(member: Member) -> Sequence[DeviceRequest]:
    return member.node_selector.devices if member.node_selector else ()


def passes(request: DeviceRequest, device: Device) -> bool:
    return all(match(selector.cel, device).matched for selector in request.selectors)


def choices_of(member: Member, devices: Sequence[Device]) -> Iterator[tuple[int, ...]]:
    """Every choice of devices for the requests of one member on one node, the greedy one first."""
    requests = requests_of(member)
    for choice in itertools.product(range(len(devices)), repeat=len(requests)):
        taken = Counter[int]()
        for position, request in zip(choice, requests, strict=True):
            taken[position] += request.count
        if all(taken[position] <= devices[position].count for position in taken) and all(
            passes(request, devices[position]) for position, request in zip(choice, requests, strict=True)
        ):
            yield choice


def greedy_choice(member: Member, devices: Sequence[Device]) -> tuple[int, ...] | None:
    left, chosen = [device.count for device in devices], []
    for request in requests_of(member):
        fitting = (
            position
            for position, device in enumerate(devices)
            if left[position] >= request.count and passes(request, device)
        )
        position = next(fitting, None)
        if position is None:
            return None
        left[position] -= request.count
        chosen.append(position)
    return tuple(chosen)


def claims(choice: tuple[int, ...], devices: Sequence[Device]) -> bool:
    return any(claimable(devices[position]) for position in choice)


@dataclass(frozen=True)
class Reach:
    """What a member can get on one pool: fit at all, and fit with a claim."""

    fits: bool
    claims: bool


def reach(member: Member, devices: Sequence[Device], greedy: bool) -> Reach:
    if greedy:
        choice = greedy_choice(member, devices)
        return Reach(choice is not None, choice is not None and claims(choice, devices))
    every = list(choices_of(member, devices))
    return Reach(bool(every), any(claims(choice, devices) for choice in every))


def engine_pools(engine: Engine, pools: Sequence[Pool], greedy: bool) -> list[tuple[str, int]]:
    """The pools that an engine could use if they were empty, and its cost there."""
    table = [[reach(member, each.devices, greedy) for each in pools] for member in engine.members]
    able = [any(each.claims for each in row) for row in table]
    if not any(able):
        return []
    return [
        (each.name, engine.copies * sum(member.nodes for member, can in zip(engine.members, able, strict=True) if can))
        for number, each in enumerate(pools)
        if all(row[number].claims if can else row[number].fits for row, can in zip(table, able, strict=True))
    ]


def place_greedily(document: ModelDeployment, target: Cluster, free: Free) -> list[str] | None:
    left, chosen = Free(free), []
    for engine in document.spec.template.spec.engines:
        fitting = ((name, cost) for name, cost in engine_pools(engine, target.pools, True) if cost <= left[name])
        found = next(fitting, None)
        if found is None:
            return None
        left[found[0]] -= found[1]
        chosen.append(found[0])
    return chosen


def place_somehow(document: ModelDeployment, target: Cluster, free: Free) -> bool:
    options = [engine_pools(engine, target.pools, False) for engine in document.spec.template.spec.engines]
    for choice in itertools.product(*options):
        taken = Free()
        for name, cost in choice:
            taken[name] += cost
        if all(taken[name] <= free[name] for name in taken):
            return True
    return False


MID = L40S.model_copy(update={"count": 2})
SMALL = L4.model_copy(update={"name": "small", "count": 2})
DEVICES = [
    (L4,), (MID,), (H100,), (H100, MID), (MID, H100), (SMALL, MID, H100),
    (L4, NIC_SYNTHETIC), (L4, NIC_DRA), (NIC_SYNTHETIC, NIC_DRA, H100),
]  # fmt: skip
CELS = [AT_LEAST_20, AT_LEAST_40, AT_LEAST_79, BELOW_30, IS_NIC, f"{AT_LEAST_20} || {IS_NIC}"]


@st.composite
def members(draw: st.DrawFn, role: str) -> dict[str, Any]:
    least = 0 if role == "Leader" else 1
    wishes = st.tuples(st.sampled_from([1, 2, 7, 8]), st.sampled_from(CELS))
    chosen = draw(st.lists(wishes, min_size=least, max_size=3))
    wanted = [builders.a_request(f"r{number}", count=count, cel=cel) for number, (count, cel) in enumerate(chosen)]
    return builders.a_member(role, requests=wanted, nodes=draw(st.integers(1, 2)) if role == "Worker" else None)


@st.composite
def engines(draw: st.DrawFn, name: str) -> dict[str, Any]:
    roles = draw(st.sampled_from([["Standalone"], ["Standalone"], ["Leader", "Worker"]]))
    return builders.an_engine(name, members=[draw(members(role)) for role in roles], copies=draw(st.integers(1, 2)))


@st.composite
def questions(draw: st.DrawFn) -> tuple[tuple[Cluster, ...], ModelDeployment]:
    nodes = st.tuples(st.integers(0, 4), st.sampled_from(DEVICES))
    fleet = tuple(
        cluster(name, *(pool(f"p{number}", count, *devices)
                        for number, (count, devices) in enumerate(draw(st.lists(nodes, min_size=1, max_size=3)))))
        for name in ("alpha", "bravo")[: draw(st.integers(1, 2))]
    )  # fmt: skip
    names = ("a", "b", "c")[: draw(st.integers(1, 3))]
    return fleet, deployment(draw(st.integers(1, 4)), engines=[draw(engines(name)) for name in names])


def pools_by_engine(placement: Placement) -> list[str]:
    assert all(len({member.pool for member in engine.members}) == 1 for engine in placement.engines)
    return [engine.members[0].pool for engine in placement.engines]


def charge(placement: Placement, free: Free) -> None:
    for engine in placement.engines:
        for member in engine.members:
            if member.requests:
                free[member.pool] -= member.nodes * engine.copies


def check(fleet: Sequence[Cluster], document: ModelDeployment, plan: DeploymentPlan) -> None:
    """Follow the plan replica by replica: greedy's own place where it has one, else any that brute force allows."""
    frees = {each.name: Free({one.name: one.nodes for one in each.pools}) for each in fleet}
    load = Counter[str]()
    rest = {(each.key.cluster, each.key.index): each for each in plan.placements}
    while len(rest) > 0 or sum(load.values()) < document.spec.replicas:
        order = sorted(fleet, key=lambda each: (load[each.name], each.name))
        greedy = ((each, pools) for each in order if (pools := place_greedily(document, each, frees[each.name])))
        found = next(greedy, None)
        target = found[0] if found else None
        if target is None:
            target = next((each for each in order if place_somehow(document, each, frees[each.name])), None)
        if target is None and not rest:
            return
        placed = rest.pop((target.name, load[target.name]) if target else next(iter(rest)), None)
        assert placed is not None, "a replica that has a place was not placed, or elsewhere"
        if found:
            assert pools_by_engine(placed) == found[1]
        charge(placed, frees[placed.key.cluster])
        assert all(count >= 0 for count in frees[placed.key.cluster].values())
        load[placed.key.cluster] += 1


@settings(derandomize=True, deadline=None, max_examples=400)
@given(questions())
def test_every_replica_is_placed_that_brute_force_places_and_greed_decides_where_it_can(
    question: tuple[tuple[Cluster, ...], ModelDeployment],
) -> None:
    fleet, document = question
    check(fleet, document, decide(fleet, document))


@settings(derandomize=True, deadline=None, max_examples=200)
@given(questions())
def test_what_was_placed_by_any_choice_stays_as_it_is(
    question: tuple[tuple[Cluster, ...], ModelDeployment],
) -> None:
    fleet, document = question
    plan = decide(fleet, document)
    again = decide(fleet, document, replicas=active(plan))
    assert again.dropped == ()
    assert [(each.key, each.engines) for each in again.placements] == [
        (each.key, each.engines) for each in plan.placements
    ]
    assert again.condition == plan.condition
    assert again.verdicts == plan.verdicts
