"""A fleet directory and its local fleet, as tests use them."""

import json
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from ruamel.yaml import YAML

from api.loader import load
from local import fleet, processes, toolbox
from local import state as remembered
from local.fleet import PartStatus
from local.plan import home, make_plan


class Eventually(Protocol):
    """Waits until a check gives something true, and returns that; at the deadline the test fails."""

    def __call__(self, check: Callable[[], object], seconds: float = 60) -> Any: ...


FETCH = """
import json, sys, urllib.error, urllib.request
from local import namespace
pid, inode, url, body = json.loads(sys.argv[1])
namespace.join(pid, inode)
try:
    answer = urllib.request.urlopen(urllib.request.Request(url, body and body.encode()), timeout=10)
except urllib.error.HTTPError as error:
    answer = error
except OSError as error:
    print(json.dumps([0, {}, str(error)]))
    raise SystemExit
print(json.dumps([answer.status, dict(answer.headers), answer.read().decode()]))
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass
class Running:
    """One fleet directory and what tests do with its local fleet."""

    directory: Path
    port: int
    said: list[str] = field(default_factory=list)

    @property
    def home(self) -> Path:
        return home(self.directory)

    @property
    def state(self) -> remembered.State:
        state = remembered.load(self.home)
        assert state
        return state

    def write(self, **clusters: int) -> None:
        """Documents of a fleet with these clusters, each with one pool of so many nodes of eight GPUs."""
        documents = [_fleet(self.port), _CLASS, *(_cluster(name, nodes) for name, nodes in clusters.items())]
        YAML(typ="safe").dump_all(documents, self.directory / "fleet.yaml")

    def up(self) -> dict[str, PartStatus]:
        self.said.clear()
        fleet.up(make_plan(load(self.directory)), progress=self.said.append)
        return self.parts()

    def down(self) -> bool:
        return fleet.down(self.directory, held={})

    def parts(self) -> dict[str, PartStatus]:
        return {f"{part.cluster}/{part.part}": part for part in fleet.status(self.directory)}

    def kubectl(self, cluster: str, *arguments: str, documents: list[Any] | None = None) -> str:
        command = [str(toolbox.find()["kubectl"]), "--kubeconfig", str(self.home / cluster / "kubeconfig"), *arguments]
        given = json.dumps({"apiVersion": "v1", "kind": "List", "items": documents}) if documents else None
        done = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def get(self, cluster: str, *arguments: str) -> Any:
        return json.loads(self.kubectl(cluster, "get", *arguments, "-o", "json"))

    def apply(self, cluster: str, *documents: Any) -> None:
        self.kubectl(cluster, "apply", "-f", "-", documents=list(documents))

    def fetch(self, url: str, body: str | None = None) -> tuple[int, dict[str, str], str]:
        """One request from inside the private network: status (0 for none), headers, body."""
        holder = self.state.parts["traffic/namespace"]
        argument = json.dumps([holder.pid, self.state.namespace, url, body])
        environment = processes.environment(Path("/nobody"), processes.python_path())
        done = subprocess.run(
            [sys.executable, "-c", FETCH, argument], capture_output=True, text=True, check=True, env=environment
        )
        status, headers, text = json.loads(done.stdout)
        return status, {name.lower(): value for name, value in headers.items()}, text


def _fleet(port: int) -> dict[str, Any]:
    spec = {"gateway": {"kubeconfigSecretRef": {"name": "hub"}, "address": f"127.0.0.1:{port}"}}
    return {"apiVersion": "modelplane.ai/v1alpha1", "kind": "Fleet", "metadata": {"name": "demo"}, "spec": spec}


def _cluster(name: str, nodes: int) -> dict[str, Any]:
    existing = {"source": "Existing", "existing": {"secretRef": {"name": name}}}
    return {
        "apiVersion": "modelplane.ai/v1alpha1",
        "kind": "InferenceCluster",
        "metadata": {"name": name},
        "spec": {"cluster": existing, "nodePools": [{"name": "h100", "className": "h100x8", "nodeCount": nodes}]},
    }


_CLASS = {
    "apiVersion": "modelplane.ai/v1alpha1",
    "kind": "InferenceClass",
    "metadata": {"name": "h100x8"},
    "spec": {
        "devices": [
            {
                "name": "gpu",
                "driver": "gpu.nvidia.com",
                "deviceClassName": "gpu.nvidia.com",
                "count": 8,
                "attributes": {"architecture": {"string": "Hopper"}},
                "capacity": {"memory": {"value": "81559Mi"}},
            }
        ]
    },
}
