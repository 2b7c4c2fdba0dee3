"""Pools that come, grow, change their machines and go, on the real engine; the rest of the cluster is left alone."""

from pathlib import Path

import pytest
from builders import a_fleet
from clouds.rig import DOOR, Rig
from pulumi import automation
from sites import Plain, a_cloud_class, a_cloud_cluster, a_cloud_pool
from states import documents_of

from api.documents import FleetDocuments

pytestmark = pytest.mark.engine

FLEET = a_fleet("prod", gateway={"kubeconfigSecretRef": {"name": "hub"}})


def documents(*pools: Plain, plan: str = "vcg-l40s-16c-180g-48vram", region: str = "ewr") -> FleetDocuments:
    cluster = a_cloud_cluster("Vultr", pools=pools, region=region)
    return documents_of(FLEET, DOOR, a_cloud_class("Vultr", plan=plan), cluster)


def test_pools_change_in_place_or_are_made_anew(tmp_path: Path) -> None:
    one, more, grown = (
        a_cloud_pool("Vultr", *args, **fields) for args, fields in (((), {}), (("more",), {}), ((), {"nodes": 3}))
    )
    rig = Rig(tmp_path, documents(one))
    assert rig.up() == {"create": 5}
    steps = [
        (documents(one, more), {"create": 1, "same": 5}),
        (documents(grown, more), {"update": 1, "same": 5}),
        (documents(grown), {"delete": 1, "same": 5}),
        (documents(grown, plan="vcg-a100-12c-120g-80vram"), {"replace": 1, "same": 4}),
    ]
    for found, changes in steps:
        rig.documents = found
        assert rig.up() == changes
    (pool,) = [held["inputs"] for held in rig.held("vultr").values() if "nodeQuantity" in held["inputs"]]
    assert (pool["nodeQuantity"], pool["plan"]) == (3, "vcg-a100-12c-120g-80vram")
    assert rig.journal("delete") == ["cluster-us/node-pool-more", "cluster-us/node-pool-gpu"]


def test_another_region_is_refused(tmp_path: Path) -> None:
    rig = Rig(tmp_path, documents(a_cloud_pool("Vultr")))
    rig.up()
    before = rig.held("vultr")
    rig.documents = documents(a_cloud_pool("Vultr"), region="ams")
    with pytest.raises(automation.CommandError, match="region"):
        rig.up()
    assert rig.held("vultr") == before
