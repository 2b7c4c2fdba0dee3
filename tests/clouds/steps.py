"""Upstream's platform files of the first steps, from nothing to nothing against a cloud's double."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

from builders import a_fleet
from clouds.rig import DOOR, Rig
from sites import credentials

from api.documents import FleetDocuments
from api.loader import load

STEPS = Path(__file__).parents[3] / "shared" / "manifests" / "getting-started"
SOURCES = {"eks": "EKS", "gke": "GKE", "aks": "AKS"}
STORES = {"eks": "aws", "gke": "gcp", "aks": "azure-native"}

Made = tuple[dict[str, int], list[Any], list[Any]]


def documents(folder: Path, cloud: str, file: str) -> FleetDocuments:
    """The file, and what a fleet needs beside it."""
    fleet = a_fleet(
        "prod",
        gateway={"kubeconfigSecretRef": {"name": "hub"}},
        servingStack={"inferencePools": False},
        credentials=credentials(SOURCES[cloud]),
    )
    folder.mkdir()
    for kind in (fleet, DOOR):
        (folder / f"{kind.kind}.json").write_text(json.dumps(kind.plain()))
    shutil.copy(STEPS / cloud / file, folder)
    return load(folder)


def settings(held: dict[str, Any]) -> list[tuple[str, str, Any]]:
    """What a cloud holds, in the order of its names, without what is different in every run."""
    plain = json.loads(re.sub(r"-id-[0-9a-f]{8}", "", json.dumps(list(held.values()))))
    return sorted(((each["type"], each["name"], each["inputs"]) for each in plain), key=lambda each: each[:2])


def from_nothing_to_nothing(cloud: str, file: str, folder: Path) -> dict[str, Made]:
    """Preview, bring up, bring up again and take down each cluster of the file, with what each must hold to.

    Gives the changes of the first up and what the cloud and Kubernetes then held, by cluster.
    """
    found = documents(folder / "fleet", cloud, file)
    return {cluster: _made_and_gone(cloud, found, folder / cluster, cluster) for cluster in sorted(found.clusters)}


def _made_and_gone(cloud: str, found: FleetDocuments, folder: Path, cluster: str) -> Made:
    folder.mkdir()
    rig = Rig(folder, found, cluster)
    planned = rig.preview()
    assert rig.held(STORES[cloud]) == {}
    made = rig.up()
    assert made == planned
    held = settings(rig.held(STORES[cloud])), settings(rig.held("kubernetes"))
    assert rig.up() == {"same": made["create"]}
    rig.unprotect()
    rig.stack.destroy()
    assert rig.held(STORES[cloud]) == {}
    gone = rig.journal("delete")
    pools = [name for name in gone if "nodegroup-" in name or "nodepool-" in name]
    assert pools
    assert max(map(gone.index, pools)) < gone.index(f"cluster-{cluster}/cluster")
    return made, *held
