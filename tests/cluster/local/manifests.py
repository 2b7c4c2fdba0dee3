"""What a user, or Modelplane for them, puts onto clusters: engines, gateways, routes."""

import json
from typing import Any

from cluster.local import gateway_controller
from cluster.local.running import Eventually, Running

TEAM = "ml-team"
REPLICA = "mock-demo-be445"
PATH = f"/{TEAM}/{REPLICA}"
CHAT = json.dumps({"messages": [{"role": "user", "content": "hello"}]})


def an_engine(
    name: str = REPLICA, *, gpus: int = 8, replicas: int = 1, annotations: dict[str, str] | None = None
) -> list[Any]:
    """What an engine is on a cluster: a claim template with a memory selector, and a Deployment that claims."""
    memory = 'device.capacity["gpu.nvidia.com"].memory.compareTo(quantity("80000Mi")) >= 0'
    exactly = {"deviceClassName": "gpu.nvidia.com", "count": gpus, "selectors": [{"cel": {"expression": memory}}]}
    labels = {"modelplane.ai/workload": name, "modelplane.ai/serving": name}
    container = {
        "name": "engine",
        "image": "registry.example/engine:1",
        "args": ["--model", "org/model"],
        "resources": {"claims": [{"name": "devices"}]},
    }
    pod = {
        "nodeSelector": {"modelplane.ai/pool": "h100"},
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
        "resourceClaims": [{"name": "devices", "resourceClaimTemplateName": name}],
        "containers": [container],
    }
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": TEAM}},
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaimTemplate",
            "metadata": {"name": name, "namespace": TEAM},
            "spec": {"spec": {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}}},
        },
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": name, "namespace": TEAM},
            "spec": {
                "replicas": replicas,
                "selector": {"matchLabels": {"modelplane.ai/workload": name}},
                "template": {"metadata": {"labels": labels, "annotations": annotations or {}}, "spec": pod},
            },
        },
    ]


def a_route(gateway: str, name: str, path: str, service: str, port: int, *, rewrite: str) -> list[Any]:
    """A Gateway for all namespaces and a route below a path to a Service: of the hub, or of a cluster at port 80."""
    kind = gateway_controller.CLASS if port == 80 else "traefik"
    listener = {"name": "web", "protocol": "HTTP", "port": port, "allowedRoutes": {"namespaces": {"from": "All"}}}
    rewriting = {
        "type": "URLRewrite",
        "urlRewrite": {"path": {"type": "ReplacePrefixMatch", "replacePrefixMatch": rewrite}},
    }
    rule = {
        "matches": [{"path": {"type": "PathPrefix", "value": f"{path}/"}}],
        "filters": [rewriting],
        "backendRefs": [{"name": service, "port": 8000 if port == 80 else 80}],
    }
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "modelplane-system"}},
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": TEAM}},
        {
            "apiVersion": "gateway.networking.k8s.io/v1",
            "kind": "Gateway",
            "metadata": {"name": gateway, "namespace": "modelplane-system"},
            "spec": {
                "gatewayClassName": kind,
                "listeners": [listener],
            },
        },
        {
            "apiVersion": "gateway.networking.k8s.io/v1",
            "kind": "HTTPRoute",
            "metadata": {"name": name, "namespace": TEAM},
            "spec": {"parentRefs": [{"name": gateway, "namespace": "modelplane-system"}], "rules": [rule]},
        },
    ]


def a_whole_route(running: Running, eventually: Eventually) -> str:
    """From the hub's path `/ml-team/mock` to the engine's pods on `east`; the address of the gateway there."""
    gateway_controller.install(running, "east", eventually)
    selected = {"selector": {"modelplane.ai/serving": REPLICA}, "ports": [{"port": 8000}]}
    serving = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "serving", "namespace": TEAM},
        "spec": selected,
    }
    route = a_route("inference-gateway", REPLICA, PATH, "serving", 80, rewrite="/")
    running.apply("east", *an_engine(), *route, serving)
    gateway = ("gateway/inference-gateway", "-n", "modelplane-system")
    eventually(lambda: condition(running.get("east", *gateway), "Programmed") == "True")
    (address,) = running.get("east", *gateway)["status"]["addresses"]
    metadata = {"name": "endpoint", "namespace": TEAM}
    running.apply(
        "hub",
        *a_route("modelplane", "mock", f"/{TEAM}/mock", "endpoint", 8000, rewrite=f"{PATH}/"),
        {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"ports": [{"port": 80}]}},
        {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {**metadata, "labels": {"kubernetes.io/service-name": "endpoint"}},
            "addressType": "IPv4",
            "ports": [{"name": "", "port": 80, "protocol": "TCP"}],
            "endpoints": [{"addresses": [address["value"]], "conditions": {"ready": True}}],
        },
    )
    return str(address["value"])


def condition(thing: Any, kind: str) -> str:
    found = [entry["status"] for entry in thing.get("status", {}).get("conditions", []) if entry["type"] == kind]
    return found[0] if found else ""
