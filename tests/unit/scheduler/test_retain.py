"""What makes a replica leave its place, and what does not."""

from dataclasses import replace

import builders
import pytest
from unit.scheduler.worlds import (
    AT_LEAST_20,
    AT_LEAST_40,
    AT_LEAST_79,
    H100,
    L4,
    L40S,
    NIC_DRA,
    cluster,
    decide,
    deployment,
    device,
    drops,
    gang,
    member,
    placed,
    places,
    pool,
    snapshot,
)

from api import ModelDeployment
from scheduler import CacheFootprint, Capabilities, Cluster, schedule

ONE = deployment(1)
THERE = placed(ONE, "alpha0")
ALPHA = cluster("alpha", 1, labels={"tier": "prod"})
SHRUNKEN = device(count=1, memory="10Gi")
RENAMED = device(count=1, memory="23034Mi", deviceClassName="gpu-v2.nvidia.com")
UNCLAIMED = device(count=1, memory="23034Mi", claim="Synthetic")

STAYS: dict[str, tuple[Cluster, ModelDeployment]] = {
    "nothing changed": (ALPHA, ONE),
    "the cluster is not ready": (replace(ALPHA, ready=False, gateway_address=None), ONE),
    "the cluster is unreachable": (replace(ALPHA, reachable=False), ONE),
    "the cluster is held": (replace(ALPHA, held=True), ONE),
    "a held cluster with an evicting taint": (cluster("alpha", 1, taints=["k:NoExecute"], held=True), ONE),
    "a held cluster without its pool": (cluster("alpha", pool("other"), held=True), ONE),
    "an untolerated NoSchedule taint": (cluster("alpha", 1, taints=["k:NoSchedule"]), ONE),
    "the label selector narrows": (ALPHA, deployment(1, cluster_selector={"tier": "dev"})),
    "the cache is missing": (ALPHA, deployment(1, cache="weights")),
    "the pool has no nodes left": (cluster("alpha", 0), ONE),
    "the class shrank": (cluster("alpha", pool("l4", 1, SHRUNKEN)), ONE),
    "the class lost its device": (cluster("alpha", pool("l4", 1, NIC_DRA)), ONE),
    "the class no longer lets claim": (cluster("alpha", pool("l4", 1, UNCLAIMED)), ONE),
    "the stack can do less": (cluster("alpha", 1, capabilities=Capabilities(gangs=False, rank=False)), ONE),
    "other selectors that pass": (ALPHA, deployment(1, cel=f"{AT_LEAST_20} && true")),
    "other selectors that pass on the class of today": (
        cluster("alpha", pool("l4", 1, L40S)),
        deployment(1, cel=AT_LEAST_40),
    ),
    "an invalid selector": (ALPHA, deployment(1, cel="device.driver ==")),
    "an invalid selector on a drained cluster": (
        cluster("alpha", 1, taints=["k:NoExecute"]),
        deployment(1, cel="device.driver =="),
    ),
}


@pytest.mark.parametrize("case", STAYS.values(), ids=STAYS)
def test_a_replica_stays(case: tuple[Cluster, ModelDeployment]) -> None:
    world, document = case
    plan = decide([world], document, replicas=[THERE])
    assert places(plan) == ["alpha0"]
    assert plan.placements[0].retained
    assert plan.dropped == ()


BRAVO = cluster("bravo", 1)
CLOSED = cluster("alpha", 1, taints=["k:NoSchedule"])
GOES: dict[str, tuple[Cluster, ModelDeployment, str]] = {
    "an untolerated NoExecute taint": (cluster("alpha", 1, taints=["k:NoExecute"]), ONE, "Tainted"),
    "the pool is gone": (cluster("alpha", pool("other", 0)), ONE, "PoolGone"),
    "the pool leaves": (cluster("alpha", pool("l4", 1, leaving=True)), ONE, "PoolGone"),
    "the cluster is gone": (cluster("charlie", 0), ONE, "ClusterGone"),
    "the selector asks for more": (ALPHA, deployment(1, cel=AT_LEAST_40), "SelectorChanged"),
    "the engine has another name": (
        CLOSED,
        deployment(1, engines=[builders.an_engine("other", members=[member("Standalone")])]),
        "EnginesChanged",
    ),
    "the engine became a gang": (
        ALPHA,
        deployment(1, engines=[gang(1, member("Leader"), member("Worker", nodes=1))]),
        "EnginesChanged",
    ),
    "a second engine": (
        ALPHA,
        deployment(1, engines=[gang(1, member("Standalone")), builders.an_engine("b", members=[member("Standalone")])]),
        "EnginesChanged",
    ),
}


@pytest.mark.parametrize("case", GOES.values(), ids=GOES)
def test_a_replica_goes(case: tuple[Cluster, ModelDeployment, str]) -> None:
    world, document, reason = case
    plan = decide([world], document, replicas=[THERE])
    assert plan.placements == ()
    assert drops(plan) == {"alpha0": reason}


def test_a_replica_that_never_reached_an_unreachable_cluster_goes_elsewhere() -> None:
    lost = replace(ALPHA, reachable=False, ready=False)
    assert places(decide([lost, BRAVO], ONE, replicas=[replace(THERE, applied=False)])) == ["bravo0"]
    assert places(decide([lost, BRAVO], ONE, replicas=[THERE])) == ["alpha0"]
    assert places(decide([ALPHA, BRAVO], ONE, replicas=[replace(THERE, applied=False)])) == ["alpha0"]


