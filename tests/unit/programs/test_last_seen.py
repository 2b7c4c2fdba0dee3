"""What is told of a cluster that does not answer, or is not asked: what it showed last, for pools that are declared."""

from typing import Any

from states import cluster_outputs, pool_facts

from programs.outputs import ClusterOutputs, NodeCounts, ObservedDevices, PoolFacts
from programs.probe import Answer, as_last_seen, merge

SEEN = ObservedDevices(driver="gpu.nvidia.com", count=8, nodes=1)
NOW, EARLIER = "2026-08-02T00:00:00Z", "2026-08-01T00:00:00Z"


def shown(name: str = "gpu", *, configured: int = 1) -> PoolFacts:
    counts = NodeCounts(configured=configured, present=1)
    return pool_facts(name).model_copy(update={"nodes": counts, "observed": (SEEN,)})


def last(**fields: Any) -> ClusterOutputs:
    plain: dict[str, Any] = {"kube_system_uid": "uid", "foreign_namespaces": ("ml-team",), "pools": [shown()]}
    return cluster_outputs("us", **(plain | fields))


DECLARED = cluster_outputs("us", pools=[pool_facts(nodes=4), pool_facts("new")])


def test_what_was_seen_is_kept_and_what_is_declared_counts() -> None:
    found = as_last_seen(DECLARED, last(reachable=False, reason="Unreachable: x", unreachable_since=EARLIER))
    assert found == DECLARED.model_copy(
        update={
            "pools": (shown(configured=4), pool_facts("new")),
            "reachable": False,
            "reason": "Unreachable: x",
            "unreachable_since": EARLIER,
            "kube_system_uid": "uid",
            "foreign_namespaces": ("ml-team",),
        }
    )


def test_a_cluster_that_was_never_asked_is_as_declared() -> None:
    assert as_last_seen(DECLARED, None) == DECLARED


def test_one_that_stops_answering_says_since_when_and_keeps_that() -> None:
    silent = merge(Answer(reachable=False, reason="Unreachable: ConnectError"), last(), NOW)(DECLARED)
    assert (silent.reachable, silent.reason, silent.unreachable_since) == (False, "Unreachable: ConnectError", NOW)
    assert (silent.kube_system_uid, silent.pools[0].observed) == ("uid", (SEEN,))
    before = last(reachable=False, unreachable_since=EARLIER)
    assert merge(Answer(reachable=False), before, NOW)(DECLARED).unreachable_since == EARLIER
    assert merge(Answer(reachable=False), None, NOW)(DECLARED).unreachable_since == NOW


def test_an_answer_takes_the_place_of_all_that_was_seen() -> None:
    answer = Answer(reachable=True, kube_system_uid="uid", nodes={"gpu": 3}, observed={"gpu": (SEEN,)})
    found = merge(answer, last(reachable=False, unreachable_since=EARLIER, pools=[shown("new")]), NOW)(DECLARED)
    assert (found.reachable, found.unreachable_since, found.foreign_namespaces) == (True, None, ())
    assert [(pool.nodes.present, pool.observed) for pool in found.pools] == [(3, (SEEN,)), (0, ())]
