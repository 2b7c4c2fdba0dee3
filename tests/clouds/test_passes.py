"""Whole passes of the command line over clusters on a cloud: real engine, doubles of every provider, no cluster.

What a pass meets on clouds: a cluster that takes long, a pool that is not given, pools that go or are made anew.
"""

import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from clouds.passes import Fleet, a_fleet_on_vultr, eu, placed, us
from engine.runs import wait_until
from sites import a_cloud_pool

pytestmark = [pytest.mark.engine, pytest.mark.soak, pytest.mark.timeout(1800)]

FULL = {"op": "create", "name": "node-pool-more", "code": "RESOURCE_EXHAUSTED", "message": "no such GPU is free"}
LARGER = "vcg-a100-12c-120g-80vram"


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Fleet]:
    with a_fleet_on_vultr(tmp_path, monkeypatch, capsys) as found:
        yield found


def test_the_fleet_converges_while_a_cluster_is_being_made(fleet: Fleet, tmp_path: Path) -> None:
    fleet.write(us(), replicas=1)
    assert fleet.up()[0] == 0
    released = tmp_path / "released"
    fleet.clouds.go_wrong({"op": "create", "name": "cluster-eu/cluster", "until": str(released)})
    fleet.write(us(), eu(), replicas=4)
    seen: list[list[str]] = []

    def release() -> None:
        try:
            wait_until(lambda: "cluster-eu/cluster" in fleet.clouds.journal("hold"), 300, "the other is being made")
            wait_until(lambda: len(fleet.engines()) == 2, 600, "both nodes that are there are used")
            seen.append(fleet.clouds.journal("create"))
        finally:
            released.touch()

    watcher = threading.Thread(target=release)
    watcher.start()
    code, report, said = fleet.up()
    watcher.join()
    assert code == 0, said
    assert seen
    assert "cluster-eu/cluster" not in seen[0]
    assert placed(report) == (4, 4, 4)
    assert len(fleet.engines()) == 4


def test_a_pool_that_is_not_given_is_told_and_asked_for_again(fleet: Fleet) -> None:
    fleet.write(us(), replicas=2)
    assert fleet.up()[0] == 0
    fleet.clouds.go_wrong(FULL)
    both = [a_cloud_pool("Vultr", nodes=2), a_cloud_pool("Vultr", "more", nodes=1)]
    fleet.write(us(*both), eu(nodes=1), replicas=4)
    code, report, said = fleet.up()
    assert code == 21, said
    (error,) = report["errors"]
    assert (error["code"], error["where"]) == ("MP342", "InferenceCluster us")
    assert error["message"].startswith("pool more: ")
    assert "no such GPU is free" in error["message"]
    assert placed(report) == (4, 3, 3)  # its node counts for nothing, and the other cluster is made and used
    fleet.api.pools["more"] = 1
    code, report, said = fleet.up()
    assert code == 0, said
    assert report["stacks"]["prod.cluster.us"]["changes"] == {"create": 1}
    assert placed(report) == (4, 4, 4)


def test_pools_are_resized_in_place_emptied_before_they_go_and_guarded(fleet: Fleet, tmp_path: Path) -> None:
    fleet.write(us(*(a_cloud_pool("Vultr", name, nodes=1) for name in ("gpu", "more"))), eu(), replicas=4)
    assert fleet.up()[0] == 0
    grown = a_cloud_pool("Vultr", nodes=2)
    fleet.write(us(grown), eu(), replicas=4)
    code, report, said = fleet.up()
    assert code == 0, said
    assert report["stacks"]["prod.cluster.us"]["changes"] == {"update": 1, "delete": 1}
    assert placed(report) == (4, 4, 4)
    done = fleet.clouds.journal("delete")
    moved = [name for name in done if "mock" in name]
    assert moved
    assert done[-1] == "cluster-us/node-pool-more", done

    fleet.write(us(grown), eu(), replicas=4, plan=LARGER)
    before = fleet.engines()
    code, _, said = fleet.up()
    assert code == 26, said
    assert fleet.engines() == before
    assert LARGER not in {fleet.plan_of(name, "gpu") for name in ("us", "eu")}
    digest = re.search(r"--allow ([0-9a-f]{10})", said)
    assert digest, said
    preview = fleet.run("preview", "-o", "json", "--allow", digest[1])
    assert preview.code in {0, 20}, preview.err
    planned = json.loads(preview.out)["stacks"]
    assert [planned[f"prod.cluster.{name}"]["changes"].get("replace") for name in ("us", "eu")] == [1, 1]
    code, report, said = fleet.up("--allow", digest[1])
    assert code == 0, said
    assert {fleet.plan_of(name, "gpu") for name in ("us", "eu")} == {LARGER}
    assert placed(report) == (4, 4, 4)

    held = fleet.clouds.held("vultr")
    fleet.write(us(grown, region="sea"), eu(), replicas=4, plan=LARGER)
    code, _, said = fleet.up()
    assert code == 21, said
    assert "cannot be changed from ewr to sea" in said
    assert fleet.clouds.held("vultr") == held
