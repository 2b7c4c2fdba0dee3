"""What is said of pools that a cloud could not give, and when that is all that went wrong with a cluster."""

from typing import Any

import pytest
from states import cluster_outputs, pool_facts

from api.names import StackName
from programs.outputs import UNKNOWN, ClusterOutputs
from stacks.operation import Operation, OperationFailed
from stacks.shortage import PoolNotGiven, is_all_but_pools, told_by_pool

SAID = ("cluster-us/nodegroup-fast: no capacity", "cluster-us/nodegroup-faster: quota is 0", "update failed")


def outputs(*missing: str, **fields: Any) -> ClusterOutputs:
    pools = [pool_facts(name) for name in ("gpu", "fast", "faster")]
    made = [pool.model_copy(update={"provisioned": UNKNOWN}) if pool.name in missing else pool for pool in pools]
    return cluster_outputs(pools=made, **fields)


def failed(*resources: str, messages: tuple[str, ...] = SAID) -> Operation:
    stack = StackName("prod", "cluster", "us")
    return Operation(stack=stack, action="up", error=OperationFailed("no"), failed=resources, messages=messages)


def test_each_pool_is_named_with_what_the_cloud_said_of_it() -> None:
    told = told_by_pool(failed("cluster-us/nodegroup-fast", "cluster-us/nodegroup-faster"), outputs("fast", "faster"))
    assert isinstance(told.error, PoolNotGiven)
    assert told.error.message == "pool fast: no capacity; pool faster: quota is 0"
    assert (told.error.where, told.messages) == ("InferenceCluster us", ())


def test_a_pool_whose_template_failed_is_named_too() -> None:
    told = told_by_pool(failed("cluster-us/gpu-cluster-fabric-2", messages=()), outputs("fast"))
    assert told.error
    assert told.error.message == "pool fast: what it needs could not be made"


@pytest.mark.parametrize(
    ("operation", "found"),
    {
        "the cluster itself": (failed("cluster-us/cluster"), outputs("fast", reachable=False)),
        "something else": (failed("cluster-us/vpc"), outputs()),
        "before any resource": (failed(), outputs("fast")),
        "nothing is known": (failed("cluster-us/nodegroup-fast"), None),
    }.values(),
    ids=str,
)
def test_another_failure_stays_what_it_is(operation: Operation, found: ClusterOutputs | None) -> None:
    assert not is_all_but_pools(operation, found)
    assert told_by_pool(operation, found) is operation


def test_what_went_well_stays_what_it_is() -> None:
    operation = Operation(stack=StackName("prod", "cluster", "us"), action="up")
    assert told_by_pool(operation, outputs()) is operation
