"""The worked examples of the placement rules, numbered as in the reference; 2, 10 and 11 as the design settles them."""

from dataclasses import dataclass
from dataclasses import field as with_default

import builders
import pytest
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
    cluster,
    decide,
    deployment,
    gang,
    member,
    placed,
    places,
    pool,
    pools_of,
)

from api import ModelDeployment
from scheduler import Cluster, Overcommitted, PlacedReplica


@dataclass(frozen=True, kw_only=True)
class Case:
    fleet: list[Cluster]
    want: list[str]
    """Replicas and, for some, the pool of each member."""
    ask: ModelDeployment
    others: list[ModelDeployment] = with_default(default_factory=list)
    there: list[PlacedReplica] = with_default(default_factory=list)
    reason: str = "ReplicasCreated"
    pools: dict[str, list[str]] | None = None


def two_engines() -> ModelDeployment:
    engines = [
        builders.an_engine("prefill", phase="Prefill", members=[member("Standalone")]),
        builders.an_engine("decode", phase="Decode", members=[member("Standalone", cel=AT_LEAST_79)]),
    ]
    return deployment(1, engines=engines, serving={"mode": "PrefillDecode"})


D2 = deployment(2)
D3 = deployment(3)
NIC_LEADER = deployment(1, engines=[gang(1, member("Leader", cel=IS_NIC), member("Worker", 8, AT_LEAST_79, nodes=1))])
HALVES = [builders.a_request("left", count=6, cel=AT_LEAST_20), builders.a_request("right", count=2, cel=AT_LEAST_20)]
TOO_MUCH = [HALVES[0], builders.a_request("right", count=3, cel=AT_LEAST_20)]
RAISED = deployment(2, cel=AT_LEAST_40)
BEFORE = deployment(2)
X = deployment(1, "x", cel=AT_LEAST_40)
DRAIN = ["drain:NoExecute"]
TOLERATES = [{"key": "drain", "operator": "Exists", "effect": "NoExecute"}]
TOLERATES_LESS = [{"key": "drain", "operator": "Exists", "effect": "NoSchedule"}]
SMALL_GANG = deployment(1, "y", engines=[gang(1, member("Leader", 0), member("Worker", nodes=1))])
GROWN = deployment(1, engines=[gang(1, member("Leader"), member("Worker", nodes=2))])

