"""Columns of `modelplane get`: each kind's own, as upstream's definitions have them, then READY and AGE.

Upstream prints a cache's `status.summary.ready` and the condition Ready in two columns of one name. Here there is one,
with what tells more: on how many of its clusters a cache is staged.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from api.kinds import is_namespaced
from api.status import STATUS
from cli.printing import table
from cli.tables import age
from stacks.query import value_at
from stacks.status import condition_of

Plain = dict[str, Any]
NONE = "-"


@dataclass(frozen=True, kw_only=True)
class Layout:
    """What of an object is shown beside its own columns."""

    wide: bool = False
    labels: bool = False
    namespace: bool = True
    """Whether namespaced kinds show theirs."""
    kind: bool = False
    """Whether names say their kind, as they do where several are listed."""
    head: bool = True


@dataclass(frozen=True)
class Column:
    """One column: its name, what it shows, and whether only `-o wide` has it."""

    name: str
    of: Callable[[Plain], str]
    wide: bool = False


def object_table(kind: str, objects: Sequence[Plain], layout: Layout, now: datetime) -> str:
    """The objects of one kind, a line each."""
    columns = _columns(kind, layout, now)
    rows = [[column.of(shown) for column in columns] for shown in objects]
    text = table([column.name for column in columns], rows)
    return text if layout.head else text.partition("\n")[2]


def full_name(shown: Plain) -> str:
    """`modeldeployment.modelplane.ai/qwen`, as `-o name` shows it; the core's kinds have no group."""
    group = shown["apiVersion"].rpartition("/")[0]
    return f"{shown['kind'].lower()}{'.' if group else ''}{group}/{shown['metadata']['name']}"


def _columns(kind: str, layout: Layout, now: datetime) -> list[Column]:
    name = full_name if layout.kind else lambda shown: str(shown["metadata"]["name"])
    columns = [Column("NAME", name)]
    if layout.namespace and is_namespaced(kind):
        columns.insert(0, Column("NAMESPACE", _at("metadata", "namespace")))
    columns += [column for column in _OWN.get(kind, ()) if layout.wide or not column.wide]
    if kind in STATUS:
        if not any(column.name == "READY" for column in columns):
            columns.append(Column("READY", lambda shown: _ready(shown).get("status", NONE)))
        if layout.wide:
            columns.append(Column("REASON", lambda shown: _ready(shown).get("reason", NONE)))
        columns.append(Column("AGE", lambda shown: age(_ready(shown).get("lastTransitionTime"), now)))
    if layout.labels:
        columns.append(Column("LABELS", _labels))
    return columns


def _ready(shown: Plain) -> Plain:
    return condition_of(shown, "Ready") if "status" in shown else {}


def _labels(shown: Plain) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted((shown["metadata"].get("labels") or {}).items())) or NONE


def _at(*path: str | int) -> Callable[[Plain], str]:
    """What a path leads to, as text."""

    def of(shown: Plain) -> str:
        found = value_at(shown, path)
        return NONE if found is None else str(found)

    return of


def _joined(path: Sequence[str], of: Callable[[Plain], str]) -> Callable[[Plain], str]:
    """What is said of each entry of a list, one after the other."""
    return lambda shown: ",".join(of(entry) for entry in value_at(shown, path) or ()) or NONE


def _pools(shown: Plain) -> str:
    engines = value_at(shown, ("spec", "engines")) or ()
    return ",".join(sorted({str(each.get("nodePoolName")) for engine in engines for each in engine["members"]})) or NONE


def _entries(*paths: str) -> Callable[[Plain], str]:
    return lambda shown: str(sum(len(shown.get(path) or {}) for path in paths))


_OWN: Mapping[str, Sequence[Column]] = {
    "InferenceGateway": (
        Column("GATEWAY", _at("spec", "backend")),
        Column("ADDRESS", _at("status", "address")),
    ),
    "InferenceClass": (
        Column("DEVICES", _joined(("spec", "devices"), lambda it: f"{it.get('count', 1)}x{it['name']}"), wide=True),
        Column("PROVIDER", _at("spec", "provisioning", "provider"), wide=True),
    ),
    "InferenceCluster": (
        Column("SOURCE", _at("spec", "cluster", "source")),
        Column("GATEWAY", _at("status", "gateway", "address")),
        Column("STACK", _at("spec", "stack"), wide=True),
        Column(
            "NODES",
            _joined(("status", "gpuPools"), lambda it: f"{it['name']} {it.get('nodesPresent', '?')}/{it['nodes']}"),
            wide=True,
        ),
    ),
    "ModelDeployment": (
        Column("REPLICAS", _at("status", "replicas", "ready")),
        Column("WANTED", _at("spec", "replicas"), wide=True),
        Column("PLACED", _at("status", "replicas", "total"), wide=True),
    ),
    "ModelReplica": (Column("CLUSTER", _at("spec", "clusterName")), Column("POOL", _pools, wide=True)),
    "ModelCache": (
        Column("SOURCE", _at("spec", "huggingFace", "repo")),
        Column("READY", _at("status", "summary", "ready")),
        Column("REVISION", _at("spec", "huggingFace", "revision"), wide=True),
        Column(
            "CLUSTERS",
            _joined(("status", "clusters"), lambda it: f"{it['name']} {it.get('phase', '?')}"),
            wide=True,
        ),
    ),
    "ModelService": (
        Column("ADDRESS", _at("status", "address")),
        Column(
            "ENDPOINTS",
            _joined(("status", "endpoints"), lambda it: f"{it['endpoint'].partition('/')[2]} {it['weight']}"),
            wide=True,
        ),
    ),
    "ModelEndpoint": (
        Column("URL", _at("spec", "url")),
        Column("BACKEND", _at("status", "routing", "backendName"), wide=True),
    ),
    "Fleet": (Column("GATEWAY", _at("spec", "gateway", "address")),),
    "ConfigMap": (Column("DATA", _entries("data", "binaryData")),),
    "Secret": (
        Column("TYPE", lambda shown: str(shown.get("type", "Opaque"))),
        Column("DATA", _entries("data", "stringData")),
    ),
}
"""Columns between name and READY, by kind."""
