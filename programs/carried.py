"""Secrets that templates name, carried to the namespace where their pods run.

Values come from where documents say; those of a Secret that left the documents come from the stack's own last outputs,
for as long as a replica names it. One that nothing brings may still be on the cluster; it is named where pods do not
start.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from pulumi import Output, ResourceOptions

from api import names
from api.errors import ModelplaneError
from components.kubernetes_objects import register
from programs.context import Context
from programs.outputs import Ledger, LedgerReplica, WorkloadsOutputs
from programs.secret_values import all_values

PULL_KEY = ".dockerconfigjson"


@dataclass(frozen=True, kw_only=True)
class Carried:
    """Values by `<namespace>/<name>` of a Secret, and the keys of Secrets that nothing brings."""

    values: dict[str, dict[str, str]] = field(default_factory=dict, repr=False)
    missing: frozenset[str] = frozenset()

    def missing_for(self, entry: LedgerReplica, ledger: Ledger) -> list[str]:
        """Secrets that a replica names and nothing brings."""
        return sorted(self.missing & set(secrets_of(entry, ledger)))


def secrets_of(entry: LedgerReplica, ledger: Ledger) -> Iterable[str]:
    """`<namespace>/<name>` of every Secret that a replica's pods name; optional ones are left out."""
    for engine in entry.engines:
        for member in engine.members:
            spec = ledger.templates[member.template].spec
            for secret in spec.image_pull_secrets:
                yield f"{entry.namespace}/{secret.name}"
            for variable in spec.engine.env:
                reference = variable.value_from.secret_key_ref if variable.value_from else None
                if reference is not None:
                    yield f"{entry.namespace}/{reference.name}"


def carry(context: Context, entries: Iterable[LedgerReplica], ledger: Ledger, last: WorkloadsOutputs | None) -> Carried:
    """The Secrets that the replicas need. Nothing is registered."""
    values: dict[str, dict[str, str]] = {}
    missing: set[str] = set()
    kept = last.secrets if last else {}
    for key in sorted({key for entry in entries for key in secrets_of(entry, ledger)}):
        namespace, _, name = key.partition("/")
        try:
            values[key] = all_values(context, name, namespace)
        except ModelplaneError:
            if key in kept:
                values[key] = kept[key]
            else:
                missing.add(key)
    return Carried(values=values, missing=frozenset(missing))


def register_secrets(context: Context, carried: Carried, opts: ResourceOptions) -> dict[str, Any]:
    """Register the Secrets, by key."""
    found = {}
    for key, values in carried.values.items():
        namespace, _, name = key.partition("/")
        own = ResourceOptions.merge(opts, ResourceOptions(replace_on_changes=["type"], delete_before_replace=True))
        manifest = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": name, "namespace": namespace, "labels": {names.LABEL_FLEET: context.fleet.name}},
            "type": "kubernetes.io/dockerconfigjson" if set(values) == {PULL_KEY} else "Opaque",
            "stringData": {entry: Output.secret(value) for entry, value in values.items()},
        }
        found[key] = register(manifest, f"secret:{key}", own)
    return found
