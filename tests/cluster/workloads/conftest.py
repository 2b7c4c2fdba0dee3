"""One API server with the definitions of both serving stacks, for every object that replicas and caches put there."""

import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from engine.bare import Bare, bare_cluster

CRDS = Path(__file__).parents[4] / "shared" / "crds"
FILES = ("lws.yaml", "grove.yaml", "gateway-api.yaml", "gateway-api-inference-extension.yaml")
NAMESPACES = ("ml-team", "modelplane-system")
SECONDS = 60.0

Plain = dict[str, Any]

PATHS = {
    "ConfigMap": "configmaps",
    "Deployment": "deployments",
    "HTTPRoute": "httproutes",
    "InferencePool": "inferencepools",
    "Job": "jobs",
    "LeaderWorkerSet": "leaderworkersets",
    "PersistentVolumeClaim": "persistentvolumeclaims",
    "Pod": "pods",
    "PodCliqueSet": "podcliquesets",
    "ResourceClaimTemplate": "resourceclaimtemplates",
    "Role": "roles",
    "RoleBinding": "rolebindings",
    "Secret": "secrets",
    "Service": "services",
    "ServiceAccount": "serviceaccounts",
}


class Acceptance:
    """An API server that is asked, strictly, whether it would take an object."""

    def __init__(self, bare: Bare) -> None:
        self._client = bare._client
        self.kubeconfig = bare.kubeconfig

    def refusal(self, manifest: Plain, namespace: str = "ml-team", *, dry: bool = True) -> str:
        """Why the API server refuses a manifest as it is; empty where it takes it. Unknown fields are refused."""
        query = {"fieldValidation": "Strict", "fieldManager": "test", "force": "true"} | (
            {"dryRun": "All"} if dry else {}
        )
        answer = self._client.patch(
            f"{self._collection(manifest, namespace)}/{manifest['metadata']['name']}",
            params=query,
            content=yaml.safe_dump(manifest),
            headers={"content-type": "application/apply-patch+yaml"},
            timeout=60,
        )
        return "" if answer.is_success else f"{manifest['kind']}: {answer.json().get('message')}"

    def get(self, manifest: Plain, namespace: str = "ml-team") -> Plain:
        answer = self._client.get(f"{self._collection(manifest, namespace)}/{manifest['metadata']['name']}")
        answer.raise_for_status()
        found: Plain = answer.json()
        return found

    def make(self, path: str, manifest: Plain) -> None:
        answer = self._client.post(path, json=manifest, timeout=60)
        assert answer.is_success or answer.status_code == 409, answer.text

    def until_served(self, path: str) -> None:
        deadline = time.monotonic() + SECONDS
        while self._client.get(path).status_code == 404:
            assert time.monotonic() < deadline, f"{path} is not served"
            time.sleep(0.3)

    def _collection(self, manifest: Plain, namespace: str) -> str:
        version = manifest["apiVersion"]
        root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        return f"{root}/namespaces/{namespace}/{PATHS[manifest['kind']]}"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Acceptance]:
    if not CRDS.is_dir():
        pytest.skip("the definitions of the serving stacks are not beside this checkout")
    home = tmp_path_factory.mktemp("workloads")
    try:
        with bare_cluster(home, "east", 0, set()) as bare:
            found = Acceptance(bare)
            for name in NAMESPACES:
                found.make("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
            for file in FILES:
                for document in yaml.safe_load_all((CRDS / file).read_text()):
                    if document and document["kind"] == "CustomResourceDefinition":
                        found.make("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", document)
            for path in (
                "/apis/leaderworkerset.x-k8s.io/v1/leaderworkersets",
                "/apis/grove.io/v1alpha1/podcliquesets",
                "/apis/gateway.networking.k8s.io/v1/httproutes",
                "/apis/inference.networking.k8s.io/v1/inferencepools",
            ):
                found.until_served(path)
            yield found
    finally:
        shutil.rmtree(home, ignore_errors=True)
