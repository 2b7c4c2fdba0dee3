"""The node's process: `python -m local.node CONFIGURATION`, inside the fleet's private network.

It follows the pods and Services of every cluster, runs the pods that it has programs for, and answers on its own port
with a list of them (JSON). Programs it started end with it.

Configuration (JSON): {"port", "folder", "logs", "tools": {name: path}, "clusters": [{"name", "port", "pki"}]}
"""

import asyncio
import json
import shutil
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from local import watching
from local.engine import pods as engine_pods
from local.kube import ApiServer, Refused
from local.node import containers, services
from local.node.containers import Place
from local.node.engines import OnlyPod
from local.node.pods import API_PORT, RealPod, read_pod
from local.node.services import Proxy, Service, Ways

LOOPBACK = "127.0.0.1"
_KUBERNETES = ("default", "kubernetes")
_RETRY_SECONDS = 2.0

Plain = Mapping[str, Any]


class Services:
    """The Services of one cluster, and the hosts file that names them."""

    def __init__(self, place: Place, changed: asyncio.Event) -> None:
        self.known: dict[str, Service] = {}
        self._place = place
        self._changed = changed

    def replace(self, documents: Mapping[str, Plain]) -> None:
        """All Services as the API server lists them."""
        self.known = {uid: found for uid, document in documents.items() if (found := services.read_service(document))}
        self._tell()

    def change(self, uid: str, document: Plain | None) -> None:
        """One Service as it is now; None when it is gone."""
        found = services.read_service(document) if document else None
        if found:
            self.known[uid] = found
        else:
            self.known.pop(uid, None)
        self._tell()

    def _tell(self) -> None:
        # The same file is written again, because containers see that file and no other of its name.
        self._place.hosts.write_text(services.hosts(self.known.values()))
        self._changed.set()


class Pods:
    """The pods of one cluster that run here."""

    def __init__(self, cluster: str, place: Place, changed: asyncio.Event) -> None:
        self.cluster = cluster
        self.known: dict[str, RealPod] = {}
        self.pids: dict[tuple[str, str], int] = {}
        self._place = place
        self._changed = changed
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._engines: dict[str, OnlyPod] = {}

    def replace(self, documents: Mapping[str, Plain]) -> None:
        """All pods as the API server lists them."""
        for uid in {*self._tasks, *documents}:
            self.change(uid, documents.get(uid))

    def change(self, uid: str, document: Plain | None) -> None:
        """One pod as it is now; None when it is gone."""
        pod = read_pod(self.cluster, document) if document else None
        task = self._tasks.get(uid)
        if pod and document:
            self._engines.setdefault(uid, OnlyPod()).pod = engine_pods.read_pod(self.cluster, document)
        else:
            self._engines.pop(uid, None)
        if pod and task is None:
            self.known[uid] = pod
            self._tasks[uid] = asyncio.create_task(self._run(pod, self._engines[uid]))
        elif pod is None and task is not None:
            self.known.pop(uid, None)
            self._tasks.pop(uid).cancel()
        self._changed.set()

    async def _run(self, pod: RealPod, engine: OnlyPod) -> None:
        def running(container: str, pid: int | None) -> None:
            key = (f"{pod.namespace}/{pod.name}", container)
            if pid is None:
                self.pids.pop(key, None)
            else:
                self.pids[key] = pid

        while True:
            try:
                return await containers.run(pod, self._place, running, engine)
            except* (OSError, Refused) as errors:
                sys.stderr.write(f"{self.cluster}/{pod.namespace}/{pod.name}: {errors.exceptions}\n")
            await asyncio.sleep(_RETRY_SECONDS)


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """One cluster's part of the node."""

    port: int
    pods: Pods
    services: Services

    def ways(self) -> Ways:
        """Where this cluster's Services lead; that of the API server leads there."""
        known = self.services.known.values()
        found = services.ways(known, self.pods.known.values())
        for service in known:
            if (service.namespace, service.name) == _KUBERNETES:
                found[service.address, API_PORT] = ((LOOPBACK, self.port),)
        return found


async def run(configuration: dict[str, Any]) -> None:
    """Run every cluster's pods, for ever."""
    folder, logs = Path(configuration["folder"]), Path(configuration["logs"])
    shutil.rmtree(folder, ignore_errors=True)
    changed = asyncio.Event()
    clusters = []
    async with asyncio.TaskGroup() as group:
        for found in configuration["clusters"]:
            pki = Path(found["pki"])
            server = ApiServer(found["name"], found["port"], pki)
            place = Place(server=server, folder=folder / found["name"], logs=logs, tools=configuration["tools"])
            place.folder.mkdir(mode=0o700, parents=True)
            pods, known = Pods(found["name"], place, changed), Services(place, changed)
            clusters.append(Cluster(port=found["port"], pods=pods, services=known))
            for path, follower in (("/api/v1/services", known), ("/api/v1/pods", pods)):
                group.create_task(watching.follow(found["port"], watching.credentials(pki), path, follower))
        group.create_task(_tell(configuration["port"], clusters))
        proxy = Proxy()
        while True:
            await changed.wait()
            changed.clear()
            await proxy.update({way: to for cluster in clusters for way, to in cluster.ways().items()})


async def _tell(port: int, clusters: list[Cluster]) -> None:
    """Answer each request with the containers that run."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        running = [
            {"cluster": cluster.pods.cluster, "pod": pod, "container": container, "pid": pid}
            for cluster in clusters
            for (pod, container), pid in sorted(cluster.pods.pids.items())
        ]
        body = json.dumps(running).encode()
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        with suppress(OSError, asyncio.IncompleteReadError):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(f"{head}Connection: close\r\n\r\n".encode() + body)
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, LOOPBACK, port)
    async with server:
        await server.serve_forever()


def main() -> None:
    """Run until ended."""
    try:
        asyncio.run(run(json.loads(sys.argv[1])))
    except OSError as error:
        raise SystemExit(f"node: {error}") from error


if __name__ == "__main__":
    main()
