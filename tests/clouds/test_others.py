"""A cluster on Google Cloud, Azure, Nebius and Vultr, from nothing to nothing left, on the real engine with doubles."""

from pathlib import Path
from typing import Any

import pytest
from builders import a_fleet
from clouds.rig import DOOR, Rig
from sites import a_cloud_class, a_cloud_cluster, a_cloud_pool, credentials
from states import documents_of

from programs.outputs import ClusterOutputs

pytestmark = pytest.mark.engine

POOLS: dict[str, dict[str, Any]] = {
    "GKE": {},
    "AKS": {"fabric": {"type": "InfiniBand"}},
    "Nebius": {"fabric": {"type": "InfiniBand", "infiniband": {"fabric": "fabric-2"}}},
    "Vultr": {},
}
STORES = {"GKE": "gcp", "AKS": "azure-native", "Nebius": "terraform-provider", "Vultr": "vultr"}
CLASSES = {"GKE": "modelplane-rwx", "AKS": "modelplane-rwx-fs", "Nebius": "modelplane-rwx-fs", "Vultr": None}


@pytest.mark.parametrize("source", POOLS)
def test_a_cluster_from_nothing_to_nothing(source: str, tmp_path: Path) -> None:
    fleet = a_fleet(
        "prod",
        gateway={"kubeconfigSecretRef": {"name": "hub"}},
        servingStack={"inferencePools": False},
        deletion={"protectClusters": False},
        credentials=credentials(source),
    )
    cluster = a_cloud_cluster(source, pools=[a_cloud_pool(source, **POOLS[source])])
    rig = Rig(tmp_path, documents_of(fleet, DOOR, a_cloud_class(source), cluster))
    planned = rig.preview()
    assert rig.held(STORES[source]) == {}
    made = rig.up()
    assert made == planned
    outputs = ClusterOutputs.model_validate(rig.outputs())
    assert (outputs.reachable, outputs.storage_class) == (False, CLASSES[source])
    assert rig.outputs().get("identity") == ({"GKE": '{"type": "service_account"}'}.get(source))
    assert rig.up() == {"same": sum(made.values())}
    rig.stack.refresh()
    assert rig.up() == {"same": sum(made.values())}
    rig.stack.destroy()
    assert rig.held(STORES[source]) == {}
