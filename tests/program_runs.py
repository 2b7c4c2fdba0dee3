"""Programs of the fleet `prod` as a test runs them: its documents, and other stacks' outputs in place of an engine."""

from collections.abc import Mapping
from typing import Any

from builders import a_class, a_cluster, a_fleet, document
from recording import STATUS, Recording, record
from states import (
    an_entry,
    documents_of,
)

from api.base import Kind
from api.documents import FleetDocuments
from api.fleets import Secret
from api.routing import InferenceGateway
from components.charts import STACK_CHARTS
from programs import registry
from programs.context import Context
from programs.outputs import (
    Outputs,
)

THEN, NOW = "2026-08-01T00:00:00Z", "2026-08-02T00:00:00Z"
US = an_entry("qwen", "us")
HUSH = "a kubeconfig that nobody may see"

FLEET = a_fleet(
    "prod",
    gateway={
        "kubeconfigSecretRef": {"name": "hub"},
        "charts": {"traefik": {"enabled": False}},
        "crds": {"enabled": False},
    },
    servingStack={
        "crds": {"enabled": False},
        "gatewayClassName": "traefik",
        "inferencePools": False,
        "charts": {name: {"enabled": False} for name in STACK_CHARTS["Standard"]},
    },
)
DOOR = InferenceGateway.parse(
    document("InferenceGateway", "default", {"backend": "Traefik", "traefik": {"version": "37.0.0"}})
)


def a_secret(name: str) -> Secret:
    return Secret.parse(
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": name, "namespace": "modelplane-system"},
            "stringData": {"kubeconfig": HUSH},
        }
    )


def a_directory(*kinds: Kind) -> FleetDocuments:
    secrets = (a_secret("hub"), a_secret("us-kubeconfig"))
    return documents_of(FLEET, DOOR, *secrets, a_class(), a_cluster("us"), *kinds)


def ran(
    stack: str,
    documents: FleetDocuments,
    others: Mapping[str, Outputs] | None = None,
    *,
    preview: bool = False,
    status: Mapping[str, dict[str, Any]] = STATUS,
) -> Recording:
    """Run a stack's program; `others` are outputs by stack, its own last ones among them."""
    kind, _, name = stack.partition(".")
    kept = {f"prod.{other}": outputs.plain() for other, outputs in (others or {}).items()}
    context = Context(documents=documents, kind=kind, cluster=name or None, reader=kept.get, preview=preview, now=NOW)
    recording = record(lambda: registry.run(context), preview=preview, status=status, stack=f"prod.{stack}")
    assert HUSH not in str(recording.resources)
    assert HUSH not in str({key: value for key, value in recording.exports.items() if key not in recording.secret})
    return recording
