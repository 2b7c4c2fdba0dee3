"""Clusters on clouds are protected: nothing but their own removal, which is confirmed or named, takes them away."""

from collections.abc import Callable
from pathlib import Path

import pytest
from builders import a_fleet
from clouds.rig import DOOR, Clouds, Rig, engine_of
from pulumi import automation
from sites import a_cloud_class, a_cloud_cluster
from states import documents_of

from api.documents import FleetDocuments
from api.names import StackName
from stacks.engine import Engine
from stacks.operation import Operation
from stacks.removal import destroy_cluster
from stacks.teardown import destroy

pytestmark = pytest.mark.engine

STACK = StackName("prod", "cluster", "us")


def documents() -> FleetDocuments:
    fleet = a_fleet("prod", gateway={"kubeconfigSecretRef": {"name": "hub"}})
    return documents_of(fleet, DOOR, a_cloud_class("Vultr"), a_cloud_cluster("Vultr"))


def by_destroy(engine: Engine) -> list[Operation]:
    return destroy(engine, "prod", 1, lambda _: None, lambda _: None)


def by_name(engine: Engine) -> list[Operation]:
    return destroy_cluster(engine, "prod", "us", None, lambda _: None)[-1:]


@pytest.mark.parametrize("removed", [by_destroy, by_name])
def test_a_protected_cluster_goes_when_it_is_to_go(
    removed: Callable[[Engine], list[Operation]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clouds = Clouds(tmp_path / "clouds", ["vultr"])
    engine = engine_of(clouds, tmp_path, documents(), monkeypatch)
    assert engine.up(STACK, refresh=False).ok
    assert [entry["name"] for entry in clouds.held("vultr").values()] == [
        "cluster-us/cluster",
        "cluster-us/node-pool-gpu",
    ]
    (operation,) = removed(engine)
    assert (operation.stack, operation.error) == (STACK, None)
    assert clouds.held("vultr") == {}
    assert engine.stacks() == {}


def test_plain_pulumi_takes_no_protected_cluster_away(tmp_path: Path) -> None:
    rig = Rig(tmp_path, documents())
    rig.up()
    with pytest.raises(automation.CommandError, match="protected"):
        rig.stack.destroy()
    assert [entry["name"] for entry in rig.held("vultr").values()] == ["cluster-us/cluster"]
