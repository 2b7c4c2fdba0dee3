"""Hints of classes about what a node costs, added up for a fleet before and after."""

from states import cluster_outputs, pool_facts

from programs.outputs import ClusterOutputs
from stacks.costs import Cost, Costs, costs_of


def cluster(name: str, *pools: tuple[int, float | None]) -> ClusterOutputs:
    facts = [
        pool_facts(f"p{index}", nodes=nodes).model_copy(update={"hourly_cost": cost})
        for index, (nodes, cost) in enumerate(pools)
    ]
    return cluster_outputs(name, pools=facts)


def test_nodes_are_counted_at_the_price_of_their_class() -> None:
    before = {"us": cluster("us", (2, 12.5), (3, None))}
    after = {"us": cluster("us", (3, 12.5)), "eu": cluster("eu", (1, 0.1), (1, 0.2))}
    costs = costs_of(before, after)
    assert costs.clusters == (
        Cost(cluster="eu", before=None, after=0.3),
        Cost(cluster="us", before=25.0, after=37.5),
    )
    assert costs.plain() == {
        "before": 25.0,
        "after": 37.8,
        "clusters": {"eu": {"before": None, "after": 0.3}, "us": {"before": 25.0, "after": 37.5}},
    }


def test_a_cluster_that_goes_costs_nothing_afterwards() -> None:
    costs = costs_of({"us": cluster("us", (2, 1.0))}, {})
    assert (costs.before, costs.after) == (2.0, 0.0)


def test_without_prices_there_is_nothing_to_tell() -> None:
    assert costs_of({"us": cluster("us", (2, None))}, {"us": cluster("us", (2, None))}) == Costs()
    assert Costs().plain() is None