def test_the_drop_says_what_the_selector_misses() -> None:
    plan = decide([ALPHA], deployment(1, cel=AT_LEAST_40), replicas=[THERE])
    assert plan.dropped[0].message == (
        "the pool it is on no longer passes: request gpu: device gpu of pool l4 fails "
        'device.capacity["gpu.nvidia.com"].memory.compareTo(quantity("40Gi")) >= 0 (memory is 23034Mi)'
    )


def test_a_kept_replica_keeps_the_facts_it_was_placed_on() -> None:
    placement = decide([cluster("alpha", pool("l4", 1, SHRUNKEN))], ONE, replicas=[THERE]).placements[0]
    assert placement.engines[0].members[0].facts == (L4,)


def test_a_renamed_device_class_reaches_kept_replicas() -> None:
    placement = decide([cluster("alpha", pool("l4", 1, RENAMED))], ONE, replicas=[THERE]).placements[0]
    assert [claim.device_class_name for claim in placement.engines[0].members[0].requests] == ["gpu-v2.nvidia.com"]


def test_without_recorded_facts_the_pool_of_today_counts() -> None:
    there = placed(ONE, "alpha0", facts=[])
    kept = decide([ALPHA], ONE, replicas=[there]).placements[0]
    assert (kept.retained, kept.engines[0].members[0].facts) == (True, (L4,))
    assert drops(decide([cluster("alpha", pool("l4", 1, SHRUNKEN))], ONE, replicas=[there])) == {
        "alpha0": "SelectorChanged"
    }
    unknown = cluster("alpha", pool("other"), held=True)
    assert places(decide([unknown], ONE, replicas=[there])) == ["alpha0"]


def test_a_kept_replica_claims_what_its_changed_selector_says() -> None:
    changed = deployment(1, cel=f"{AT_LEAST_20} && true")
    placement = decide([ALPHA], changed, replicas=[THERE]).placements[0]
    assert [claim.selectors[0].cel for claim in placement.engines[0].members[0].requests] == [f"{AT_LEAST_20} && true"]


def test_copies_and_workers_change_in_place_and_are_charged() -> None:
    grown = deployment(1, engines=[gang(2, member("Leader"), member("Worker", nodes=2))])
    before = deployment(1, engines=[gang(1, member("Leader"), member("Worker", nodes=1))])
    small = deployment(1, "e")
    plan = schedule(snapshot([cluster("alpha", 6)], grown, small, replicas=[placed(before, "alpha0")]))
    assert plan.deployments["ml-team", "d"].placements[0].engines[0].copies == 2
    assert places(plan.deployments["ml-team", "e"]) == []


def test_namespaces_are_walls() -> None:
    ours, theirs = deployment(1), deployment(1, namespace="other")
    plan = schedule(snapshot([cluster("alpha", 2)], ours, theirs, replicas=[placed(theirs, "alpha0")]))
    assert [placement.retained for placement in plan.deployments["ml-team", "d"].placements] == [False]
    assert [placement.retained for placement in plan.deployments["other", "d"].placements] == [True]


def test_a_deployment_that_is_gone_loses_its_replicas_and_frees_their_nodes() -> None:
    gone = deployment(1, "gone")
    plan = schedule(snapshot([ALPHA], ONE, replicas=[placed(gone, "alpha0")]))
    assert drops(plan.deployments["ml-team", "gone"]) == {"alpha0": "DeploymentGone"}
    assert plan.deployments["ml-team", "gone"].wanted == 0
    assert plan.deployments["ml-team", "gone"].condition.reason == "DeploymentGone"
    assert places(plan.deployments["ml-team", "d"]) == ["alpha0"]


def test_scaling_down_to_nothing_parks() -> None:
    plan = decide([ALPHA], deployment(0), replicas=[THERE])
    assert (places(plan), drops(plan)) == ([], {"alpha0": "ScaledDown"})
    assert (plan.condition.status, plan.condition.reason) == ("True", "Parked")


def test_a_bad_selector_holds_even_against_scaling_and_harms_nobody() -> None:
    bad = deployment(0, cel="device.driver ==")
    plan = schedule(snapshot([cluster("alpha", 2)], bad, deployment(1, "e"), replicas=[placed(ONE, "alpha0")]))
    held = plan.deployments["ml-team", "d"]
    assert places(held) == ["alpha0"]
    assert (held.condition.status, held.condition.reason) == ("False", "InvalidNodeSelector")
    assert held.condition.message == (
        "Invalid nodeSelector CEL expression: engines[0].members[0].nodeSelector.devices[0].selectors[0].cel: "
        "syntax error: the expression ends too early; 1 running replica is held as it is"
    )
    assert places(plan.deployments["ml-team", "e"]) == ["alpha0"]


def test_a_cache_that_narrows_evicts_nobody() -> None:
    cached = deployment(2, cache="weights")
    caches = {("ml-team", "weights"): CacheFootprint(clusters=frozenset({"bravo"}))}
    plan = decide([cluster("alpha", 2), BRAVO], cached, replicas=[THERE], caches=caches)
    assert places(plan) == ["alpha0", "bravo0"]


def test_better_hardware_under_a_replica_changes_nothing() -> None:
    plan = decide([replace(ALPHA, pools=(pool("l4", 1, H100),))], ONE, replicas=[THERE])
    assert plan.placements[0].engines == THERE.engines
    assert places(decide([ALPHA], deployment(1, cel=AT_LEAST_79), replicas=[THERE])) == []
