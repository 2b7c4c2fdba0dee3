"""How many nodes a pool on a cloud is told to have, and when that is its autoscaler's to say."""

import pytest
from sites import a_cloud_class, a_cloud_pool

from api.clusters import NodePool
from api.recipes import Accelerator, EKSNodes
from components.clouds.site import CloudPool, pool_of

NODES = EKSNodes(instance_type="g6.xlarge", accelerator=Accelerator(type="nvidia-l4", count=1))


def a_pool(count: int, minimum: int, maximum: int, resized_from: int | None = None) -> CloudPool:
    return CloudPool(
        name="gpu",
        nodes=NODES,
        count=count,
        minimum=minimum,
        maximum=maximum,
        is_fixed=False,
        resized_from=resized_from,
    )


@pytest.mark.parametrize(
    ("pool", "sized_here", "wanted"),
    [
        pytest.param(a_pool(2, 2, 2), True, 2, id="fixed"),
        pytest.param(a_pool(3, 3, 3, 2), True, 3, id="fixed and resized"),
        pytest.param(a_pool(2, 1, 4), False, 2, id="left to the autoscaler"),
        pytest.param(a_pool(2, 1, 8, 4), False, 4, id="new bounds around what there is"),
        pytest.param(a_pool(3, 3, 8, 1), True, 3, id="a floor above what there is"),
        pytest.param(a_pool(1, 1, 2, 4), True, 2, id="a ceiling below what there is"),
    ],
)
def test_a_size_is_said_where_bounds_leave_no_choice(pool: CloudPool, sized_here: bool, wanted: int) -> None:
    assert (pool.is_sized_here, pool.wanted) == (sized_here, wanted)


@pytest.mark.parametrize(("source", "least"), {"EKS": 0, "GKE": 0, "AKS": 0, "Nebius": 2, "Vultr": 2}.items())
def test_a_pool_that_names_a_ceiling_only_has_the_floor_of_its_cloud(source: str, least: int) -> None:
    pool = NodePool.model_validate(a_cloud_pool(source, nodes=2, maxNodeCount=4))
    found = pool_of(pool, a_cloud_class(source))
    assert (found.minimum, found.count, found.maximum) == (least, 2, 4)
