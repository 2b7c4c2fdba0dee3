"""Secrets and ConfigMaps that templates name, carried to the namespace where their pods run.

Values come from where documents say; those of an object that left the documents come from the stack's own last
outputs, for as long as a replica names it. One that nothing brings may still be on the cluster; it is named where pods
do not start.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pulumi import Output, Resource, ResourceOptions

from api import names
from api.errors import ModelplaneError
from components.kubernetes_objects import register
from programs.context import Context
from programs.outputs import Ledger, LedgerReplica, WorkloadsOutputs
from programs.secret_values import all_values

PULL_KEY = ".dockerconfigjson"

Values = dict[str, dict[str, str]]
"""Values by `<namespace>/<name>` and key."""


class Named(NamedTuple):
    """A Secret or ConfigMap that pods name."""

    kind: str
    key: str
    """`<namespace>/<name>`"""

    def __str__(self) -> str:
        """As a message says it."""
        return f"{self.kind} {self.key}"


@dataclass(frozen=True, kw_only=True)
class Carried:
    """What is carried, and what nothing brings."""

    secrets: Values = field(default_factory=dict, repr=False)
    config_maps: Values = field(default_factory=dict)
    missing: frozenset[Named] = frozenset()

    def missing_for(self, entry: LedgerReplica, ledger: Ledger) -> list[str]:
        """Objects that a replica needs and nothing brings, as a message says them."""
        return sorted(str(named) for named, needed in named_by(entry, ledger) if needed and named in self.missing)


def named_by(entry: LedgerReplica, ledger: Ledger) -> Iterator[tuple[Named, bool]]:
    """Every Secret and ConfigMap that a replica's pods name, and whether they need it to start."""
    for engine in entry.engines:
        for member in engine.members:
            spec = ledger.templates[member.template].spec
            for secret in spec.image_pull_secrets:
                yield Named("Secret", f"{entry.namespace}/{secret.name}"), True
            for variable in spec.engine.env:
                if (found := variable.named_object) is not None:
                    key = f"{entry.namespace}/{found.reference.name}"
                    yield Named(found.kind, key), not found.reference.optional


def carry(context: Context, entries: Iterable[LedgerReplica], ledger: Ledger, last: WorkloadsOutputs | None) -> Carried:
    """The objects that the replicas name. Nothing is registered."""
    wanted = sorted({named for entry in entries for named, _ in named_by(entry, ledger)})
    kept: Mapping[str, Values] = {
        "Secret": last.secrets if last else {},
        "ConfigMap": last.config_maps if last else {},
    }
    sources: Mapping[str, Callable[[Context, str, str], dict[str, str]]] = {
        "Secret": all_values,
        "ConfigMap": _config_map,
    }
    found: dict[str, Values] = {"Secret": {}, "ConfigMap": {}}
    missing = set()
    for named in wanted:
        namespace, _, name = named.key.partition("/")
        try:
            found[named.kind][named.key] = sources[named.kind](context, name, namespace)
        except (ModelplaneError, KeyError):
            if named.key in kept[named.kind]:
                found[named.kind][named.key] = kept[named.kind][named.key]
            else:
                missing.add(named)
    return Carried(secrets=found["Secret"], config_maps=found["ConfigMap"], missing=frozenset(missing))


def register_carried(context: Context, carried: Carried, opts: ResourceOptions) -> dict[Named, Resource]:
    """Register what is carried."""
    labels = {names.LABEL_FLEET: context.fleet.name}
    found: dict[Named, Resource] = {}
    for key, values in carried.secrets.items():
        own = ResourceOptions.merge(opts, ResourceOptions(replace_on_changes=["type"], delete_before_replace=True))
        manifest = {
            **_head("Secret", key, labels),
            "type": "kubernetes.io/dockerconfigjson" if set(values) == {PULL_KEY} else "Opaque",
            "stringData": {entry: Output.secret(value) for entry, value in values.items()},
        }
        found[Named("Secret", key)] = register(manifest, f"secret:{key}", own)
    for key, values in carried.config_maps.items():
        manifest = {**_head("ConfigMap", key, labels), "data": values}
        found[Named("ConfigMap", key)] = register(manifest, f"configMap:{key}", opts)
    return found


def _head(kind: str, key: str, labels: Mapping[str, str]) -> dict[str, Any]:
    namespace, _, name = key.partition("/")
    metadata = {"name": name, "namespace": namespace, "labels": dict(labels)}
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata}


def _config_map(context: Context, name: str, namespace: str) -> dict[str, str]:
    """The values of a document. Raises KeyError where there is none."""
    return dict(context.documents.config_maps[namespace, name].data)
