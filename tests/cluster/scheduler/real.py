"""The API server of the one cluster, for many small objects, and what its scheduler made of pods."""

import json
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from cluster.local.running import Running

from local.clusters import Site
from local.kube import ApiServer, Refused
from local.plan import Ranges

CLUSTER = "east"
SECONDS = 150.0

Document = dict[str, Any]

_COLLECTIONS = {
    "Pod": "/api/v1/namespaces/{}/pods",
    "ResourceClaim": "/apis/resource.k8s.io/v1/namespaces/{}/resourceclaims",
    "ResourceClaimTemplate": "/apis/resource.k8s.io/v1/namespaces/{}/resourceclaimtemplates",
}


@dataclass
class Real:
    """A connection to the cluster."""

    server: ApiServer
    kubeconfig: Path

    @classmethod
    @contextmanager
    def of(cls, running: Running) -> Iterator[Self]:
        state = running.state.clusters[CLUSTER]
        site = Site(home=running.home, name=CLUSTER, ranges=Ranges(index=state.index), ports=state.ports)
        with ApiServer(CLUSTER, site.api_port, site.pki) as server:
            yield cls(server, running.home / CLUSTER / "kubeconfig")

    def make_namespace(self, name: str) -> None:
        """A namespace in which pods can be made."""
        document = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        self.server._send("POST", "/api/v1/namespaces", json.dumps(document).encode())
        self.until(lambda: self._exists(f"/api/v1/namespaces/{name}/serviceaccounts/default"))

    def create(self, namespace: str, documents: Iterable[Document]) -> None:
        """Make objects as they are; raises Refused for one that the API server does not take."""
        for document in documents:
            path = _COLLECTIONS[document["kind"]].format(namespace)
            self.server._send("POST", path, json.dumps(document).encode())

    def takes(self, namespace: str, documents: Iterable[Document]) -> bool:
        """Make objects, unless the API server says that the first of them is invalid."""
        try:
            self.create(namespace, documents)
        except Refused as problem:
            if problem.status != 422:
                raise
            return False
        return True

    def verdicts(self, namespace: str) -> dict[str, str]:
        """What the scheduler said of each pod: `Scheduled`, the reason why not, or nothing yet."""
        pods = self.server.get(f"/api/v1/namespaces/{namespace}/pods")["items"]
        return {pod["metadata"]["name"]: _verdict(pod) for pod in pods}

    def decided(self, namespace: str, count: int) -> dict[str, str]:
        """The same once the scheduler has looked at all of so many pods."""

        def look() -> dict[str, str] | None:
            found = self.verdicts(namespace)
            return found if len(found) == count and all(found.values()) else None

        return self.until(look)

    def scheduled(self, namespace: str) -> dict[str, str]:
        """The same once every pod is scheduled; what is not at the deadline is in it."""
        found: dict[str, str] = {}

        def look() -> bool:
            found.update(self.verdicts(namespace))
            return bool(found) and set(found.values()) == {"Scheduled"}

        try:
            self.until(look, seconds=60)
        except AssertionError:
            return found
        return found

    def until(self, check: Callable[[], Any], seconds: float = SECONDS) -> Any:
        """What a check gives as soon as it gives something true."""
        deadline = time.monotonic() + seconds
        while not (result := check()):
            assert time.monotonic() < deadline, f"not within {seconds} s"
            time.sleep(0.2)
        return result

    def _exists(self, path: str) -> bool:
        try:
            self.server.get(path)
        except Refused:
            return False
        return True


def _verdict(pod: Any) -> str:
    for condition in pod.get("status", {}).get("conditions") or ():
        if condition["type"] == "PodScheduled":
            return "Scheduled" if condition["status"] == "True" else str(condition["reason"])
    return ""
