"""Whole passes of the command line over clusters on a cloud: real engine, doubles of every provider, no cluster.

What a pass meets on clouds: a cluster that takes long, a pool that is not given, pools that go or are made anew.
"""

import json
import re
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from builders import a_deployment, a_fleet, a_member, a_request, a_service, an_engine
from clouds.fake_api import FakeApi, fake_api
from clouds.rig import DOOR, Clouds, stand_in
from engine.fleets import EXAMPLE, Done
from engine.runs import wait_until
from ruamel.yaml import YAML
from sites import Plain, a_cloud_class, a_cloud_cluster, a_cloud_pool

import cli
from api.base import Kind
from stacks.converge import Options

pytestmark = [pytest.mark.engine, pytest.mark.soak, pytest.mark.timeout(1800)]

FULL = {"op": "create", "name": "node-pool-more", "code": "RESOURCE_EXHAUSTED", "message": "no such GPU is free"}
LARGER = "vcg-a100-12c-120g-80vram"


class Fleet:
    """A fleet directory whose documents are written anew for each step, and the command line on it."""

    def __init__(self, folder: Path, clouds: Clouds, api: FakeApi, main: Callable[..., Done]) -> None:
        self.folder, self.clouds, self.api, self.run = folder, clouds, api, partial(main, folder)
        folder.mkdir()
        (folder / ".hub").write_text(api.kubeconfig())
        local: Plain = next(iter(YAML(typ="safe").load_all((EXAMPLE / "fleet.yaml").read_text())))["spec"]
        hub = {"namespace": "modelplane-system", "name": "hub", "keys": {"kubeconfig": {"fromFile": ".hub"}}}
        self._settings = {"gateway": local["gateway"], "secrets": [hub], "servingStack": local["servingStack"]}

    def write(self, *clusters: Kind, replicas: int, plan: str = "vcg-l40s-16c-180g-48vram") -> None:
        """The fleet's documents as they are to be."""
        member = a_member(requests=[a_request(count=1, cel='device.driver == "gpu.nvidia.com"')])
        kinds = [
            a_fleet("prod", **self._settings),
            DOOR,
            a_cloud_class("Vultr", plan=plan),
            a_deployment("mock", replicas=replicas, engines=[an_engine(members=[member])]),
            a_service("mock"),
            *clusters,
        ]
        for file in self.folder.glob("*.json"):
            file.unlink()
        for number, kind in enumerate(kinds):
            (self.folder / f"{number}.json").write_text(json.dumps(kind.plain()))

    def up(self, *arguments: str) -> tuple[int, Plain, str]:
        """One pass: its exit code, its report, and what it said."""
        done = self.run("up", "-o", "json", *arguments)
        return done.code, json.loads(done.out) if done.out else {}, done.err

    def engines(self) -> list[str]:
        """Replicas whose engines Kubernetes holds."""
        kinds = self.clouds.held("kubernetes").values()
        return sorted(each["name"] for each in kinds if each["type"] == "kubernetes:apps/v1:Deployment")

    def plan_of(self, cluster: str, pool: str) -> str:
        """The plan of a pool's machines."""
        name = f"cluster-{cluster}/node-pool-{pool}"
        (found,) = [each["inputs"] for each in self.clouds.held("vultr").values() if each["name"] == name]
        return str(found["plan"])


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Fleet]:
    for name in ("MODELPLANE_FLEET", "PULUMI_BACKEND_URL", "PULUMI_CONFIG_PASSPHRASE", "PULUMI_CONFIG_PASSPHRASE_FILE"):
        monkeypatch.delenv(name, raising=False)

    def main(folder: Path, command: str, *arguments: str) -> Done:
        capsys.readouterr()
        code = cli.main([command, "-f", str(folder), *arguments])
        seen = capsys.readouterr()
        return Done(code, seen.out, seen.err)

    monkeypatch.setattr("stacks.converge.Options", partial(Options, patience=1.0, drain=0))
    with fake_api({"gpu": 2, "more": 0}) as api:
        clouds = Clouds(tmp_path / "clouds")
        kubeconfig = tmp_path / "kubeconfig"
        kubeconfig.write_text(api.kubeconfig())
        (tmp_path / "kubeconfigs.json").write_text(json.dumps({"vultr": str(kubeconfig)}))
        clouds.variables["DOUBLE_KUBECONFIGS"] = str(tmp_path / "kubeconfigs.json")
        stand_in(clouds, monkeypatch)
        yield Fleet(tmp_path / "fleet", clouds, api, main)


def us(*pools: Plain, **block: Any) -> Kind:
    return a_cloud_cluster("Vultr", "us", pools=pools or [a_cloud_pool("Vultr", nodes=2)], **block)


def eu(nodes: int = 2) -> Kind:
    return a_cloud_cluster("Vultr", "eu", pools=[a_cloud_pool("Vultr", nodes=nodes)], region="ams")


def placed(report: Plain) -> tuple[int, int, int]:
    """Replicas wanted, placed and ready."""
    (state,) = report["deployments"].values()
    return state["wanted"], state["placed"], state["ready"]


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
