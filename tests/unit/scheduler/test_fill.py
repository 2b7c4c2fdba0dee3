"""Where new replicas may go, and how a refusal reads."""

import builders
import pytest
from unit.scheduler.worlds import (
    AT_LEAST_20,
    AT_LEAST_40,
    AT_LEAST_79,
    H100,
    IS_NIC,
    L4,
    L40S,
    NIC_DRA,
    NIC_SYNTHETIC,
    cluster,
    decide,
    deployment,
    gang,
    member,
    placed,
    places,
    pool,
    pools_of,
    reasons,
    snapshot,
)

from api import ModelDeployment
from scheduler import CacheFootprint, Capabilities, Cluster, schedule

WEIGHTS = {("ml-team", "weights"): CacheFootprint(clusters=frozenset({"bravo"}), match_labels={"tier": "prod"})}
RANK = {"containers": [{"name": "engine", "image": "e:1", "args": ["--rank=$(MODELPLANE_RANK)"]}]}
GANG = deployment(1, engines=[gang(1, member("Leader"), member("Worker", nodes=1))])
RANKED = deployment(1, engines=[gang(1, member("Leader"), member("Worker", nodes=1) | {"template": {"spec": RANK}})])
SPLIT = deployment(
    1,
    serving={"mode": "PrefillDecode"},
    engines=[
        builders.an_engine("prefill", phase="Prefill", members=[member("Standalone")]),
        builders.an_engine("decode", phase="Decode", members=[member("Standalone")]),
    ],
)

