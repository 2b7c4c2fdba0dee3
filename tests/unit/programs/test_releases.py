"""What Helm keeps on a cluster: notes of killed runs are taken away, and the first object in the way is found."""

import base64
import gzip
import json
from dataclasses import dataclass, field
from typing import Any

import httpx2
import pytest
import yaml
from unit.programs.charts import LWS, connecting

from programs import releases
from programs.releases import PENDING, first_failing_object, forget_pending, remaining, unlock


@dataclass
class Cluster:
    """An API server that keeps secrets of Helm and some objects."""

    secrets: list[dict[str, Any]] = field(default_factory=list)
    objects: dict[str, Any] = field(default_factory=dict)
    deleted: list[str] = field(default_factory=list)
    status: int = 200
    down: str = ""
    """A path that nothing answers at for now."""

    def handle(self, request: httpx2.Request) -> httpx2.Response:
        path = request.url.path
        if self.status != 200:
            return httpx2.Response(self.status)
        if path == self.down:
            return httpx2.Response(503)
        if request.method == "DELETE":
            self.deleted.append(path)
            self.secrets = [each for each in self.secrets if not path.endswith(each["metadata"]["name"])]
            return httpx2.Response(200, json={})
        if path.endswith("/secrets"):
            wants_pending = "status in" in request.url.params["labelSelector"]
            items = [
                each for each in self.secrets if (each["metadata"]["labels"]["status"] in PENDING) == wants_pending
            ]
            return httpx2.Response(200, json={"items": items})
        found = self.objects.get(path)
        return httpx2.Response(404) if found is None else httpx2.Response(200, json=found)

    def release(self, status: str, version: int = 1, *manifests: dict[str, Any], name: str = "mp-lws") -> None:
        packed = base64.b64encode(gzip.compress(json.dumps({"manifest": yaml.safe_dump_all(manifests)}).encode()))
        labels = {"owner": "helm", "name": name, "status": status, "version": str(version)}
        metadata = {"name": f"sh.helm.release.v1.{name}.v{version}", "namespace": "lws-system", "labels": labels}
        self.secrets.append({"metadata": metadata, "data": {"release": base64.b64encode(packed).decode()}})


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    found = Cluster()
    monkeypatch.setattr(releases, "connected", connecting(found.handle))
    return found


@pytest.mark.parametrize("status", PENDING)
def test_a_note_of_a_killed_run_is_taken_away(cluster: Cluster, status: str) -> None:
    cluster.release("deployed")
    cluster.release(status, 2)
    cluster.release(status, name="somebody-else-s")
    [note] = forget_pending("k", [("lws-system", "mp-lws")])
    assert cluster.deleted == ["/api/v1/namespaces/lws-system/secrets/sh.helm.release.v1.mp-lws.v2"]
    assert "mp-lws" in note
    assert status.removeprefix("pending-") in note


def test_a_release_that_is_up_is_left_alone(cluster: Cluster) -> None:
    cluster.release("deployed")
    unlock("k", [LWS])
    assert cluster.deleted == []
    assert remaining("k", "lws-system", "mp-lws")


def test_nothing_remains_of_an_install_that_was_killed(cluster: Cluster) -> None:
    cluster.release("pending-install")
    assert not remaining("k", "lws-system", "mp-lws")
    assert len(cluster.deleted) == 1


def test_a_cluster_that_refuses_stops_no_program(cluster: Cluster) -> None:
    cluster.release("pending-install")
    cluster.status = 403
    unlock("k", [LWS])
    with pytest.raises(httpx2.HTTPStatusError):
        remaining("k", "lws-system", "mp-lws")


APPS = {"resources": [{"name": "deployments", "kind": "Deployment", "namespaced": True}]}
CORE = {
    "resources": [
        {"name": "configmaps", "kind": "ConfigMap", "namespaced": True},
        {"name": "services", "kind": "Service", "namespaced": True},
    ]
}
CONFIG = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}}
SERVICE = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "door", "namespace": "lws-system"}}
DEPLOYMENT = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "lws"}}
UNKNOWN = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "it"}}
SPACE = "/api/v1/namespaces/lws-system"
LIVE: dict[str, Any] = {
    "/api/v1": CORE,
    "/apis/apps/v1": APPS,
    f"{SPACE}/configmaps/settings": CONFIG,
    f"{SPACE}/services/door": {"spec": {"type": "ClusterIP"}},
    "/apis/apps/v1/namespaces/lws-system/deployments/lws": {"spec": {"replicas": 1}, "status": {"readyReplicas": 1}},
}
FAULTS: dict[str, tuple[dict[str, Any], tuple[dict[str, Any], ...], str]] = {
    "all is well": ({}, (CONFIG, SERVICE, DEPLOYMENT), ""),
    "missing": ({f"{SPACE}/configmaps/settings": None}, (CONFIG, DEPLOYMENT), "ConfigMap settings: it was not made"),
    "not ready": (
        {
            "/apis/apps/v1/namespaces/lws-system/deployments/lws": {
                "spec": {"replicas": 2},
                "status": {"readyReplicas": 1},
            }
        },
        (CONFIG, DEPLOYMENT),
        "Deployment lws: 1 of 2 pods ready",
    ),
    "an unknown kind": ({}, (UNKNOWN, CONFIG), "Thing it: the cluster knows no Thing of example.com/v1"),
    "no address": (
        {f"{SPACE}/services/door": {"spec": {"type": "LoadBalancer"}, "status": {"loadBalancer": {}}}},
        (SERVICE,),
        "Service lws-system/door: no load balancer gave it an address",
    ),
}


@pytest.mark.parametrize(("live", "manifests", "want"), FAULTS.values(), ids=FAULTS)
def test_the_first_object_in_the_way(
    cluster: Cluster, live: dict[str, Any], manifests: tuple[dict[str, Any], ...], want: str
) -> None:
    cluster.objects = {path: body for path, body in {**LIVE, **live}.items() if body is not None}
    cluster.release("superseded", 1, UNKNOWN)
    cluster.release("failed", 2, *manifests)
    assert first_failing_object("k", "lws-system", "mp-lws") == want


def test_a_release_that_is_not_there_has_no_objects(cluster: Cluster) -> None:
    assert first_failing_object("k", "lws-system", "mp-lws") == ""


def test_kinds_that_could_not_be_asked_for_are_not_taken_for_unknown_ones(cluster: Cluster) -> None:
    cluster.objects, cluster.down = LIVE, "/apis/apps/v1"
    cluster.release("deployed", 1, CONFIG, DEPLOYMENT)
    with pytest.raises(httpx2.HTTPStatusError):
        first_failing_object("k", "lws-system", "mp-lws")
