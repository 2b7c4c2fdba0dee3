"""Stand-ins for the charts: small ones of our own under the real names and versions, served as a repository.

Each renders a Deployment, a ConfigMap that holds its values, and a Secret that differs at every rendering; some bring
the definitions of what the product makes after them, and the hook Jobs that the real ones have. Definitions are the
real ones where they lie beside the checkout, else ones that take anything.
"""

import io
import json
import tarfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import yaml
from stack_parts import a_definition

from api.versions import CHARTS, GATEWAY_API, INFERENCE_EXTENSION, MODEL_EXPRESS
from components.definitions import DEFINITIONS

GATEWAY_KINDS = {
    "gatewayclasses.gateway.networking.k8s.io": ("GatewayClass", "Cluster", "v1"),
    "gateways.gateway.networking.k8s.io": ("Gateway", "Namespaced", "v1"),
    "httproutes.gateway.networking.k8s.io": ("HTTPRoute", "Namespaced", "v1"),
}
BRINGS = {
    "gateway-helm": {**GATEWAY_KINDS, "envoyproxies.gateway.envoyproxy.io": ("EnvoyProxy", "Namespaced", "v1alpha1")},
    "kai-scheduler": {"queues.scheduling.run.ai": ("Queue", "Cluster", "v2")},
    "metallb": {
        "ipaddresspools.metallb.io": ("IPAddressPool", "Namespaced", "v1beta1"),
        "l2advertisements.metallb.io": ("L2Advertisement", "Namespaced", "v1beta1"),
    },
}
"""Definitions by the chart that brings them, as it does for real: those of the gateways from its folder `crds`."""
KEPT = set(BRINGS["gateway-helm"])
"""What Helm leaves behind: it installs definitions out of `crds` and never removes them."""
REAL_FILES = (
    "gateway-api",
    "gateway-api-inference-extension",
    "modelexpress",
    "envoy-gateway",
    "kai-scheduler",
    "metallb",
)
HOOKED = {"gateway-helm", "kube-prometheus-stack"}
REAL = Path(__file__).resolve().parents[2] / "shared" / "crds"

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}
  namespace: {{ .Release.Namespace }}
  labels: {app.kubernetes.io/instance: {{ .Release.Name }}}
spec:
  selector: {matchLabels: {app: {{ .Release.Name }}}}
  template:
    metadata: {labels: {app: {{ .Release.Name }}}}
    spec:
      containers: [{name: main, image: "registry.example/{{ .Chart.Name }}:{{ .Chart.Version }}"}]
"""
VALUES = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}-values, namespace: {{ .Release.Namespace }}}
data:
  values.json: {{ .Values | toJson | quote }}
"""
GENERATED = """\
apiVersion: v1
kind: Secret
metadata: {name: {{ .Release.Name }}-generated, namespace: {{ .Release.Namespace }}}
stringData:
  certificate: {{ (genCA "ca" 365).Cert | quote }}
  password: {{ randAlphaNum 20 | quote }}
"""
HOOK = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ .Release.Name }}-hook
  namespace: {{ .Release.Namespace }}
  annotations:
    helm.sh/hook: pre-install,pre-upgrade
    helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
spec:
  template:
    metadata:
      annotations: {@annotations@}
    spec:
      restartPolicy: Never
      containers: [{name: main, image: "registry.example/hook:{{ .Chart.Version }}"}]
"""
UNLABELLED = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}-refused
  namespace: {{ .Release.Namespace }}
  labels: {broken: "no label: !!!"}
"""


