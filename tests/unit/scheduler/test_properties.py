"""Properties of every plan, over small random fleets."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from unit.scheduler.worlds import (
    AT_LEAST_40,
    AT_LEAST_79,
    H100,
    L4,
    L40S,
    cluster,
    deployment,
    device,
    gang,
    member,
    placed,
    pool,
)

from api import ModelDeployment
from api.deployments import Member
from api.terms import DeviceRequest
from scheduler import Cluster, PlacedReplica, Plan, ReplicaKey, Snapshot, match, schedule
from scheduler.ledger import node_costs

STEADY = settings(derandomize=True, deadline=None, max_examples=150)

DEVICES = [(L4,), (L40S,), (H100,), (L4, H100), (H100, L40S)]
TAINTS = [[], [], [], ["k:NoSchedule"], ["k:NoExecute"]]
LABELS = [{}, {"tier": "prod"}, {"tier": "dev"}]
SHAPES = [
    [gang(1, member("Standalone"))],
    [gang(2, member("Standalone"))],
    [gang(1, member("Standalone", cel=AT_LEAST_40))],
    [gang(1, member("Leader", 0), member("Worker", nodes=2))],
    [gang(1, member("Standalone", cel=AT_LEAST_79)) | {"name": "a"}, gang(1, member("Standalone")) | {"name": "b"}],
    [gang(1, member("Standalone", cel="device.driver =="))],
]

pools = st.builds(lambda nodes, devices: (nodes, devices), st.integers(0, 4), st.sampled_from(DEVICES))
NAMES = ["alpha", "bravo", "charlie"]


@st.composite
def fleets(draw: st.DrawFn) -> tuple[Cluster, ...]:
    return tuple(
        cluster(
            name,
            *(
                pool(f"p{number}", nodes, *devices)
                for number, (nodes, devices) in enumerate(draw(st.lists(pools, max_size=3)))
            ),
            taints=draw(st.sampled_from(TAINTS)),
            labels=draw(st.sampled_from(LABELS)),
            ready=draw(st.sampled_from([True, True, True, False])),
            reachable=draw(st.sampled_from([True, True, True, False])),
            held=draw(st.sampled_from([False, False, False, True])),
        )
        for name in NAMES
    )


@st.composite
def asks(draw: st.DrawFn, name: str) -> ModelDeployment:
    extra: dict[str, Any] = {}
    if draw(st.booleans()):
        extra["cluster_selector"] = draw(st.sampled_from(LABELS))
    return deployment(draw(st.integers(0, 4)), name, engines=draw(st.sampled_from(SHAPES)), **extra)


@st.composite
def worlds(draw: st.DrawFn) -> Snapshot:
    """A fleet, three deployments, and replicas as an earlier plan for another fleet and other deployments left them."""
    wanted = tuple(draw(asks(name)) for name in ("a", "b", "c"))
    before = Snapshot(clusters=draw(fleets()), deployments=tuple(draw(asks(name)) for name in ("a", "b", "d")))
    replicas = active(schedule(before), draw(st.booleans()))
    leaving = draw(st.integers(0, len(replicas)))
    return Snapshot(
        clusters=draw(fleets()), deployments=wanted, replicas=replicas[leaving:], retiring=replicas[:leaving]
    )


def active(plan: Plan, applied: bool = True) -> tuple[PlacedReplica, ...]:
    """The placements of a plan as the replicas of the next snapshot."""
    return tuple(
        PlacedReplica(key=each.key, name=each.name, engines=each.engines, applied=applied)
        for deployment_plan in plan.deployments.values()
        for each in deployment_plan.placements
    )


def used(placements: Iterable[Any]) -> Counter[tuple[str, str]]:
    nodes: Counter[tuple[str, str]] = Counter()
    for each in placements:
        for name, cost in node_costs(each.engines):
            nodes[each.key.cluster, name] += cost
    return nodes


@STEADY
@given(worlds(), st.randoms(use_true_random=False))
def test_the_order_of_the_input_does_not_matter(world: Snapshot, random: Any) -> None:
    def shuffled(items: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(random.sample(items, len(items)))

    other = replace(
        world,
        clusters=shuffled(world.clusters),
        deployments=shuffled(world.deployments),
        replicas=shuffled(world.replicas),
        retiring=shuffled(world.retiring),
    )
    assert schedule(other) == schedule(world)


@STEADY
@given(worlds())
def test_new_placements_never_overcommit(world: Snapshot) -> None:
    plan = schedule(world)
    everything = [each for deployment_plan in plan.deployments.values() for each in deployment_plan.placements]
    nodes = {(each.name, each_pool.name): each_pool.nodes for each in world.clusters for each_pool in each.pools}
    total, new = used(everything), used(each for each in everything if not each.retained)
    for place, count in new.items():
        assert count == 0 or total[place] <= nodes[place]


@STEADY
@given(worlds())
def test_nothing_new_goes_where_it_may_not(world: Snapshot) -> None:
    clusters = {each.name: each for each in world.clusters}
    for deployment_plan in schedule(world).deployments.values():
        for placement in deployment_plan.placements:
            target = clusters[placement.key.cluster]
            if not placement.retained:
                assert target.ready
                assert target.reachable
                assert not target.held
                assert not target.taints
                assert deployment_plan.invalid_selector is None


@STEADY
@given(worlds(), st.booleans())
def test_feeding_a_plan_back_changes_nothing(world: Snapshot, applied: bool) -> None:
    plan = schedule(world)
    away = {each.name for each in world.clusters if not each.reachable}
    replicas = tuple(replace(each, applied=applied or each.key.cluster in away) for each in active(plan))
    again = schedule(replace(world, replicas=replicas, retiring=()))
    kept = {key: each for key, each in plan.deployments.items() if key in again.deployments}
    assert {key: [p.key for p in each.placements] for key, each in again.deployments.items()} == {
        key: [p.key for p in each.placements] for key, each in kept.items()
    }
    assert active(again) == active(plan)
    assert all(each.dropped == () for each in again.deployments.values())
    assert {key: each.condition for key, each in again.deployments.items()} == {
        key: each.condition for key, each in kept.items()
    }


@STEADY
@given(worlds())
def test_every_replica_is_placed_or_dropped_and_never_both(world: Snapshot) -> None:
    plan = schedule(world)
    placements = [each.key for deployment_plan in plan.deployments.values() for each in deployment_plan.placements]
    dropped = [each.replica.key for deployment_plan in plan.deployments.values() for each in deployment_plan.dropped]
    assert len(set(placements)) == len(placements)
    assert not set(placements) & set(dropped)
    assert {each.key for each in world.replicas} <= set(placements) | set(dropped)


@STEADY
@given(worlds())
def test_a_short_deployment_gives_every_cluster_a_reason_and_a_full_one_none(world: Snapshot) -> None:
    for deployment_plan in schedule(world).deployments.values():
        short = len(deployment_plan.placements) < deployment_plan.wanted and deployment_plan.invalid_selector is None
        assert [each.cluster for each in deployment_plan.verdicts] == (sorted(NAMES) if short else [])
        assert all(each.reasons for each in deployment_plan.verdicts)


SHRUNKEN = device(count=1, memory="1Gi")


def weakened(each: Cluster, random: Any) -> Cluster:
    """The same cluster after all that may change under a replica without moving it."""
    return replace(
        each,
        labels={},
        taints=(*each.taints, *cluster("x", taints=["new:NoSchedule"]).taints),
        ready=random.random() < 0.5,
        reachable=random.random() < 0.5,
        pools=tuple(replace(one, devices=(SHRUNKEN,), nodes=random.randrange(3)) for one in each.pools),
    )


@STEADY
@given(worlds(), st.randoms(use_true_random=False))
def test_labels_noschedule_taints_readiness_and_classes_move_nobody(world: Snapshot, random: Any) -> None:
    plan = schedule(world)
    after = schedule(
        replace(
            world,
            clusters=tuple(weakened(each, random) for each in world.clusters),
            replicas=active(plan),
            retiring=(),
        )
    )
    assert active(after) == active(plan)


@STEADY
@given(worlds())
def test_who_waits_fits_once_those_are_gone(world: Snapshot) -> None:
    plan = schedule(world)
    placements = [each for deployment_plan in plan.deployments.values() for each in deployment_plan.placements]
    placed_keys = {each.key for each in placements}
    leaving: dict[ReplicaKey, PlacedReplica] = {
        each.replica.key: each.replica
        for deployment_plan in plan.deployments.values()
        for each in deployment_plan.dropped
    }
    leaving |= {each.key: each for each in world.retiring if each.key not in placed_keys}
    nodes = {(each.name, one.name): one.nodes for each in world.clusters for one in each.pools}
    named = {key for each in placements for key in each.waits_for}
    assert named <= set(leaving)
    staying = [each for key, each in leaving.items() if key not in named]
    total, new = used([*placements, *staying]), used(each for each in placements if not each.retained)
    for place, count in new.items():
        assert count == 0 or total[place] <= nodes[place]


@STEADY
@given(st.integers(0, 3), st.integers(0, 3), st.integers(0, 4), st.sampled_from(["a", "z"]))
def test_two_deployments_never_book_one_node(first: int, second: int, nodes: int, name: str) -> None:
    one, two = deployment(first, "m"), deployment(second, name)
    there = tuple(placed(two, f"alpha{index}") for index in range(min(second, nodes)))
    world = Snapshot(clusters=(cluster("alpha", nodes),), deployments=(one, two), replicas=there)
    plan = schedule(world)
    total = sum(len(each.placements) for each in plan.deployments.values())
    assert total == min(nodes, first + second)
    assert len(plan.deployments["ml-team", name].placements) == min(second, nodes)


def requests_of(asking: Member) -> tuple[DeviceRequest, ...]:
    return asking.node_selector.devices if asking.node_selector else ()


def causes(world: Snapshot, plan: Plan, replica: PlacedReplica) -> set[str]:
    """Every cause that can be named for a replica to go, found without the scheduler's own rules."""
    documents = {(each.namespace, each.name): each for each in world.deployments}
    document = documents.get((replica.key.namespace, replica.key.deployment))
    target = next((each for each in world.clusters if each.name == replica.key.cluster), None)
    if document is None:
        return {"DeploymentGone"}
    if target is None:
        return {"ClusterGone"}
    found = set()
    if not target.reachable and not replica.applied:
        found.add("NeverApplied")
    if not target.held and any(taint.effect == "NoExecute" for taint in target.taints):
        found.add("Tainted")
    shape = document.spec.template.spec.engines
    if [[each.role for each in one.members] for one in shape] != [
        [each.role for each in one.members] for one in replica.engines
    ] or {one.name for one in shape} != {one.name for one in replica.engines}:
        found.add("EnginesChanged")
    pools_there = {each.name: each for each in target.pools}
    members = [each for one in replica.engines for each in one.members]
    if not target.held and any(each.pool not in pools_there for each in members):
        found.add("PoolGone")
    asked = [
        [selector.cel for request in requests_of(each) for selector in request.selectors]
        for one in shape
        for each in one.members
    ]
    facts = [(each.facts, pools_there[each.pool].devices if each.pool in pools_there else ()) for each in members]
    if len(asked) == len(facts) and any(
        cels and not any(match(cel, one).matched for one in devices for cel in cels)
        for cels, both in zip(asked, facts, strict=True)
        for devices in both
    ):
        found.add("SelectorChanged")
    if len(plan.deployments[document.namespace, document.name].placements) == document.spec.replicas:
        found.add("ScaledDown")
    return found


@STEADY
@given(worlds())
def test_nobody_leaves_without_a_cause_that_is_true(world: Snapshot) -> None:
    plan = schedule(world)
    for deployment_plan in plan.deployments.values():
        for dropped in deployment_plan.dropped:
            assert dropped.message
            assert str(dropped.reason) in causes(world, plan, dropped.replica)
            assert deployment_plan.invalid_selector is None or str(dropped.reason) == "Duplicate"
