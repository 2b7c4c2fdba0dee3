"""State in a bucket: two machines share it, each finds what the other left, and nothing is kept beside the fleet."""

import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
from builders import a_fleet
from clouds.rig import ACCOUNT, DOOR, Clouds, stand_in
from moto.server import ThreadedMotoServer
from sites import a_cloud_class, a_cloud_cluster
from states import documents_of

from api.documents import FleetDocuments
from api.names import StackName
from stacks.engine import Engine
from stacks.environment import environment_of
from stacks.teardown import destroy

pytestmark = pytest.mark.engine

STACK = StackName("prod", "cluster", "us")


@pytest.fixture
def bucket() -> Iterator[str]:
    """The URL of an empty bucket, as `PULUMI_BACKEND_URL` has it."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    urllib.request.urlopen(urllib.request.Request(f"http://{host}:{port}/states", method="PUT"), timeout=30).close()
    options = {
        "endpoint": f"http://{host}:{port}",
        "region": "us-east-1",
        "s3ForcePathStyle": "true",
        "disableSSL": "true",
    }
    yield f"s3://states?{urlencode(options)}"
    server.stop()


def documents() -> FleetDocuments:
    fleet = a_fleet("prod", gateway={"kubeconfigSecretRef": {"name": "hub"}})
    return documents_of(fleet, DOOR, a_cloud_class("Vultr"), a_cloud_cluster("Vultr"))


def test_two_machines_work_on_the_state_of_one_fleet(
    bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clouds = Clouds(tmp_path / "clouds", ["vultr"])
    stand_in(clouds, monkeypatch)
    for name, value in ACCOUNT.items():
        monkeypatch.setenv(name, value)
    outer = {"PULUMI_BACKEND_URL": bucket, "PULUMI_CONFIG_PASSPHRASE": "shared", **ACCOUNT}

    def machine(name: str) -> Engine:
        (tmp_path / name).mkdir(exist_ok=True)
        return Engine(environment_of(tmp_path / name, outer), documents())

    one = machine("one")
    assert one.up(STACK, refresh=False).ok
    other = machine("other")
    assert STACK in other.stacks()
    again = other.up(STACK, refresh=False)
    assert again.ok
    assert set(again.changes) <= {"same"}
    assert [entry["name"] for entry in clouds.held("vultr").values()] == [
        "cluster-us/cluster",
        "cluster-us/node-pool-gpu",
    ]
    (operation,) = destroy(other, "prod", 1, lambda _: None, lambda _: None)
    assert operation.error is None
    assert clouds.held("vultr") == {}
    assert one.stacks() == {}
