"""A fleet of one cluster of every source, brought up by the real command line on this machine.

Two simulated clusters are the ground: one is handed over and stands behind Nebius too, the other stands behind all
other clouds, whose providers are doubles. AKS and Nebius are apart because their StorageClasses have one name. The API
servers are reached as those of each cloud are: by a token for EKS, GKE and Nebius, by a certificate for AKS and Vultr.
A pool's nodes are those of its name, so pools that share a server have names of their own.
"""

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clouds.accounts import GOOGLE_TOKEN, NEBIUS_TOKEN, accounts
from clouds.door import Door
from clouds.rig import Clouds
from engine.fleets import EXAMPLE, ROOT, Done, Scratch
from engine.runs import Run, running
from ruamel.yaml import YAML
from standin_charts import StandIn

from api.versions import CLOUD_CHARTS
from local.toolbox import find

MULTICLOUD = ROOT / "examples" / "multicloud"
PACKAGES = ("aws", "gcp", "azure-native", "terraform-provider", "vultr")
UP_SECONDS = 1500
OWN, BEHIND = "own", "clouds"
TOKENS = {"k8s-aws-v1.": "EKS", GOOGLE_TOKEN: "GKE", NEBIUS_TOKEN: "Nebius"}
CLUSTER_OF = {
    "h200": "aws-east",
    "l4": "google-central",
    "h100": "azure-west",
    "fabric": "nebius-north",
    "l40s": "vultr-newark",
    "extra": "vultr-newark",
    "slow": "vultr-seattle",
}
"""Cluster of the fleet by the pool, of those that are made on clouds."""
CLASS_OF = {
    "h200": "aws-h200-8x",
    "l4": "google-l4",
    "h100": "azure-h100-8x",
    "fabric": "nebius-h100-8x",
    "l40s": "vultr-l40s",
    "extra": "vultr-l40s",
    "slow": "vultr-l40s",
}
CLUSTERS = {"aws-east", "google-central", "azure-west", "nebius-north", "vultr-newark", OWN}
BRINGS_CHARTS = "aws-east"
"""Installs what is served with on the server behind the clouds, as the cluster of its own does on the other."""
CHARTS = ("envoy-gateway", "leader-worker-set")

