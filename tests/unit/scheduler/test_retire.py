"""What new replicas wait for, and who takes over from whom."""

from dataclasses import replace

from unit.scheduler.worlds import (
    AT_LEAST_40,
    L40S,
    cluster,
    decide,
    deployment,
    drops,
    gang,
    identity,
    member,
    placed,
    places,
    pool,
    snapshot,
)

from scheduler import DeploymentPlan, Plan, ReplicaKey, Snapshot, schedule, successors

DEMO = deployment(2, "demo")
DEMO_AT_1 = deployment(1, "demo")
V2 = deployment(1, "demo-v2")
FLEET = [cluster("gpu-us-east", 1), cluster("gpu-eu-west", 1)]
BOTH = [placed(DEMO, "gpu-us-east0"), placed(DEMO, "gpu-eu-west0")]
EAST = BOTH[0].key


def waits(plan: DeploymentPlan) -> dict[str, list[str]]:
    return {
        identity(placement.key): [f"{key.deployment}/{identity(key)}" for key in placement.waits_for]
        for placement in plan.placements
    }


def pairs(plan: Plan) -> dict[str, str]:
    return {identity(old): identity(new) for old, new in successors(plan).items()}


def test_a_canary_waits_for_the_node_the_first_version_leaves() -> None:
    plan = schedule(snapshot(FLEET, DEMO_AT_1, V2, replicas=BOTH))
    assert drops(plan.deployments["ml-team", "demo"]) == {"gpu-us-east0": "ScaledDown"}
    assert waits(plan.deployments["ml-team", "demo-v2"]) == {"gpu-us-east0": ["demo/gpu-us-east0"]}
    assert successors(plan) == {}


def next_snapshot(view: Snapshot, plan: Plan, *, still_there: tuple[ReplicaKey, ...]) -> Snapshot:
    """What the next pass sees when only `still_there` of the retiring replicas are left and nothing new is applied."""
    before = {each.key: each for each in view.replicas}
    placements = [placement for each in plan.deployments.values() for placement in each.placements]
    dropped = [each.replica for plans in plan.deployments.values() for each in plans.dropped]
    known = {each.key: each for each in (*dropped, *view.retiring)}
    return replace(
        view,
        replicas=tuple(
            replace(before[each.key], engines=each.engines)
            if each.retained
            else replace(placed(V2, "gpu-us-east0"), key=each.key, name=each.name, engines=each.engines, applied=False)
            for each in placements
        ),
        retiring=tuple(known[key] for key in still_there),
    )


def test_it_keeps_waiting_while_the_old_one_is_there_and_no_longer() -> None:
    view = snapshot(FLEET, DEMO_AT_1, V2, replicas=BOTH)
    plan = schedule(view)
    waiting = next_snapshot(view, plan, still_there=(EAST,))
    again = schedule(waiting)
    assert waits(again.deployments["ml-team", "demo-v2"]) == {"gpu-us-east0": ["demo/gpu-us-east0"]}
    assert again.deployments["ml-team", "demo-v2"].placements[0].retained
    freed = schedule(next_snapshot(waiting, again, still_there=()))
    assert waits(freed.deployments["ml-team", "demo-v2"]) == {"gpu-us-east0": []}


def test_free_nodes_are_taken_before_anyone_is_waited_for() -> None:
    wide = [cluster("gpu-us-east", 3), cluster("gpu-eu-west", 1)]
    plan = schedule(snapshot(wide, DEMO_AT_1, V2, replicas=BOTH))
    assert places(plan.deployments["ml-team", "demo-v2"]) == ["gpu-us-east0"]
    assert waits(plan.deployments["ml-team", "demo-v2"]) == {"gpu-us-east0": []}


def test_only_as_many_are_named_as_are_needed_in_order_of_keys() -> None:
    gone = deployment(3, "gone")
    there = [placed(gone, f"alpha{index}") for index in range(3)]
    fleet = [cluster("alpha", 4)]
    two_nodes = deployment(1, engines=[gang(2, member("Standalone"))])
    assert waits(decide(fleet, two_nodes, replicas=there)) == {"alpha0": ["gone/alpha0"]}
    three_nodes = deployment(1, engines=[gang(3, member("Standalone"))])
    assert waits(decide(fleet, three_nodes, replicas=there)) == {"alpha0": ["gone/alpha0", "gone/alpha1"]}


def test_one_leaving_node_is_promised_once() -> None:
    gone = deployment(2, "gone")
    there = [placed(gone, "alpha0"), placed(gone, "alpha1")]
    plan = decide([cluster("alpha", 2)], deployment(2), retiring=there)
    assert waits(plan) == {"alpha0": ["gone/alpha0"], "alpha1": ["gone/alpha1"]}


