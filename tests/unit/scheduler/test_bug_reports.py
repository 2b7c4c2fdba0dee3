"""Placement's share of the known bug reports: the input as reported, and what is right."""

import pytest
from unit.scheduler.worlds import MEMORY, cluster, decide, deployment, device, drops, placed, places, pool, reasons

from api.classes import Device
from scheduler import CacheFootprint, match


def test_d02_a_shortfall_counts_every_reason_in_one_order() -> None:
    fleet = [
        cluster("us", pool("gpu", 1)),
        cluster("eu", pool("gpu", 1), taints=["maint:NoExecute"]),
        cluster("ap", pool("gpu", 1), ready=False),
    ]
    plans = [decide(order, deployment(3)) for order in (fleet, fleet[::-1], [fleet[1], fleet[0], fleet[2]])]
    assert [places(plan) for plan in plans] == [["us0"]] * 3
    assert {(plan.condition.status, plan.condition.reason) for plan in plans} == {("False", "PartiallyScheduled")}
    message = (
        "1 of 3 replicas scheduled: 0/3 clusters: 1 not ready, 1 too few nodes (short 1), 1 untolerated taint maint; "
        "us: pool gpu has 0 of 1 nodes free, needs 1"
    )
    assert {plan.condition.message for plan in plans} == {message}
    assert reasons(plans[0]) == {"ap": ["NotReady"], "eu": ["Tainted"], "us": ["InsufficientNodes"]}


EU, US = cluster("eu", pool("gpu", 0), labels={"region": "eu"}), cluster("us", pool("gpu", 1), labels={"region": "us"})
IN_EU = {("ml-team", "c"): CacheFootprint(clusters=None, match_labels={"region": "eu"})}


def test_d04_nothing_is_placed_outside_the_cache() -> None:
    plan = decide([EU, US], deployment(1, cache="c"), caches=IN_EU)
    assert places(plan) == []
    assert {each.cluster: each.reasons[0].message for each in plan.verdicts} == {
        "eu": "pool gpu has 0 of 0 nodes free, needs 1",
        "us": "is outside cache c's clusters: it has the label region=us, not eu",
    }


def test_d04_what_runs_stays_when_the_cache_narrows() -> None:
    document = deployment(1, cache="c")
    plan = decide([EU, US], document, replicas=[placed(document, "us0@gpu")], caches=IN_EU)
    assert (places(plan), drops(plan)) == (["us0"], {})


def test_d04_a_missing_cache_is_a_reason_of_its_own() -> None:
    plan = decide([US], deployment(1, cache="c"))
    assert (plan.condition.reason, reasons(plan)) == ("CacheNotFound", {"us": ["CacheNotFound"]})


def test_d04_a_cache_needs_storage_that_many_nodes_can_mount() -> None:
    held = {("ml-team", "c"): CacheFootprint(clusters=frozenset({"us"}))}
    fleet = [cluster("eu", pool("gpu", 1)), cluster("us", pool("gpu", 1))]
    plan = decide(fleet, deployment(2, cache="c"), caches=held)
    assert places(plan) == ["us0"]
    assert reasons(plan) == {"eu": ["OutsideCacheClusters"], "us": ["InsufficientNodes"]}


def test_d19_a_promise_is_taken_at_its_word_and_the_truth_is_not_rounded_up() -> None:
    asks = deployment(1, cel=f'{MEMORY}.compareTo(quantity("80Gi")) >= 0')
    promised, reported = device(count=8, memory="80Gi"), device(count=8, memory="81559Mi")
    assert places(decide([cluster("us", pool("gpu", 1, promised))], asks)) == ["us0"]
    refused = decide([cluster("us", pool("gpu", 1, reported))], asks)
    assert places(refused) == []
    assert refused.verdicts[0].reasons[0].message.endswith('quantity("80Gi")) >= 0 (memory is 81559Mi)')
    stays = decide([cluster("us", pool("gpu", 1, reported))], asks, replicas=[placed(asks, "us0@gpu", [promised])])
    assert (places(stays), drops(stays)) == (["us0"], {})


THIRD = Device.model_validate(
    {"name": "gpu", "driver": "gpu.nvidia.com", "claim": "Synthetic", "attributes": {"index": {"int": 3}}}
)
INDEX = 'device.attributes["gpu.nvidia.com"].index'


@pytest.mark.parametrize(
    ("expression", "matched"),
    [
        (f"{INDEX} >= 2.0", True),
        (f"2.0 <= {INDEX}", True),
        (f"{INDEX} >= 2u", True),
        (f"2u <= {INDEX}", True),
        (f"{INDEX} < 3.5", True),
        (f"3.5 > {INDEX}", True),
        (f"{INDEX} == 3u", True),
        (f"3u == {INDEX}", True),
        (f"{INDEX} > 3.0", False),
        (f"3.0 < {INDEX}", False),
        (f"{INDEX} != 3u", False),
        (f"3u != {INDEX}", False),
    ],
)
def test_d23_numbers_of_all_kinds_compare_in_either_order(expression: str, matched: bool) -> None:
    assert match(expression, THIRD).matched is matched