Plain = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Mixed:
    """The fleet, the ground it stands on, what its clouds hold, and who came in through the clouds' door."""

    fleet: Scratch
    ground: Scratch
    clouds: Clouds
    door: Door
    north: Door
    """The door of Nebius, which leads to the server of the cluster that was handed over."""
    variables: Mapping[str, str]
    folder: Path

    def run(self, *arguments: str) -> Done:
        """Run the command line to its end."""
        return self.fleet.run(*arguments, env=self.variables, seconds=UP_SECONDS)

    @contextmanager
    def running(self, *arguments: str) -> Iterator[Run]:
        """The command line while it runs."""
        with running(self.fleet.directory, self.folder / "runs", *arguments, env=self.variables) as found:
            yield found

    def nodes_of(self, pools: Mapping[str, int]) -> None:
        """Have so many nodes of each pool behind the clouds, besides those that are there."""

        def change(document: Plain) -> Plain:
            listed = {pool["name"]: pool for pool in document["spec"]["nodePools"]}
            listed |= {name: _pool(name, CLASS_OF[name], count) for name, count in pools.items()}
            document["spec"]["nodePools"] = list(listed.values())
            return document

        self.ground.edit("InferenceCluster", BEHIND, change)
        up = self.ground.run("local", "up", "--wait", "10m", seconds=UP_SECONDS)
        assert up.code == 0, up.err

    def pool(self, cluster: str, name: str, **fields: Any) -> None:
        """Give one pool of a cluster other settings; None for all of them takes it out."""

        def change(document: Plain) -> Plain:
            pools = {pool["name"]: pool for pool in document["spec"]["nodePools"]}
            pools[name] = pools.get(name, _pool(name, CLASS_OF[name], 1)) | fields
            document["spec"]["nodePools"] = list(pools.values())
            return document

        self.fleet.edit("InferenceCluster", cluster, change)

    def without_pool(self, cluster: str, name: str) -> None:
        """Take a pool out of its document."""

        def change(document: Plain) -> Plain:
            pools = [pool for pool in document["spec"]["nodePools"] if pool["name"] != name]
            document["spec"]["nodePools"] = pools
            return document

        self.fleet.edit("InferenceCluster", cluster, change)

    def replicas(self, deployment: str, count: int) -> None:
        """Ask for so many replicas."""

        def change(document: Plain) -> Plain:
            document["spec"]["replicas"] = count
            return document

        self.fleet.edit("ModelDeployment", deployment, change)

    def pods(self, deployment: str) -> dict[str, str]:
        """Clusters of the deployment's ready pods that stay, by the names of the pods."""
        found = {}
        for cluster in (OWN, BEHIND):
            for pod in self.ground.objects(cluster, "pods", "-l", f"modelplane.ai/deployment={deployment}"):
                if _is_ready(pod):
                    pool = pod["spec"]["nodeSelector"]["modelplane.ai/pool"]
                    is_own = cluster == OWN and pool != "fabric"
                    found[pod["metadata"]["name"]] = OWN if is_own else CLUSTER_OF[pool]
        return found

    def answering(self, deployment: str, requests: int = 60) -> set[str]:
        """Clusters whose pods answer at the deployment's URL."""
        pods = self.pods(deployment)
        return {pods[pod] for pod in {self.fleet.ask(deployment).pod for _ in range(requests)} if pod in pods}

    def changes(self, report: Plain, stack: str) -> dict[str, int]:
        """What a run did to the resources of one stack."""
        found: dict[str, int] = report["stacks"][f"world.{stack}"]["changes"]
        return found

    def holding(self, name: str) -> bool:
        """Whether a double holds an operation on the resource until it is released."""
        return name in self.clouds.journal("hold")


@contextmanager
def mixed_fleet(folder: Path) -> Iterator[Mixed]:
    """The fleet with its ground up, and nothing of it made yet; everything gone afterwards."""
    ground = Scratch(folder / "ground", example=MULTICLOUD)
    _become_ground(ground)
    with ExitStack() as stack:
        stack.enter_context(_clusters_up(ground))
        door = Door(_made(folder / "door"), ground.kubeconfig(BEHIND), TOKENS)
        stack.enter_context(door.open())
        north = Door(_made(folder / "north"), ground.kubeconfig(OWN), TOKENS)
        stack.enter_context(north.open())
        clouds = Clouds(folder / "clouds", PACKAGES)
        account = stack.enter_context(accounts(folder))
        fleet = Scratch(folder / "fleet", port=ground.port, example=MULTICLOUD)
        fleet.edit("Fleet", "world", lambda document: _on_the_ground(document, ground))
        fleet.edit("InferenceCluster", "nebius-north", _renamed)
        _put_charts(ground, fleet)
        for cluster in (BEHIND, OWN):
            ground.kubectl(cluster, "apply", "--server-side", "-f", str(find().definitions))
        yield Mixed(
            fleet=fleet,
            ground=ground,
            clouds=clouds,
            door=door,
            north=north,
            variables={**clouds.variables, **account, "DOUBLE_KUBECONFIGS": str(_behind(folder, ground, door, north))},
            folder=folder,
        )


@contextmanager
def _clusters_up(ground: Scratch) -> Iterator[None]:
    """As the fleet's own clusters come up, with more patience: these are more."""
    try:
        up = ground.run("local", "up", "--wait", "10m", seconds=UP_SECONDS)
        assert up.code == 0, up.err
        yield
    finally:
        down = ground.run("local", "down", "--discard-state")
        assert down.code == 0, down.err


