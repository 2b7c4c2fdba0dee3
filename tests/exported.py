"""States as Pulumi exports them, with operations that an engine has begun, and live objects as a cluster tells them."""

import json
from typing import Any

from stacks.exported import Plain

STACK = "urn:pulumi:demo.workloads.us::modelplane"
ROOT = f"{STACK}::pulumi:pulumi:Stack::modelplane-demo.workloads.us"
REPLICA = f"{STACK}::modelplane:index:ModelReplica::ml-team/qwen"
PROVIDER = f"{STACK}::pulumi:providers:kubernetes::us"
SERVICE = f"{STACK}::modelplane:index:ModelReplica$kubernetes:core/v1:Service::ml-team/qwen/service"
SIGNATURE = {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270"}
MANAGER = "pulumi-kubernetes-1a2b3c4d"
MANIFEST = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "qwen", "namespace": "ml-team"}}


def secret(value: Any) -> Plain:
    return {**SIGNATURE, "plaintext": json.dumps(value)}


RESOURCES: list[dict[str, Any]] = [
    {"urn": ROOT, "type": "pulumi:pulumi:Stack", "outputs": {"ready": True, "kubeconfig": secret("open sesame")}},
    {"urn": PROVIDER, "type": "pulumi:providers:kubernetes", "id": "p1", "inputs": {"kubeconfig": secret("the key")}},
    {"urn": REPLICA, "type": "modelplane:index:ModelReplica", "parent": ROOT},
]


def an_entry(**facts: Any) -> dict[str, Any]:
    plain = {
        "urn": SERVICE,
        "type": "kubernetes:core/v1:Service",
        "custom": True,
        "parent": REPLICA,
        "provider": f"{PROVIDER}::p1",
        "inputs": MANIFEST,
    }
    return plain | facts


def a_state(*pending: tuple[str, dict[str, Any]], resources: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    operations = [{"type": kind, "resource": entry} for kind, entry in pending]
    return {
        "version": 3,
        "deployment": {"manifest": {}, "resources": resources or RESOURCES, "pending_operations": operations},
    }


def live(
    *, fleet: str = "demo", manager: str = MANAGER, operation: str = "Apply", namespace: str | None = "ml-team"
) -> Plain:
    return {
        "metadata": {
            "name": "qwen",
            **({"namespace": namespace} if namespace else {}),
            "labels": {"modelplane.ai/fleet": fleet},
            "managedFields": [
                {"manager": "kubectl", "operation": "Update", "time": "2026-08-01T12:00:00Z"},
                {"manager": manager, "operation": operation, "time": "2026-08-01T10:00:00Z"},
            ],
        }
    }