REFUSED: dict[str, tuple[Cluster, ModelDeployment, str, str]] = {
    "not ready": (cluster("alpha", 9, ready=False), deployment(1), "NotReady", "is not ready"),
    "no address": (cluster("alpha", 9, gateway_address=None), deployment(1), "NotReady", "has no gateway address yet"),
    "unreachable": (cluster("alpha", 9, ready=False, reachable=False), deployment(1), "Unreachable", "is unreachable"),
    "held": (cluster("alpha", 9, held=True), deployment(1), "Held", "is held: its document is gone"),
    "a label is missing": (
        cluster("alpha", 9),
        deployment(1, cluster_selector={"tier": "prod"}),
        "LabelMismatch",
        "lacks the label tier=prod",
    ),
    "a label differs": (
        cluster("alpha", 9, labels={"tier": "dev"}),
        deployment(1, cluster_selector={"tier": "prod"}),
        "LabelMismatch",
        "has the label tier=dev, not prod",
    ),
    "NoSchedule": (
        cluster("alpha", 9, taints=["k:NoSchedule"]),
        deployment(1),
        "Tainted",
        "carries the untolerated taint k:NoSchedule",
    ),
    "two taints": (
        cluster("alpha", 9, taints=["k:NoSchedule", "j=1:NoExecute"]),
        deployment(1),
        "Tainted",
        "carries the untolerated taints k:NoSchedule, j:NoExecute",
    ),
    "PrefillDecode without pools": (
        cluster("alpha", 9, capabilities=Capabilities(inference_pools=False)),
        SPLIT,
        "StackIncompatible",
        "has no inference pools, which PrefillDecode needs",
    ),
    "a gang without gangs": (
        cluster("alpha", 9, capabilities=Capabilities(gangs=False)),
        GANG,
        "StackIncompatible",
        "runs no gangs, which an engine with Leader and Worker needs",
    ),
    "a rank on Dynamo": (
        cluster("alpha", 9, stack="Dynamo", capabilities=Capabilities(rank=False)),
        RANKED,
        "StackIncompatible",
        "runs the Dynamo stack, which sets no MODELPLANE_RANK",
    ),
    "outside the cache": (
        cluster("alpha", 9, labels={"tier": "prod"}),
        deployment(1, cache="weights"),
        "OutsideCacheClusters",
        "is outside cache weights's clusters: it has no storage that many nodes can mount (ReadWriteMany)",
    ),
    "outside the cache's labels": (
        cluster("bravo", 9),
        deployment(1, cache="weights"),
        "OutsideCacheClusters",
        "is outside cache weights's clusters: it lacks the label tier=prod",
    ),
    "no such cache": (cluster("alpha", 9), deployment(1, cache="nope"), "CacheNotFound", "cache nope not found"),
    "no pools": (cluster("alpha"), deployment(1), "NoMatchingHardware", "has no pool with declared devices"),
    "a leaving pool": (
        cluster("alpha", pool("l4", 9, leaving=True)),
        deployment(1),
        "NoMatchingHardware",
        "has no pool with declared devices",
    ),
    "too little memory": (
        cluster("alpha", pool("l4", 9, L4), pool("l40s", 9, L40S)),
        deployment(1, cel=AT_LEAST_79),
        "NoMatchingHardware",
        (
            'request gpu: device gpu of pool l40s fails device.capacity["gpu.nvidia.com"].memory'
            '.compareTo(quantity("79Gi")) >= 0 (memory is 46068Mi)'
        ),
    ),
    "a missing attribute": (
        cluster("alpha", 9),
        deployment(1, cel='device.attributes["gpu.nvidia.com"].architecture == "Hopper"'),
        "NoMatchingHardware",
        (
            'request gpu: device gpu of pool l4 fails device.attributes["gpu.nvidia.com"].architecture == "Hopper" '
            "(it has no architecture in gpu.nvidia.com)"
        ),
    ),
    "another driver": (
        cluster("alpha", 9),
        deployment(1, cel=IS_NIC),
        "NoMatchingHardware",
        'request gpu: device gpu of pool l4 fails device.driver == "nic.example.com" (driver is gpu.nvidia.com)',
    ),
    "too few devices on a node": (
        cluster("alpha", 9),
        deployment(1, engines=[gang(1, member("Standalone", 4))]),
        "NoMatchingHardware",
        "request gpu needs 4, device gpu of pool l4 has 1 left a node",
    ),
    "only synthetic": (
        cluster("alpha", pool("p", 9, NIC_SYNTHETIC)),
        deployment(1, cel=IS_NIC),
        "NoMatchingHardware",
        "what matches can only be matched, not claimed (claim: Synthetic)",
    ),
    "too few nodes": (
        cluster("alpha", 1),
        deployment(1, engines=[gang(2, member("Standalone"))]),
        "InsufficientNodes",
        "pool l4 has 1 of 1 nodes free, needs 2",
    ),
    "too few nodes for the second engine": (
        cluster("alpha", 1),
        SPLIT,
        "InsufficientNodes",
        "engine decode: pool l4 has 0 of 1 nodes free, needs 1",
    ),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_refusal(case: tuple[Cluster, ModelDeployment, str, str]) -> None:
    world, document, code, message = case
    plan = decide([world], document, caches=WEIGHTS)
    assert places(plan) == []
    assert [(str(reason.code), reason.message) for reason in plan.verdicts[0].reasons] == [(code, message)]


ALLOWED: dict[str, tuple[Cluster, ModelDeployment]] = {
    "labels match": (
        cluster("alpha", 1, labels={"tier": "prod", "zone": "a"}),
        deployment(1, cluster_selector={"tier": "prod"}),
    ),
    "the cache is there": (cluster("bravo", 1, labels={"tier": "prod"}), deployment(1, cache="weights")),
    "a tolerated taint": (
        cluster("alpha", 1, taints=["k=v:NoSchedule"]),
        deployment(1, tolerations=[{"key": "k", "value": "v"}]),
    ),
    "a gang that reads no rank": (cluster("alpha", 2, capabilities=Capabilities(rank=False)), GANG),
    "a gang where ranks are set": (cluster("alpha", 2), RANKED),
    "PrefillDecode with pools": (cluster("alpha", 2), SPLIT),
}


@pytest.mark.parametrize("case", ALLOWED.values(), ids=ALLOWED)
def test_allowed(case: tuple[Cluster, ModelDeployment]) -> None:
    world, document = case
    assert places(decide([world], document, caches=WEIGHTS)) == [f"{world.name}0"]


def test_contradicting_selectors_leave_no_candidate() -> None:
    dev = deployment(1, cache="weights", cluster_selector={"tier": "dev"})
    plan = decide([cluster("bravo", 1, labels={"tier": "dev"}), cluster("alpha", 1)], dev, caches=WEIGHTS)
    assert places(plan) == []
    assert reasons(plan)["bravo"][0] == "SelectorsConflict"
    assert plan.condition.reason == "SelectorsConflict"


def test_all_failing_gates_of_a_cluster_are_told() -> None:
    world = cluster("alpha", 0, labels={"tier": "dev"}, taints=["k:NoSchedule"], ready=False)
    plan = decide([world], deployment(1, cluster_selector={"tier": "prod"}))
    assert reasons(plan) == {"alpha": ["LabelMismatch", "NotReady", "Tainted", "InsufficientNodes"]}


EAST, WEST = cluster("gpu-us-east", pool("gpu", 1)), cluster("gpu-eu-west", pool("gpu", 1))
DEMO = deployment(2, "mock-demo")
FULL = [placed(DEMO, "gpu-us-east0@gpu"), placed(DEMO, "gpu-eu-west0@gpu")]


def test_a_deployment_that_is_too_large_names_the_missing_nodes() -> None:
    large = deployment(1, "large", engines=[gang(2, member("Standalone"))])
    alone = decide([EAST, WEST], large)
    assert (alone.condition.status, alone.condition.reason) == ("False", "InsufficientCapacity")
    assert alone.condition.message == (
        "0 of 1 replicas scheduled: 0/2 clusters: 2 too few nodes (short 1); "
        "gpu-eu-west: pool gpu has 1 of 1 nodes free, needs 2"
    )
    beside = decide([EAST, WEST], large, DEMO, replicas=FULL)
    assert beside.condition.message == (
        "0 of 1 replicas scheduled: 0/2 clusters: 2 too few nodes (short 2); "
        "gpu-eu-west: pool gpu has 0 of 1 nodes free, needs 2"
    )


def test_a_partial_shortfall_is_false_with_both_numbers() -> None:
    plan = decide([WEST], DEMO)
    assert (plan.condition.type, plan.condition.status, plan.condition.reason) == (
        "ReplicasScheduled",
        "False",
        "PartiallyScheduled",
    )
    assert plan.condition.message == (
        "1 of 2 replicas scheduled: 0/1 clusters: 1 too few nodes (short 1); "
        "gpu-eu-west: pool gpu has 0 of 1 nodes free, needs 1"
    )


def test_the_message_counts_a_cluster_once_in_a_stable_order() -> None:
    fleet = [
        cluster("us", pool("gpu", 1)),
        cluster("eu", pool("gpu", 1), taints=["maint:NoExecute"]),
        cluster("ap", pool("gpu", 1), ready=False),
        cluster("af", pool("gpu", 0)),
    ]
    plan = decide(fleet, deployment(3))
    assert plan.condition.message == (
        "1 of 3 replicas scheduled: 0/4 clusters: 2 too few nodes (short 1), 1 not ready, 1 untolerated taint maint; "
        "af: pool gpu has 0 of 0 nodes free, needs 1"
    )
    assert decide(fleet[::-1], deployment(3)).condition == plan.condition


CONDITIONS = {
    "no clusters": ([], deployment(1), "NoClusters", "0 of 1 replicas scheduled: the fleet has no clusters"),
    "no cluster is selected": (
        [cluster("alpha", 1)],
        deployment(1, cluster_selector={"tier": "prod"}),
        "NoClusters",
        "0 of 1 replicas scheduled: 0/1 clusters: 1 not matching the cluster selector",
    ),
    "all are drained": (
        [cluster("alpha", 1, taints=["k:NoExecute"]), cluster("bravo", 1, taints=["k:NoExecute"])],
        deployment(1),
        "Tainted",
        "0 of 1 replicas scheduled: 0/2 clusters: 2 untolerated taint k",
    ),
    "none is ready": (
        [cluster("alpha", 1, ready=False), cluster("bravo", 1, reachable=False)],
        deployment(1),
        "ClustersNotReady",
        "0 of 1 replicas scheduled: 0/2 clusters: 1 not ready, 1 unreachable",
    ),
    "mixed": (
        [cluster("alpha", 1, ready=False), cluster("bravo", 0)],
        deployment(1),
        "InsufficientCapacity",
        (
            "0 of 1 replicas scheduled: 0/2 clusters: 1 not ready, 1 too few nodes (short 1); "
            "bravo: pool l4 has 0 of 0 nodes free, needs 1"
        ),
    ),
    "the cache is missing": (
        [cluster("alpha", 1)],
        deployment(1, cache="nope"),
        "CacheNotFound",
        "0 of 1 replicas scheduled: 0/1 clusters: 1 cache nope not found",
    ),
    "all are placed": ([cluster("alpha", 1)], deployment(1), "ReplicasCreated", "Scheduled 1 of 1 replicas"),
    "parked": ([], deployment(0), "Parked", "Parked at 0 replicas"),
    "a bad selector": (
        [cluster("alpha", 1)],
        deployment(1, cel="device.drivr == 'a'"),
        "InvalidNodeSelector",
        (
            "Invalid nodeSelector CEL expression: engines[0].members[0].nodeSelector.devices[0].selectors[0].cel: "
            "column 8: device has no field drivr, only driver, attributes and capacity"
        ),
    ),
}


@pytest.mark.parametrize("name", CONDITIONS)
def test_condition(name: str) -> None:
    fleet, document, reason, message = CONDITIONS[name]
    condition = decide(fleet, document).condition
    assert (condition.reason, condition.message) == (reason, message)
    assert condition.status == ("True" if reason in {"ReplicasCreated", "Parked"} else "False")


def test_retained_replicas_of_all_come_before_new_ones_of_any() -> None:
    first, last = deployment(1, "a"), deployment(1, "z")
    plan = schedule(snapshot([cluster("alpha", 1)], first, last, replicas=[placed(last, "alpha0")]))
    assert places(plan.deployments["ml-team", "a"]) == []
    assert places(plan.deployments["ml-team", "z"]) == ["alpha0"]


def test_new_replicas_are_placed_by_namespace_and_name() -> None:
    plan = schedule(snapshot([cluster("alpha", 1)], deployment(1, "b"), deployment(1, "c", namespace="a-team")))
    assert {key: places(each) for key, each in plan.deployments.items()} == {
        ("a-team", "c"): ["alpha0"],
        ("ml-team", "b"): [],
    }


def test_other_device_choices_are_tried_only_where_no_cluster_takes_it_greedily() -> None:
    crowded = [
        builders.a_request("any", count=8, cel=AT_LEAST_20),
        builders.a_request("big", count=8, cel=AT_LEAST_79),
    ]
    picky = deployment(2, engines=[builders.an_engine(members=[builders.a_member(requests=crowded)])])
    mid = L40S.model_copy(update={"count": 8})
    greedy_fails = cluster("alpha", pool("p", 2, H100, mid))
    greedy_works = cluster("bravo", pool("p", 1, mid, H100))
    assert places(decide([greedy_fails, greedy_works], picky)) == ["alpha0", "bravo0"]
    assert places(decide([greedy_fails, greedy_works], deployment(1, engines=picky_engines(picky)))) == ["bravo0"]
    assert places(decide([greedy_fails], picky)) == ["alpha0", "alpha1"]


def picky_engines(document: ModelDeployment) -> list[dict[str, object]]:
    return [each.model_dump(by_alias=True, exclude_none=True) for each in document.spec.template.spec.engines]


def test_a_replica_placed_by_other_choices_stays() -> None:
    crowded = [builders.a_request("any", cel=AT_LEAST_20), builders.a_request("big", cel=AT_LEAST_79)]
    picky = deployment(1, engines=[builders.an_engine(members=[builders.a_member(requests=crowded)])])
    fleet = [cluster("alpha", pool("p", 1, H100, L40S.model_copy(update={"count": 8})))]
    first = decide(fleet, picky)
    there = [placed(picky, "alpha0@p", first.placements[0].engines[0].members[0].facts)]
    assert [placement.retained for placement in decide(fleet, picky, replicas=there).placements] == [True]


def test_the_first_pool_in_published_order_is_taken() -> None:
    fleet = [cluster("alpha", pool("z", 1, L40S), pool("a", 1, L40S))]
    plan = decide(fleet, deployment(2, cel=AT_LEAST_40))
    assert pools_of(plan) == {"alpha0": ["z"], "alpha1": ["a"]}


def test_selectors_run_once_for_each_distinct_device() -> None:
    fleet = [cluster(f"c{number}", pool("a", 1, L4), pool("b", 1, L40S, NIC_DRA)) for number in range(30)]
    plan = schedule(snapshot(fleet, *(deployment(3, f"d{number}", cel=AT_LEAST_40) for number in range(8))))
    assert sum(len(each.placements) for each in plan.deployments.values()) == 24
    assert plan.evaluations <= 3
