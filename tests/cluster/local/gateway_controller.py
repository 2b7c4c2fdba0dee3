"""Envoy Gateway on a cluster, as its chart puts it there but for rights: certificates, controller and class."""

from typing import Any

from cluster.local.running import Eventually, Running

from local import toolbox

NAMESPACE = "envoy-gateway-system"
IMAGE = "docker.io/envoyproxy/gateway:v1.8.1"
CONTROLLER = "gateway.envoyproxy.io/gatewayclass-controller"
CLASS = "envoy"

Plain = dict[str, Any]


def install(running: Running, cluster: str, eventually: Eventually) -> None:
    """Put it there and wait until its class is accepted, by the real controller."""
    folder = next(toolbox.find().charts.glob("gateway-helm-*")) / "charts/crds/crds"
    running.kubectl(cluster, "apply", "--server-side", "--force-conflicts", "-R", "-f", str(folder))
    running.apply(cluster, *_documents())

    def accepted() -> bool:
        conditions = running.get(cluster, f"gatewayclass/{CLASS}").get("status", {}).get("conditions", [])
        return any(found["type"] == "Accepted" and found["status"] == "True" for found in conditions)

    eventually(accepted, 120)


def _documents() -> list[Plain]:
    settings = (
        "apiVersion: gateway.envoyproxy.io/v1alpha1\n"
        "kind: EnvoyGateway\n"
        f"gateway: {{controllerName: {CONTROLLER}}}\n"
        "provider:\n"
        "  type: Kubernetes\n"
        "  kubernetes: {proxyTopologyInjector: {disabled: true}}\n"
    )
    server = {
        "name": "envoy-gateway",
        "image": IMAGE,
        "args": ["server", "--config-path=/config/envoy-gateway.yaml"],
        "env": [_namespace_variable()],
        "ports": [{"name": "grpc", "containerPort": 18000}],
        "readinessProbe": {"httpGet": {"path": "/readyz", "port": 8081}},
        "volumeMounts": [{"name": "config", "mountPath": "/config"}, {"name": "certs", "mountPath": "/certs"}],
    }
    volumes = [
        {"name": "config", "configMap": {"name": "envoy-gateway-config"}},
        {"name": "certs", "secret": {"secretName": "envoy-gateway"}},
    ]
    certgen = {
        "name": "certgen",
        "image": IMAGE,
        "command": ["envoy-gateway", "certgen", "--disable-topology-injector"],
        "env": [_namespace_variable()],
    }
    labels = {"control-plane": "envoy-gateway"}
    account = {"serviceAccountName": "envoy-gateway"}
    pods = {"metadata": {"labels": labels}, "spec": {**account, "containers": [server], "volumes": volumes}}
    binding = {
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "ServiceAccount", "name": "envoy-gateway", "namespace": NAMESPACE}],
    }
    ports = [{"name": "grpc", "port": 18000, "targetPort": 18000}]
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": _named("envoy-gateway")},
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "envoy-gateway"},
            **binding,
        },
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": _named("envoy-gateway-config"),
            "data": {"envoy-gateway.yaml": settings},
        },
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": _named("certgen"),
            "spec": {"template": {"spec": {**account, "restartPolicy": "Never", "containers": [certgen]}}},
        },
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": _named("envoy-gateway"),
            "spec": {"selector": labels, "ports": ports},
        },
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": _named("envoy-gateway"),
            "spec": {"selector": {"matchLabels": labels}, "template": pods},
        },
        {
            "apiVersion": "gateway.networking.k8s.io/v1",
            "kind": "GatewayClass",
            "metadata": {"name": CLASS},
            "spec": {"controllerName": CONTROLLER},
        },
    ]


def _named(name: str) -> Plain:
    return {"name": name, "namespace": NAMESPACE}


def _namespace_variable() -> Plain:
    return {"name": "ENVOY_GATEWAY_NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}}