def _become_ground(ground: Scratch) -> None:
    """In place of the fleet: its hub, its cluster that exists, and one with the pools of all the others."""
    for name in ("clusters.yaml", "models.yaml"):
        (ground.directory / name).unlink()

    def change(document: Plain) -> Plain:
        document["spec"] = {
            "gateway": {"kubeconfigSecretRef": _reference("hub"), "address": f"127.0.0.1:{ground.port}"},
            "secrets": [_secret(name, Path(f".modelplane/local/{name}/kubeconfig")) for name in ("hub", OWN, BEHIND)],
        }
        return document

    ground.edit("Fleet", "world", change)
    sizes = {"h200": 3, "l4": 8, "h100": 2, "l40s": 2, "slow": 1}
    behind = [_pool(name, CLASS_OF[name], count) for name, count in sizes.items()]
    own = [_pool("h100", "own-h100-8x", 1), _pool("fabric", CLASS_OF["fabric"], 2)]
    clusters = {OWN: own, BEHIND: behind}
    text = "".join(f"---\n{json.dumps(_existing(name, pools))}\n" for name, pools in clusters.items())
    (ground.directory / "clusters.yaml").write_text(text)


def _on_the_ground(document: Plain, ground: Scratch) -> Plain:
    """The fleet's settings on clusters of this machine, as the local example has them."""
    local: Plain = next(iter(YAML(typ="safe").load_all((EXAMPLE / "fleet.yaml").read_text())))["spec"]
    off = {"charts": {name: {"enabled": False} for name in CHARTS}}
    spec = document["spec"]
    spec["gateway"] |= {**local["gateway"], "address": f"127.0.0.1:{ground.port}"}
    spec["secrets"] = [_secret(name, ground.kubeconfig(name)) for name in ("hub", OWN)]
    spec["servingStack"] = local["servingStack"]
    spec["chartMirror"] = ".charts"
    others = sorted({*CLUSTER_OF.values()} - {BRINGS_CHARTS})
    spec["clusters"] = {name: {"servingStack": off} for name in others}
    return document


def _renamed(document: Plain) -> Plain:
    document["spec"]["nodePools"][0]["name"] = "fabric"
    return document


def _put_charts(ground: Scratch, fleet: Scratch) -> None:
    """The ground's charts, and stand-ins for those that belong to clouds."""
    folder = fleet.directory / ".charts"
    shutil.copytree(ground.directory / ".modelplane" / "local" / "charts", folder)
    for source in CLOUD_CHARTS.values():
        chart = StandIn(name=source.chart, version=source.version)
        (folder / f"{source.chart}-{source.version}.tgz").write_bytes(chart.packed())


def _behind(folder: Path, ground: Scratch, door: Door, north: Door) -> Path:
    """The file that tells the doubles which API server is behind their clusters."""
    held = dict.fromkeys(("azure-native", "vultr"), str(ground.kubeconfig(BEHIND)))
    asked = {**dict.fromkeys(("aws", "gcp"), str(door.kubeconfig)), "terraform-provider": str(north.kubeconfig)}
    file = folder / "kubeconfigs.json"
    file.write_text(json.dumps({**held, **asked}))
    return file


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def _is_ready(pod: Plain) -> bool:
    conditions = pod.get("status", {}).get("conditions", ())
    ready = any((each["type"], each["status"]) == ("Ready", "True") for each in conditions)
    return ready and "deletionTimestamp" not in pod["metadata"]


def _pool(name: str, class_name: str, count: int) -> Plain:
    return {"name": name, "className": class_name, "nodeCount": count}


def _existing(name: str, pools: Sequence[Plain]) -> Plain:
    cluster = {"source": "Existing", "existing": {"secretRef": _reference(name)}}
    return {
        "apiVersion": "modelplane.ai/v1alpha1",
        "kind": "InferenceCluster",
        "metadata": {"name": name},
        "spec": {"cluster": cluster, "nodePools": list(pools)},
    }


def _reference(name: str) -> Plain:
    return {"name": name, "key": "kubeconfig"}


def _secret(name: str, file: Path) -> Plain:
    return {"namespace": "modelplane-system", "name": name, "keys": {"kubeconfig": {"fromFile": str(file)}}}
