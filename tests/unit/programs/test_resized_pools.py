"""Pools whose bounds have changed since their cloud was told, with the nodes that there are of them."""

from typing import Any

from builders import a_pool
from states import pool_facts

from programs.cloud_cluster import resized
from programs.outputs import UNKNOWN, NodeCounts, PoolFacts


def facts(present: int | None = 2, *, provisioned: Any = True, **document: Any) -> PoolFacts:
    update = {
        "nodes": NodeCounts(configured=2, present=present),
        "recipe": {"pool": a_pool("gpu", nodes=2, **document), "provisioning": {}},
        "provisioned": provisioned,
    }
    return pool_facts("gpu").model_copy(update=update)


def test_bounds_that_stay_change_nothing() -> None:
    assert resized([facts(maxNodeCount=4)], [facts(maxNodeCount=4)]) == {}


def test_new_bounds_are_told_with_what_there_is() -> None:
    assert resized([facts(minNodeCount=1, maxNodeCount=4)], [facts(present=3)]) == {"gpu": 3}


def test_what_the_cloud_did_not_take_is_told_again() -> None:
    assert resized([facts()], [facts(present=1, provisioned=UNKNOWN)]) == {"gpu": 1}


def test_a_pool_that_is_new_or_was_never_counted_has_its_first_size() -> None:
    assert resized([facts()], []) == {}
    assert resized([facts(maxNodeCount=4)], [facts(present=None)]) == {}
