"""How many nodes a pool on a cloud is told to have, and when that is its autoscaler's to say."""

import pytest

from api.recipes import Accelerator, EKSNodes
from components.clouds.site import CloudPool

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
