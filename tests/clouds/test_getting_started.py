"""The platform files of upstream's first steps, as they are: previewed, brought up, brought up again and taken down."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from builders import a_fleet
from clouds.rig import DOOR, Rig
from sites import credentials
from syrupy.assertion import SnapshotAssertion

from api.documents import FleetDocuments
from api.loader import load

pytestmark = pytest.mark.engine

STEPS = Path(__file__).parents[3] / "shared" / "manifests" / "getting-started"
SOURCES = {"eks": "EKS", "gke": "GKE", "aks": "AKS"}
STORES = {"eks": "aws", "gke": "gcp", "aks": "azure-native"}
FILES = [
    *((cloud, "platform.yaml") for cloud in SOURCES),
    *(pytest.param(cloud, "platform-scale.yaml", marks=pytest.mark.soak) for cloud in SOURCES),
]


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


@pytest.mark.skipif(not STEPS.exists(), reason="upstream's manifests are not there")
@pytest.mark.parametrize(("cloud", "file"), FILES, ids=lambda part: str(part).removesuffix(".yaml"))
def test_a_platform_file_from_nothing_to_nothing(
    cloud: str, file: str, tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    found = documents(tmp_path / "fleet", cloud, file)
    rig = Rig(tmp_path, found, sorted(found.clusters)[0])
    planned = rig.preview()
    assert rig.held(STORES[cloud]) == {}
    made = rig.up()
    assert made == planned
    assert (made, settings(rig.held(STORES[cloud])), settings(rig.held("kubernetes"))) == snapshot
    assert rig.up() == {"same": made["create"]}
    rig.unprotect()
    rig.stack.destroy()
    assert rig.held(STORES[cloud]) == {}
    gone = rig.journal("delete")
    pools = [name for name in gone if "nodegroup-" in name or "nodepool-" in name]
    assert pools
    assert max(map(gone.index, pools)) < gone.index(f"cluster-{rig.cluster}/cluster")
