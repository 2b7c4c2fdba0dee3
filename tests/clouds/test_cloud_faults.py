"""What clouds answer when all is well with the documents: too many calls, too long a wait, no permission.

Each is told with the cloud's words and the cluster it is about, takes nothing else along, and the next pass goes on.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from builders import a_fleet
from clouds.passes import Fleet, a_fleet_on_vultr, eu, placed, us
from clouds.rig import DOOR, Rig
from pulumi import automation
from sites import a_cloud_class, a_cloud_cluster, a_cloud_pool
from states import documents_of

pytestmark = [pytest.mark.engine, pytest.mark.soak, pytest.mark.timeout(1800)]

FAULTS = {
    "throttled": {"code": "RESOURCE_EXHAUSTED", "message": "Throttling: Rate exceeded"},
    "too slow": {"code": "DEADLINE_EXCEEDED", "message": "timeout while waiting for state to become active"},
    "not allowed": {"code": "PERMISSION_DENIED", "message": "AccessDenied: not authorized to perform this"},
}


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Fleet]:
    with a_fleet_on_vultr(tmp_path, monkeypatch, capsys) as found:
        yield found


@pytest.mark.parametrize("fault", FAULTS)
def test_a_pass_tells_what_clouds_refuse_loses_nothing_and_the_next_one_goes_on(fault: str, fleet: Fleet) -> None:
    fleet.write(us(), replicas=2)
    code, _, said = fleet.up()
    assert code == 0, said
    there, engines = fleet.clouds.held("vultr"), fleet.engines()
    both = [{"op": "create", "name": name, **FAULTS[fault]} for name in ("cluster-eu/cluster", "node-pool-more")]
    fleet.clouds.go_wrong(*both)
    fleet.write(us(a_cloud_pool("Vultr", nodes=2), a_cloud_pool("Vultr", "more", nodes=1)), eu(), replicas=4)
    code, report, said = fleet.up()
    assert code == 21, said
    words = FAULTS[fault]["message"]
    errors = {error["where"]: (error["code"], words in error["message"]) for error in report["errors"]}
    assert errors == {"InferenceCluster us": ("MP342", True), "stack prod.cluster.eu": ("MP340", True)}
    assert fleet.clouds.held("vultr") == there
    assert fleet.engines() == engines
    assert placed(report) == (4, 2, 2)
    fleet.api.pools["more"] = 1
    code, report, said = fleet.up()
    assert code == 0, said
    made = [report["stacks"][f"prod.cluster.{cluster}"]["changes"]["create"] for cluster in ("us", "eu")]
    assert made[0] == 1
    assert {"cluster-eu/cluster", "cluster-us/node-pool-more"} <= {
        entry["name"] for entry in fleet.clouds.held("vultr").values()
    }
    assert placed(report) == (4, 4, 4)


def test_a_pool_that_is_begun_and_not_ready_in_time_is_not_counted_on(fleet: Fleet) -> None:
    fleet.write(us(), replicas=2)
    assert fleet.up()[0] == 0
    fleet.clouds.go_wrong({"op": "create", "name": "node-pool-more", "partial": True, **FAULTS["too slow"]})
    both = us(a_cloud_pool("Vultr", nodes=2), a_cloud_pool("Vultr", "more", nodes=1))
    fleet.write(both, replicas=3)
    code, report, said = fleet.up()
    assert code == 21, said
    (error,) = report["errors"]
    assert (error["code"], error["where"]) == ("MP342", "InferenceCluster us")
    assert error["message"].startswith("pool more: ")
    assert placed(report) == (3, 2, 2)
    begun = fleet.clouds.held("vultr").keys()
    fleet.api.pools["more"] = 1
    code, report, said = fleet.up()
    assert code == 0, said
    assert fleet.clouds.held("vultr").keys() == begun, "the pool that was begun is the one in use"
    assert placed(report) == (3, 3, 3)


@pytest.mark.parametrize(
    ("fault", "name"),
    [
        ("throttled", "cluster-us/vpc"),
        ("too slow", "cluster-us/nodegroup-gpu"),
        ("not allowed", "cluster-us/cluster"),
    ],
)
def test_the_next_update_makes_what_a_refused_one_left_out(fault: str, name: str, tmp_path: Path) -> None:
    rig = a_rig(tmp_path, "EKS")
    rig.go_wrong({"op": "create", "name": name, **FAULTS[fault]})
    with pytest.raises(automation.CommandError, match=FAULTS[fault]["message"]):
        rig.up()
    before = rig.held()
    assert name not in {entry["name"] for entry in before.values()}
    rig.up()
    after = rig.held()
    assert before.items() <= after.items()
    assert name in {entry["name"] for entry in after.values()}
    assert set(rig.up()) == {"same"}


@pytest.mark.parametrize("name", ["cluster-us/cluster", "cluster-us/node-pool-gpu"])
def test_what_is_made_after_the_wait_for_it_is_over_is_kept_and_made_no_second_time(name: str, tmp_path: Path) -> None:
    rig = a_rig(tmp_path, "Vultr")
    rig.go_wrong({"op": "create", "name": name, "partial": True, **FAULTS["too slow"]})
    with pytest.raises(automation.CommandError, match="timeout while waiting"):
        rig.up()
    begun = [key for key, entry in rig.held("vultr").items() if entry["name"] == name]
    assert len(begun) == 1
    rig.up()
    assert [key for key, entry in rig.held("vultr").items() if entry["name"] == name] == begun
    assert set(rig.up()) == {"same"}


def a_rig(folder: Path, source: str) -> Rig:
    """A cluster with one pool, on the real engine."""
    unprotected: Any = {"protectClusters": False}
    fleet = a_fleet("prod", gateway={"kubeconfigSecretRef": {"name": "hub"}}, deletion=unprotected)
    pools = [a_cloud_pool(source, nodes=2)]
    return Rig(folder, documents_of(fleet, DOOR, a_cloud_class(source), a_cloud_cluster(source, pools=pools)))
