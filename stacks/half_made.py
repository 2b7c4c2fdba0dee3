"""Pools that a cloud has begun to make and failed at: they are in the state, and nobody may count on their nodes.

Where a wait for a pool ends in an error, as it does when a cloud finds no machines, its provider notes the pool with
that error. Its id is known then, so the program takes it for made.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

Plain = Mapping[str, Any]

_OF_A_POOL = re.compile(r"/(?:nodegroup|nodepool|node-pool)-(?P<pool>.+)$")
"""How clouds' modules name the resource that is a pool (`components.clouds`)."""


def without_half_made_pools(outputs: Plain, resources: Iterable[Plain]) -> Plain:
    """Outputs of a stack in which pools that are half made are not told as provisioned; the same where none is.

    `resources` are those of the stack's state, as Pulumi exports it.
    """
    unready = {match["pool"] for each in resources if each.get("initErrors") and (match := _of_a_pool(each))}
    if not unready or not isinstance(outputs.get("pools"), list):
        return outputs
    pools = [{**pool, "provisioned": False} if pool.get("name") in unready else pool for pool in outputs["pools"]]
    return {**outputs, "pools": pools}


def _of_a_pool(resource: Plain) -> re.Match[str] | None:
    return _OF_A_POOL.search(str(resource["urn"]).rpartition("::")[2])
