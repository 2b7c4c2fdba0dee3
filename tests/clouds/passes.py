"""Whole passes of the command line over clusters on Vultr: real engine, doubles of every provider, no cluster."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from builders import a_deployment, a_fleet, a_member, a_request, a_service, an_engine
from clouds.fake_api import FakeApi, fake_api
from clouds.rig import DOOR, Clouds, stand_in
from engine.fleets import EXAMPLE, Done
from ruamel.yaml import YAML
from sites import Plain, a_cloud_class, a_cloud_cluster, a_cloud_pool

import cli
from api.base import Kind
from stacks.converge import Options


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


@contextmanager
def a_fleet_on_vultr(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Fleet]:
    """A fleet without documents yet, all of whose clusters one API server stands for."""
    for name in ("MODELPLANE_FLEET", "PULUMI_BACKEND_URL", "PULUMI_CONFIG_PASSPHRASE", "PULUMI_CONFIG_PASSPHRASE_FILE"):
        monkeypatch.delenv(name, raising=False)

    def main(directory: Path, command: str, *arguments: str) -> Done:
        capsys.readouterr()
        code = cli.main([command, "-f", str(directory), *arguments])
        seen = capsys.readouterr()
        return Done(code, seen.out, seen.err)

    monkeypatch.setattr("stacks.converge.Options", partial(Options, patience=1.0, drain=0))
    with fake_api({"gpu": 2, "more": 0}) as api:
        clouds = Clouds(folder / "clouds")
        kubeconfig = folder / "kubeconfig"
        kubeconfig.write_text(api.kubeconfig())
        (folder / "kubeconfigs.json").write_text(json.dumps({"vultr": str(kubeconfig)}))
        clouds.variables["DOUBLE_KUBECONFIGS"] = str(folder / "kubeconfigs.json")
        stand_in(clouds, monkeypatch)
        yield Fleet(folder / "fleet", clouds, api, main)


def us(*pools: Plain, **block: Any) -> Kind:
    return a_cloud_cluster("Vultr", "us", pools=pools or [a_cloud_pool("Vultr", nodes=2)], **block)


def eu(nodes: int = 2) -> Kind:
    return a_cloud_cluster("Vultr", "eu", pools=[a_cloud_pool("Vultr", nodes=nodes)], region="ams")


def placed(report: Plain) -> tuple[int, int, int]:
    """Replicas wanted, placed and ready."""
    (state,) = report["deployments"].values()
    return state["wanted"], state["placed"], state["ready"]