@dataclass(frozen=True, kw_only=True)
class StandIn:
    """One chart: `slow` lets its hook take so many seconds, `is_refused` gives it an object no server takes."""

    name: str
    version: str
    slow: int = 0
    is_refused: bool = False
    definitions: Mapping[str, tuple[str, str, str]] = field(default_factory=dict)

    def files(self) -> dict[str, str]:
        metadata = {"apiVersion": "v2", "name": self.name, "version": self.version, "kubeVersion": ">=1.30.0-0"}
        found = {
            "Chart.yaml": json.dumps(metadata),
            "values.yaml": json.dumps({"own": {"list": [1, "2", {"three": "03"}], "text": "007"}}),
            "templates/deployment.yaml": DEPLOYMENT,
            "templates/values.yaml": VALUES,
            "templates/generated.yaml": GENERATED,
        }
        if self.slow or self.name in HOOKED:
            annotations = f'local.modelplane.ai/start-after: "{self.slow}s"' if self.slow else ""
            found["templates/hook.yaml"] = HOOK.replace("@annotations@", annotations)
        if self.is_refused:
            found["templates/refused.yaml"] = UNLABELLED
        folder = "crds" if self.name == "gateway-helm" else "templates"
        for name, (kind, scope, version) in self.definitions.items():
            document = real_definitions().get(name) or a_kind(name, kind, scope, version)
            found[f"{folder}/{name}.yaml"] = json.dumps(document)
        return found

    def packed(self) -> bytes:
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
            for path, text in self.files().items():
                entry = tarfile.TarInfo(f"{self.name}/{path}")
                entry.size = len(text.encode())
                archive.addfile(entry, io.BytesIO(text.encode()))
        return buffer.getvalue()


def a_kind(name: str, kind: str, scope: str, version: str) -> dict[str, object]:
    """A definition with a status of its own, that takes anything."""
    found = a_definition(name)
    spec = found["spec"]
    spec["names"] = {**spec["names"], "kind": kind, "listKind": f"{kind}List", "singular": kind.lower()}
    spec["scope"] = scope
    spec["versions"][0] |= {"name": version, "subresources": {"status": {}}}
    if name.endswith(".k8s.io"):
        found["metadata"]["annotations"] = {"api-approved.kubernetes.io": "https://example.com/stand-in"}
    return found


@cache
def real_definitions() -> dict[str, dict[str, Any]]:
    """The projects' own definitions by name; none where they do not lie beside the checkout."""
    files = (REAL / f"{name}.yaml" for name in REAL_FILES)
    documents = (
        document
        for file in files
        if file.is_file()
        for document in yaml.load_all(file.read_text(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    )
    return {document["metadata"]["name"]: document for document in documents if document}


def all_charts() -> list[StandIn]:
    return [
        StandIn(name=source.chart, version=source.version, definitions=BRINGS.get(source.chart, {}))
        for source in CHARTS.values()
    ]


class Repository:
    """A folder that is a repository of charts, with the files of definitions beside them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._charts: dict[tuple[str, str], StandIn] = {}
        (folder / "crds").mkdir(parents=True)
        for source in (GATEWAY_API, INFERENCE_EXTENSION, MODEL_EXPRESS):
            documents = []
            for name in DEFINITIONS[source.name]:
                kind = GATEWAY_KINDS.get(name, (name.partition(".")[0].capitalize(), "Namespaced", "v1"))
                body = real_definitions().get(name) or a_kind(name, *kind)
                document: dict[str, Any] = {**body, "status": {"storedVersions": ["v1"]}}
                document["metadata"] = {**document["metadata"], "creationTimestamp": None}
                documents.append(document)
            text = yaml.safe_dump_all(documents)
            (folder / "crds" / f"{source.name}-{source.version}.yaml").write_text(text)

    def put(self, *charts: StandIn) -> None:
        """Add charts, or charts in other versions."""
        for chart in charts:
            self._charts[chart.name, chart.version] = chart
            (self.folder / f"{chart.name}-{chart.version}.tgz").write_bytes(chart.packed())
        entries: dict[str, list[dict[str, object]]] = {}
        for name, version in sorted(self._charts):
            entry = {"apiVersion": "v2", "name": name, "version": version, "urls": [f"{name}-{version}.tgz"]}
            entries.setdefault(name, []).append(entry)
        (self.folder / "index.yaml").write_text(yaml.safe_dump({"apiVersion": "v1", "entries": entries}))

    @contextmanager
    def served(self) -> Iterator[str]:
        """The repository on the loopback; its URL."""
        handler = partial(_Quiet, directory=str(self.folder))
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            server.server_close()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *arguments: object) -> None:
        pass