def test_a_large_leaver_can_serve_several() -> None:
    gone = deployment(1, "gone", engines=[gang(2, member("Standalone"))])
    plan = decide([cluster("alpha", 2)], deployment(2), retiring=[placed(gone, "alpha0")])
    assert waits(plan) == {"alpha0": ["gone/alpha0"], "alpha1": ["gone/alpha0"]}


def test_an_overcommitted_pool_needs_more_to_leave() -> None:
    gone = deployment(2, "gone")
    there = [placed(gone, "alpha0"), placed(gone, "alpha1")]
    stays = deployment(1, "stays", engines=[gang(1, member("Standalone"))])
    plan = decide([cluster("alpha", 2)], deployment(1), stays, replicas=[placed(stays, "alpha0")], retiring=there)
    assert waits(plan) == {"alpha0": ["gone/alpha0", "gone/alpha1"]}


def test_applied_replicas_wait_for_nobody() -> None:
    gone = deployment(1, "gone")
    view = [cluster("alpha", 1)]
    leaver = [placed(gone, "alpha0")]
    there = placed(deployment(1), "alpha0")
    assert waits(decide(view, deployment(1), replicas=[there], retiring=leaver)) == {"alpha0": []}
    unapplied = replace(there, applied=False)
    assert waits(decide(view, deployment(1), replicas=[unapplied], retiring=leaver)) == {"alpha0": ["gone/alpha0"]}


def test_a_drained_replica_is_succeeded_by_the_new_one() -> None:
    two = deployment(2)
    fleet = [cluster("alpha", 1, taints=["k:NoExecute"]), cluster("bravo", 2)]
    plan = schedule(snapshot(fleet, two, replicas=[placed(two, "alpha0"), placed(two, "bravo0")]))
    assert pairs(plan) == {"alpha0": "bravo1"}
    assert waits(plan.deployments["ml-team", "d"]) == {"bravo0": [], "bravo1": []}


def test_two_deployments_that_change_places_wait_for_each_other() -> None:
    one, other = deployment(1, "one", cel=AT_LEAST_40), deployment(1, "two")
    small, big = pool("l4", 1), pool("l40s", 1, L40S)
    fleet = [cluster("alpha", small), cluster("bravo", big, taints=["k:NoExecute"]), cluster("charlie", big)]
    before = deployment(1, "one")
    plan = schedule(
        snapshot(
            fleet,
            one,
            other,
            replicas=[placed(before, "alpha0@l4"), placed(other, "bravo0@l40s", [L40S])],
        )
    )
    assert pairs(plan) == {"alpha0": "charlie0", "bravo0": "alpha0"}
    assert waits(plan.deployments["ml-team", "two"]) == {"alpha0": ["one/alpha0"]}
    assert waits(plan.deployments["ml-team", "one"]) == {"charlie0": []}


def test_an_identity_that_is_placed_again_changes_in_place() -> None:
    before, after = deployment(1), deployment(1, cel=AT_LEAST_40)
    fleet = [cluster("alpha", pool("l4", 1), pool("l40s", 1, L40S))]
    plan = schedule(snapshot(fleet, after, replicas=[placed(before, "alpha0@l4")]))
    own = plan.deployments["ml-team", "d"]
    assert (places(own), own.dropped, own.placements[0].in_place) == (["alpha0"], (), True)
    assert waits(own) == {"alpha0": []}
    assert successors(plan) == {}


def test_a_retiring_replica_whose_identity_is_wanted_again_comes_back() -> None:
    two = deployment(2)
    plan = decide([cluster("alpha", 2)], two, replicas=[placed(two, "alpha0")], retiring=[placed(two, "alpha1")])
    assert places(plan) == ["alpha0", "alpha1"]
    assert [placement.in_place for placement in plan.placements] == [False, True]
    assert waits(plan) == {"alpha0": [], "alpha1": []}


def test_pairs_skip_what_changes_in_place() -> None:
    before, after = deployment(2), deployment(2, cel=AT_LEAST_40)
    fleet = [cluster("alpha", pool("l40s", 1, L40S)), cluster("bravo", pool("l4", 1), taints=["k:NoExecute"])]
    fleet.append(cluster("charlie", pool("l40s", 1, L40S)))
    plan = schedule(snapshot(fleet, after, replicas=[placed(before, "alpha0@l4"), placed(before, "bravo0@l4")]))
    assert places(plan.deployments["ml-team", "d"]) == ["alpha0", "charlie0"]
    assert pairs(plan) == {"bravo0": "charlie0"}
