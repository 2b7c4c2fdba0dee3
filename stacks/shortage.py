"""Pools that a cloud could not give: told pool by pool, and no reason to leave the rest of their cluster alone.

What such a pool has counts for placement, and no more (`programs.outputs.PoolFacts.usable_nodes`).
"""

import re
from collections.abc import Iterable
from dataclasses import replace

from api.errors import ModelplaneError
from programs.outputs import ClusterOutputs
from stacks.operation import Operation

AGAIN = "its nodes are not counted on, and the next `up` asks for it again: have the quota raised, or name another zone"


class PoolNotGiven(ModelplaneError):
    """A cloud did not make or change a pool of GPU nodes; the cluster goes on with what is there."""

    code = "MP342"


def is_all_but_pools(operation: Operation, outputs: ClusterOutputs | None) -> bool:
    """Whether a cluster's update failed in nothing but pools: the cluster is made, and answers."""
    return bool(operation.failed and outputs is not None and outputs.reachable and not_given(outputs))


def not_given(outputs: ClusterOutputs) -> list[str]:
    """Pools that are not as they were asked for."""
    return [pool.name for pool in outputs.pools if pool.provisioned is not True]


def told_by_pool(operation: Operation, outputs: ClusterOutputs | None) -> Operation:
    """The operation with an error that names the pools, where those are all that failed."""
    if operation.ok or outputs is None or not is_all_but_pools(operation, outputs):
        return operation
    missing = not_given(outputs)
    said = "; ".join(f"pool {pool}: {_reason(pool, operation.messages)}" for pool in missing)
    error = PoolNotGiven(said, where=f"InferenceCluster {outputs.cluster}", hint=AGAIN)
    return replace(operation, error=error, messages=())


def _reason(pool: str, messages: Iterable[str]) -> str:
    """What the cloud said of a pool's own resources, else that others kept it from being made."""
    own = re.compile(rf"^\S+/[a-z-]+-{re.escape(pool)}: (.+)", re.DOTALL)
    found = [match[1].strip() for message in messages if (match := own.match(message))]
    return " ".join(dict.fromkeys(found)) or "what it needs could not be made"