CASES = {
    "1 spread in name order, then pack": Case(
        fleet=[cluster("charlie", 2), cluster("alpha", 2), cluster("bravo", 2)],
        ask=deployment(5),
        want=["alpha0", "alpha1", "bravo0", "bravo1", "charlie0"],
    ),
    "2 no capacity left": Case(
        fleet=[cluster("alpha", 1), cluster("bravo", 2)],
        ask=deployment(4),
        want=["alpha0", "bravo0", "bravo1"],
        reason="PartiallyScheduled",
    ),
    "3 the lowest free index is reused": Case(
        fleet=[cluster("bravo", 4)],
        ask=D3,
        there=[placed(D3, "bravo0"), placed(D3, "bravo2")],
        want=["bravo0", "bravo1", "bravo2"],
    ),
    "4 the fullest cluster, then the later name shrinks": Case(
        fleet=[cluster("alpha", 3), cluster("bravo", 2)],
        ask=D3,
        there=[placed(D3, f"alpha{index}") for index in range(3)] + [placed(D3, f"bravo{index}") for index in range(2)],
        want=["alpha0", "alpha1", "bravo0"],
    ),
    "5 a gang costs its pods times its copies": Case(
        fleet=[cluster("alpha", pool("h100", 7, H100)), cluster("bravo", pool("h100", 8, H100))],
        ask=deployment(1, engines=[gang(2, member("Leader", 8), member("Worker", 8, nodes=3))]),
        want=["bravo0"],
    ),
    "6 a leader that asks for nothing rides along": Case(
        fleet=[cluster("alpha", pool("h100", 2, H100))],
        ask=deployment(1, engines=[gang(1, member("Leader", 0), member("Worker", 8, nodes=2))]),
        want=["alpha0"],
        pools={"alpha0": ["h100", "h100"]},
    ),
    "7 an engine is never split over pools": Case(
        fleet=[cluster("alpha", pool("big", 4, H100), pool("small", 4, L4))],
        ask=deployment(
            1, engines=[gang(1, member("Leader", cel=AT_LEAST_79), member("Worker", cel=BELOW_30, nodes=1))]
        ),
        want=[],
        reason="NoMatchingHardware",
    ),
    "8 who could claim is not stranded without a claim": Case(
        fleet=[cluster("alpha", pool("p1", 2, H100, NIC_SYNTHETIC), pool("p2", 2, H100, NIC_DRA))],
        ask=NIC_LEADER,
        want=["alpha0"],
        pools={"alpha0": ["p2", "p2"]},
    ),
    "8b who can claim nowhere goes along": Case(
        fleet=[cluster("alpha", pool("p1", 2, H100, NIC_SYNTHETIC))],
        ask=NIC_LEADER,
        want=["alpha0"],
        pools={"alpha0": ["p1", "p1"]},
    ),
    "9 two requests share one node": Case(
        fleet=[cluster("alpha", pool("h100", 1, H100))],
        ask=deployment(1, engines=[builders.an_engine(members=[builders.a_member(requests=HALVES)])]),
        want=["alpha0"],
    ),
    "9b two requests exceed one node": Case(
        fleet=[cluster("alpha", pool("h100", 1, H100))],
        ask=deployment(1, engines=[builders.an_engine(members=[builders.a_member(requests=TOO_MUCH)])]),
        want=[],
        reason="NoMatchingHardware",
    ),
    "10 where greed fails, other pools are tried": Case(
        fleet=[cluster("alpha", pool("big", 1, H100), pool("small", 1, L4))],
        ask=two_engines(),
        want=["alpha0"],
        pools={"alpha0": ["small", "big"]},
    ),
    "10b greed suffices": Case(
        fleet=[cluster("alpha", pool("small", 1, L4), pool("big", 1, H100))],
        ask=two_engines(),
        want=["alpha0"],
        pools={"alpha0": ["small", "big"]},
    ),
    "11 a drain with nowhere to go": Case(
        fleet=[cluster("alpha", 1, taints=DRAIN), cluster("bravo", 1)],
        ask=D2,
        there=[placed(D2, "alpha0"), placed(D2, "bravo0")],
        want=["bravo0"],
        reason="PartiallyScheduled",
    ),
    "11b a drain with room elsewhere": Case(
        fleet=[cluster("alpha", 1, taints=DRAIN), cluster("bravo", 2)],
        ask=D2,
        there=[placed(D2, "alpha0"), placed(D2, "bravo0")],
        want=["bravo0", "bravo1"],
    ),
    "11c pinned through the drain": Case(
        fleet=[cluster("alpha", 1, taints=DRAIN), cluster("bravo", 2)],
        ask=deployment(2, tolerations=TOLERATES),
        there=[placed(D2, "alpha0"), placed(D2, "bravo0")],
        want=["alpha0", "bravo0"],
    ),
    "11d a toleration of the other effect": Case(
        fleet=[cluster("alpha", 1, taints=DRAIN), cluster("bravo", 1)],
        ask=deployment(2, tolerations=TOLERATES_LESS),
        there=[placed(D2, "alpha0"), placed(D2, "bravo0")],
        want=["bravo0"],
        reason="PartiallyScheduled",
    ),
    "12 a raised request evicts, and the better pool is full": Case(
        fleet=[cluster("alpha", pool("l4", 2, L4), pool("l40s", 2, L40S))],
        ask=RAISED,
        others=[X],
        there=[placed(BEFORE, "alpha0@l4"), placed(BEFORE, "alpha1@l40s", [L40S]), placed(X, "alpha0@l40s", [L40S])],
        want=["alpha1"],
        reason="PartiallyScheduled",
        pools={"alpha1": ["l40s"]},
    ),
    "12b a raised request moves to the better pool in place": Case(
        fleet=[cluster("alpha", pool("l4", 2, L4), pool("l40s", 3, L40S))],
        ask=RAISED,
        others=[X],
        there=[placed(BEFORE, "alpha0@l4"), placed(BEFORE, "alpha1@l40s", [L40S]), placed(X, "alpha0@l40s", [L40S])],
        want=["alpha0", "alpha1"],
        pools={"alpha0": ["l40s"], "alpha1": ["l40s"]},
    ),
    "13 a degraded cluster keeps its replica": Case(
        fleet=[cluster("alpha", 2, ready=False, gateway_address=None), cluster("bravo", 1)],
        ask=D2,
        there=[placed(D2, "alpha0")],
        want=["alpha0", "bravo0"],
    ),
    "14 others are charged, their unclaiming leaders are not": Case(
        fleet=[cluster("alpha", 2)],
        ask=deployment(1),
        others=[deployment(1, "x"), SMALL_GANG],
        there=[placed(deployment(1, "x"), "alpha0"), placed(SMALL_GANG, "alpha0")],
        want=[],
        reason="InsufficientCapacity",
    ),
    "14b a pin to a deleted pool is charged nothing": Case(
        fleet=[cluster("alpha", 3)],
        ask=deployment(1),
        others=[deployment(1, "x"), SMALL_GANG, deployment(1, "z")],
        there=[
            placed(deployment(1, "x"), "alpha0"),
            placed(SMALL_GANG, "alpha0"),
            placed(deployment(1, "z"), "alpha0@old"),
        ],
        want=["alpha0"],
    ),
    "15 without the cache, nothing new": Case(
        fleet=[cluster("alpha", 3)],
        ask=deployment(3, cache="weights"),
        there=[placed(D3, "alpha0")],
        want=["alpha0"],
        reason="PartiallyScheduled",
    ),
    "16 growth is not checked": Case(
        fleet=[cluster("alpha", 2)],
        ask=GROWN,
        there=[placed(GROWN, "alpha0", nodes=1)],
        want=["alpha0"],
        reason="Overcommitted",
    ),
    "17 no nodes are no nodes": Case(
        fleet=[cluster("alpha", 0)], ask=deployment(1), want=[], reason="InsufficientCapacity"
    ),
    "18 of one identity, the lower name counts": Case(
        fleet=[cluster("alpha", pool("a", 2), pool("b", 2))],
        ask=D2,
        there=[placed(D2, "alpha0@b", name="d-zz"), placed(D2, "alpha0@a", name="d-aa")],
        want=["alpha0", "alpha1"],
        pools={"alpha0": ["a"], "alpha1": ["a"]},
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_example(case: Case) -> None:
    plan = decide(case.fleet, case.ask, *case.others, replicas=case.there)
    assert places(plan) == case.want
    assert plan.condition.reason == case.reason
    if case.pools is not None:
        assert pools_of(plan) == case.pools


def test_6_the_leader_claims_nothing() -> None:
    case = CASES["6 a leader that asks for nothing rides along"]
    leader, worker = decide(case.fleet, case.ask).placements[0].engines[0].members
    assert (leader.requests, leader.nodes) == ((), 1)
    assert [(claim.name, claim.device_class_name, claim.count) for claim in worker.requests] == [
        ("gpu", "gpu.nvidia.com", 8)
    ]


@pytest.mark.parametrize(("example", "claims"), [("8 who", 1), ("8b who", 0)])
def test_8_the_leader_claims_where_it_can(example: str, claims: int) -> None:
    case = next(CASES[name] for name in CASES if name.startswith(example))
    leader, _ = decide(case.fleet, case.ask).placements[0].engines[0].members
    assert len(leader.requests) == claims


def test_12b_the_entry_changes_in_place() -> None:
    case = CASES["12b a raised request moves to the better pool in place"]
    plan = decide(case.fleet, case.ask, *case.others, replicas=case.there)
    first = plan.placements[0]
    assert (first.retained, first.in_place, first.name) == (False, True, case.there[0].name)
    assert plan.dropped == ()


def test_13_the_degraded_cluster_has_no_address() -> None:
    case = CASES["13 a degraded cluster keeps its replica"]
    assert [each.gateway_address for each in decide(case.fleet, case.ask, replicas=case.there).placements] == [
        None,
        "10.0.0.98",
    ]


def test_16_the_replica_is_going_to_have_its_new_shape_and_the_pool_is_told_to_be_too_small() -> None:
    case = CASES["16 growth is not checked"]
    plan = decide(case.fleet, case.ask, replicas=case.there)
    assert [each.nodes for each in plan.placements[0].engines[0].members] == [1, 2]
    assert plan.overcommitted == (Overcommitted(cluster="alpha", pool="l4", nodes=2, taken=3),)
    assert (plan.condition.status, plan.condition.message) == (
        "True",
        "Scheduled 1 of 1 replicas; pool alpha/l4 has 2 nodes and its replicas take 3",
    )
