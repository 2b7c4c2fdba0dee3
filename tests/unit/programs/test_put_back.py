"""What others changed inside Helm releases is set back as Helm's manifest says; what is nobody's change is left."""

import base64
import gzip
import json
from dataclasses import dataclass, field
from typing import Any

import httpx2
import pytest
from unit.programs.charts import LWS, connecting

from programs import put_back as module
from programs.put_back import Change, put_back, to_put_back

DEPLOYMENT = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: lws\nspec:\n  replicas: 2\n"
SETTINGS = (
    "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\n  namespace: lws-system\ndata:\n  mode: 0644\n"
)
HOOK = "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: once\n"
RESOURCES = {
    "/api/v1": [{"name": "configmaps", "kind": "ConfigMap", "namespaced": True}],
    "/apis/apps/v1": [{"name": "deployments", "kind": "Deployment", "namespaced": True}],
    "/apis/batch/v1": [{"name": "jobs", "kind": "Job", "namespaced": True}],
}
COPIES = "/apis/apps/v1/namespaces/lws-system/deployments/lws"
MODE = "/api/v1/namespaces/lws-system/configmaps/settings"


def owned(manager: str, path: str) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name in reversed(path.split(".")):
        fields = {f"f:{name}": fields}
    return {"manager": manager, "time": "2", "fieldsV1": fields}


@dataclass
class Cluster:
    """An API server that keeps one release of Helm, and objects by their paths."""

    status: str = "deployed"
    objects: dict[str, Any] = field(default_factory=dict)
    applied: dict[str, str] = field(default_factory=dict)
    asked: list[httpx2.QueryParams] = field(default_factory=list)
    answer: int = 200
    answers_to_apply: int = 200

    def handle(self, request: httpx2.Request) -> httpx2.Response:
        path = request.url.path
        if self.answer != 200:
            return httpx2.Response(self.answer)
        if request.method == "PATCH":
            assert request.headers["content-type"] == "application/apply-patch+yaml"
            self.asked.append(request.url.params)
            self.applied[path] = request.content.decode()
            return httpx2.Response(self.answers_to_apply, json={})
        if path in RESOURCES:
            return httpx2.Response(200, json={"resources": RESOURCES[path]})
        if path.endswith("/secrets"):
            return httpx2.Response(200, json={"items": [self._release()]})
        found = self.objects.get(path)
        return httpx2.Response(404) if found is None else httpx2.Response(200, json=found)

    def _release(self) -> dict[str, Any]:
        manifest = "".join(f"---\n# Source: lws/templates\n{text}" for text in (DEPLOYMENT, SETTINGS, HOOK))
        packed = base64.b64encode(gzip.compress(json.dumps({"manifest": manifest}).encode()))
        labels = {"owner": "helm", "name": LWS.name, "status": self.status, "version": "1"}
        return {"metadata": {"labels": labels}, "data": {"release": base64.b64encode(packed).decode()}}

    def set(self, path: str, content: dict[str, Any], *managed: dict[str, Any]) -> None:
        self.objects[path] = {"metadata": {"name": path.rpartition("/")[2], "managedFields": managed}, **content}


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    found = Cluster()
    found.set(COPIES, {"spec": {"replicas": 2}}, owned("helm", "spec.replicas"))
    found.set(MODE, {"data": {"mode": 420}})
    monkeypatch.setattr(module, "connected", connecting(found.handle))
    return found


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    notes: list[str] = []
    monkeypatch.setattr("pulumi.log.warn", notes.append)
    return notes


def test_what_is_as_helm_left_it_is_not_written(cluster: Cluster, told: list[str]) -> None:
    put_back("k", [LWS])
    assert (cluster.applied, told) == ({}, [])


def test_what_somebody_scaled_is_applied_again_as_text(cluster: Cluster, told: list[str]) -> None:
    cluster.set(COPIES, {"spec": {"replicas": 5}}, owned("kubectl", "spec.replicas"))
    put_back("k", [LWS])
    assert {path: text.partition("\n")[2] for path, text in cluster.applied.items()} == {
        COPIES: f"# Source: lws/templates\n{DEPLOYMENT}"
    }
    assert [(asked["fieldManager"], asked["force"]) for asked in cluster.asked] == [("helm-modelplane", "true")]
    assert told == ["release mp-lws: Deployment lws: spec.replicas, last set by kubectl; set back"]


def test_what_somebody_deleted_is_made_again(cluster: Cluster, told: list[str]) -> None:
    del cluster.objects[MODE]
    put_back("k", [LWS])
    assert "mode: 0644" in cluster.applied[MODE], "as Helm wrote it: the API server reads it as octal, as it did then"
    assert told == ["release mp-lws: ConfigMap lws-system/settings: was gone; set back"]


@pytest.mark.parametrize("status", ["failed", "uninstalling", "superseded"])
def test_a_release_that_is_not_up_is_left_to_helm(cluster: Cluster, told: list[str], status: str) -> None:
    cluster.status = status
    cluster.objects.clear()
    put_back("k", [LWS])
    assert (cluster.applied, told) == ({}, [])


def test_what_the_cluster_refuses_is_told(cluster: Cluster, told: list[str]) -> None:
    del cluster.objects[MODE]
    cluster.answers_to_apply = 422
    put_back("k", [LWS])
    assert told == ["release mp-lws: ConfigMap lws-system/settings: was gone; the cluster refuses to set it back (422)"]


def test_a_cluster_that_does_not_tell_stops_no_program(cluster: Cluster, told: list[str]) -> None:
    cluster.answer = 503
    put_back("k", [LWS])
    assert told == []


MANIFEST: dict[str, Any] = {"kind": "Deployment", "metadata": {"name": "lws"}, "spec": {"replicas": 2}}


def scaled(by: str) -> dict[str, Any]:
    return {"metadata": {"managedFields": [owned(by, "spec.replicas")]}, "spec": {"replicas": 3}}


@pytest.mark.parametrize(
    ("manifest", "live", "change"),
    [
        (MANIFEST, scaled("kubectl"), Change(path="spec.replicas", manager="kubectl")),
        (MANIFEST, scaled("kube-controller-manager"), None),
        (MANIFEST, {"metadata": {}, "spec": {"replicas": 0}}, Change(path="spec.replicas")),
        (MANIFEST, None, Change(path=None)),
        ({**MANIFEST, "kind": "Job"}, None, None),
        ({**MANIFEST, "kind": "ValidatingWebhookConfiguration"}, scaled("cainjector"), None),
        ({**MANIFEST, "kind": "ValidatingWebhookConfiguration"}, None, Change(path=None)),
    ],
)
def test_what_is_set_back(manifest: dict[str, Any], live: dict[str, Any] | None, change: Change | None) -> None:
    assert to_put_back(manifest, live) == change
