"""Fixes that are named are true: with one a deployment is placed, with one less it is not."""

import random
from functools import cache
from typing import Any

import pytest
from unit.scheduler.worlds import (
    AT_LEAST_40,
    AT_LEAST_79,
    BELOW_30,
    H100,
    L4,
    L40S,
    cluster,
    deployment,
    gang,
    member,
    pool,
    snapshot,
)

from api import ModelDeployment
from scheduler import Cluster, PlacedReplica, Snapshot, schedule
from scheduler.fixes import Fix, fixes, is_short, smaller
from scheduler.headroom import settled
from scheduler.what_if import apply, parse

BIG = gang(1, member("Standalone", cel=AT_LEAST_79))
KEY = ("ml-team", "d")
FLEETS = 500
DEVICES = [(L4,), (L40S,), (H100,), (L4, L40S)]
SHAPES: list[list[dict[str, Any]]] = [
    [gang(1, member("Standalone"))],
    [gang(1, member("Standalone"))],
    [gang(2, member("Standalone"))],
    [gang(1, member("Standalone", cel=AT_LEAST_40))],
    [gang(1, member("Leader", 0), member("Worker", nodes=2))],
    [gang(1, member("Leader"), member("Worker", nodes=3))],
    [gang(1, member("Standalone", cel=AT_LEAST_79)) | {"name": "a"}, gang(2, member("Standalone")) | {"name": "b"}],
]
TAINTS = [[], [], ["k=v:NoSchedule"], ["k:NoExecute", "other=1:NoSchedule"]]
LABELS = [{}, {"tier": "prod"}, {"tier": "dev", "zone": "a"}]


def a_random_fleet(seed: int) -> Snapshot:
    """Clusters, three deployments of which `d` wants much, and replicas that an earlier plan of another fleet left."""
    dice = random.Random(seed)

    def clusters() -> list[Any]:
        return [
            cluster(
                name,
                *(
                    pool(f"p{number}", dice.randrange(5), *dice.choice(DEVICES))
                    for number in range(dice.randrange(1, 3))
                ),
                taints=dice.choice(TAINTS),
                labels=dice.choice(LABELS),
                ready=dice.random() < 0.8,
                reachable=dice.random() < 0.9,
                held=dice.random() < 0.1,
            )
            for name in ["alpha", "bravo", "charlie"][: dice.randrange(1, 4)]
        ]

    def ask(name: str, most: int) -> Any:
        extra = {"cluster_selector": dice.choice(LABELS)} if dice.random() < 0.5 else {}
        return deployment(dice.randrange(1, most), name, engines=dice.choice(SHAPES), **extra)

    wanted = [ask("d", 6), ask("a", 3), ask("z", 3)]
    before = schedule(snapshot(clusters(), ask("d", 4), wanted[1], ask("gone", 3)))
    replicas = [
        PlacedReplica(key=each.key, name=each.name, engines=each.engines)
        for plan in before.deployments.values()
        for each in plan.placements
    ]
    return snapshot(clusters(), *wanted, replicas=replicas)


@cache
def fixed(seed: int) -> tuple[Snapshot, tuple[Fix, ...]]:
    world = a_random_fleet(seed)
    return world, fixes(world, KEY)


def test_every_fix_of_500_random_fleets_places_what_is_wanted_and_one_less_does_not() -> None:
    with_fix = all_fixes = 0
    for seed in range(FLEETS):
        world, found = fixed(seed)
        with_fix += bool(found)
        all_fixes += len(found)
        plan = schedule(world)
        there = settled(world, plan)
        assert not found or is_short(plan, KEY)
        for fix in found:
            edits = parse(str(fix))
            assert not is_short(schedule(apply(world, edits)), KEY), (seed, str(fix))
            assert not is_short(schedule(apply(there, edits)), KEY), (seed, str(fix))
            for less in smaller(fix):
                assert is_short(schedule(apply(there, less)), KEY), (seed, str(fix), less)
    assert with_fix > 250
    assert all_fixes > 500


def test_a_fix_takes_from_nobody_once_the_plan_is_there() -> None:
    for seed in range(0, FLEETS, 5):
        world, found = fixed(seed)
        before = schedule(world).deployments
        for fix in found:
            after = schedule(apply(settled(world, schedule(world)), fix.edits)).deployments
            assert all(len(after[key].placements) >= len(before[key].placements) for key in after), (seed, str(fix))


FIXES = {
    "nodes": ([cluster("alpha", 1)], deployment(3), "pool alpha/l4 +2"),
    "fewer nodes where the other has one left": (
        [cluster("alpha", pool("l4", 2)), cluster("bravo", pool("h100", 1, H100))],
        deployment(3, cel=AT_LEAST_79),
        "pool bravo/h100 +2",
    ),
    "a gang needs its nodes": (
        [cluster("alpha", 4)],
        deployment(1, engines=[gang(2, member("Leader"), member("Worker", nodes=2))]),
        "pool alpha/l4 +2",
    ),
    "two engines on two pools": (
        [cluster("alpha", pool("small", 0, L4), pool("big", 0, H100))],
        deployment(2, engines=[gang(1, member("Standalone", cel=BELOW_30)) | {"name": "a"}, BIG | {"name": "b"}]),
        "pool alpha/big +2; pool alpha/small +2",
    ),
    "a taint": ([cluster("alpha", 2, taints=["k=v:NoSchedule"])], deployment(2), "tolerate ml-team/d k=v:NoSchedule"),
    "a taint and nodes": (
        [cluster("alpha", 1, taints=["k:NoExecute"])],
        deployment(2),
        "tolerate ml-team/d k:NoExecute; pool alpha/l4 +1",
    ),
    "a label": (
        [cluster("alpha", 2), cluster("bravo", 1, labels={"tier": "dev"})],
        deployment(1, cluster_selector={"tier": "prod"}),
        "label alpha tier=prod",
    ),
    "a cluster that is not ready": ([cluster("alpha", 2, ready=False)], deployment(2), "ready alpha"),
    "two clusters together": (
        [cluster("alpha", 1, taints=["k:NoSchedule"]), cluster("bravo", 1, taints=["l:NoSchedule"])],
        deployment(2),
        "tolerate ml-team/d k:NoSchedule; tolerate ml-team/d l:NoSchedule",
    ),
    "hardware that is nowhere": ([cluster("alpha", 2)], deployment(1, cel=AT_LEAST_79), ""),
    "a cluster that left the documents": ([cluster("alpha", 2, held=True)], deployment(1), ""),
    "a selector that cannot be used": ([cluster("alpha", 2)], deployment(1, cel="device.driver =="), ""),
}


@pytest.mark.parametrize(("fleet", "ask", "want"), FIXES.values(), ids=FIXES)
def test_the_cheapest_fix(fleet: list[Cluster], ask: ModelDeployment, want: str) -> None:
    found = fixes(snapshot(fleet, ask), KEY)
    assert str(found[0] if found else "") == want


def test_fixes_of_one_cluster_are_asked_for() -> None:
    world = snapshot([cluster("alpha", 1), cluster("bravo", 1, taints=["k:NoSchedule"])], deployment(2))
    assert [str(fix) for fix in fixes(world, KEY)] == ["tolerate ml-team/d k:NoSchedule", "pool alpha/l4 +1"]
    assert [str(fix) for fix in fixes(world, KEY, "alpha")] == ["pool alpha/l4 +1"]
