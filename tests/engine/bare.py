"""Bare simulated clusters: an API server with its controllers and nodes, and nothing of a serving stack on them.

A stand-in plays the gateways' controllers: while the release of one is there it accepts its class, gives gateways an
address, and keeps a class from going while a gateway uses it, as the real ones do.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx2
from lightkube.config import client_adapter

from local import clusters, network, processes, stages, toolbox
from local.clusters import PORTS, Site
from local.kube import ApiServer
from local.objects import documents
from local.plan import LocalCluster, Ranges
from programs.kubernetes_access import single_config

START_SECONDS = 240.0
POLL_SECONDS = 0.3
GATEWAYS = "/apis/gateway.networking.k8s.io/v1"
MERGE = {"content-type": "application/merge-patch+json"}
FINALIZER = "gateway-exists-finalizer.gateway.networking.k8s.io"
CONTROLLERS = {
    "gateway.envoyproxy.io/gatewayclass-controller": ("envoy-gateway-system", "mp-gateway-helm"),
    "traefik.io/gateway-controller": ("traefik-system", "mp-traefik"),
}


class Bare:
    """One cluster that answers."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.kubeconfig = clusters.kubeconfig(site)
        params = client_adapter.ConnectionParams(timeout=httpx2.Timeout(20))
        self._client = client_adapter.Client(single_config(self.kubeconfig), params)

    def close(self) -> None:
        self._client.close()

    def get(self, path: str, **query: str) -> dict[str, Any] | None:
        """The answer to a GET, None where there is nothing."""
        answer = self._client.get(path, params=query)
        if answer.status_code == 404:
            return None
        answer.raise_for_status()
        found: dict[str, Any] = answer.json()
        return found

    def items(self, path: str, **query: str) -> list[dict[str, Any]]:
        return (self.get(path, **query) or {}).get("items", [])

    def releases(self) -> dict[str, tuple[str, int]]:
        """Status and revision of the newest revision of each release, by name."""
        found: dict[str, tuple[str, int]] = {}
        for secret in self.items("/api/v1/secrets", labelSelector="owner=helm"):
            labels = secret["metadata"]["labels"]
            revision = int(labels["version"])
            if revision > found.get(labels["name"], ("", 0))[1]:
                found[labels["name"]] = (labels["status"], revision)
        return found

    def definitions(self) -> set[str]:
        path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        names = {item["metadata"]["name"] for item in self.items(path)}
        return {name for name in names if not name.endswith("kwok.x-k8s.io")}

    def namespaces(self) -> set[str]:
        names = {item["metadata"]["name"] for item in self.items("/api/v1/namespaces")}
        return {name for name in names if not name.startswith("kube-")} - {"default"}

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        answer = self._client.post(path, json=body)
        answer.raise_for_status()
        found: dict[str, Any] = answer.json()
        return found

    def patch(self, path: str, body: dict[str, Any]) -> None:
        self._client.patch(path, json=body, headers=MERGE).raise_for_status()

    def control(self) -> None:
        """One look of the stand-in controllers."""
        gateways = self.items(f"{GATEWAYS}/gateways")
        for found in self.items(f"{GATEWAYS}/gatewayclasses"):
            name, metadata = found["metadata"]["name"], found["metadata"]
            place = CONTROLLERS.get(found["spec"]["controllerName"])
            if place is None or self.get(f"/apis/apps/v1/namespaces/{place[0]}/deployments/{place[1]}") is None:
                continue
            path = f"{GATEWAYS}/gatewayclasses/{name}"
            used = [each for each in gateways if each["spec"]["gatewayClassName"] == name]
            wanted = [FINALIZER] if used else []
            if metadata.get("finalizers", []) != wanted:
                self.patch(path, {"metadata": {"finalizers": wanted or None}})
            conditions = (found.get("status") or {}).get("conditions") or []
            if not any((each["type"], each["status"]) == ("Accepted", "True") for each in conditions):
                accepted = {"type": "Accepted", "status": "True", "reason": "Accepted", "message": ""}
                accepted["lastTransitionTime"] = "2026-01-01T00:00:00Z"
                self.patch(f"{path}/status", {"status": {"conditions": [accepted]}})
            for gateway in used:
                if not (gateway.get("status") or {}).get("addresses"):
                    where = f"{GATEWAYS}/namespaces/{gateway['metadata']['namespace']}/gateways"
                    address = [{"type": "IPAddress", "value": self.site.ranges.gateway}]
                    self.patch(f"{where}/{gateway['metadata']['name']}/status", {"status": {"addresses": address}})


@contextmanager
def bare_cluster(home: Path, name: str, index: int, taken: set[int]) -> Iterator[Bare]:
    """A cluster of its own in `home`; ended with all its processes afterwards."""
    found = toolbox.find()
    ports = dict(zip(PORTS, network.choose_ports(len(PORTS), taken), strict=True))
    taken |= set(ports.values())
    site = Site(home=home, name=name, ranges=Ranges(index=index), ports=ports)
    for folder in (home / name, home / "logs"):
        folder.mkdir(parents=True, exist_ok=True)
    over = threading.Event()
    try:
        deadline = time.monotonic() + START_SECONDS
        clusters.create(site, found, deadline, threading.Event())
        with ApiServer(name, site.api_port, site.pki) as server:
            while not server.is_ready():
                assert time.monotonic() < deadline, f"{name} does not become ready"
                time.sleep(POLL_SECONDS)
            furniture = documents(LocalCluster(name=name, kubeconfig=home / name / "kubeconfig"))
            nodes = [each for each in furniture if each["kind"] == "Node"]
            for document in [*stages.stages(site.ranges), *nodes]:
                server.apply(document, deadline)
        cluster = Bare(site)
        thread = threading.Thread(target=_control, args=(cluster, over), daemon=True)
        thread.start()
        try:
            yield cluster
        finally:
            over.set()
            thread.join()
            cluster.close()
    finally:
        processes.end(list(clusters.components(site).values()), grace=0)


def _control(cluster: Bare, over: threading.Event) -> None:
    while not over.wait(POLL_SECONDS):
        with suppress(httpx2.HTTPError):
            cluster.control()
