"""Objects of a serving cluster besides its charts, as plain data (reference: serving-stack, sections 7 to 9)."""

from typing import Any

from api import names
from api.versions import MODEL_EXPRESS_SERVER
from components.gateway_manifests import GATEWAY_API
from components.kubernetes_objects import WAIT_FOR
from components.mirrors import mirrored_image

Plain = dict[str, Any]
Labels = dict[str, str]

ENVOY_CONTROLLER = "gateway.envoyproxy.io/gatewayclass-controller"
MODEL_EXPRESS = "modelexpress-server"
MODEL_EXPRESS_PORT = 8001
MODEL_EXPRESS_ADDRESS = f"{MODEL_EXPRESS}.{names.SYSTEM_NAMESPACE}:{MODEL_EXPRESS_PORT}"
"""What engines are told. It names the namespace: engines run in those of their deployments, the server in ours."""
MODEL_EXPRESS_FOLDER = "/mnt/models"
LABEL_MODEL_EXPRESS = "modelplane.ai/modelexpress"

ROOT_QUEUE, QUEUE = "modelplane-root", "modelplane"
CRITICAL_PODS = "1k"
"""A thousand, as the API server writes it: it would give any other form back in this one."""


def envoy_proxy(labels: Labels) -> Plain:
    """Settings of the proxies. With Envoy Gateway's own default for the traffic policy, Nebius assigns no address."""
    return {
        "apiVersion": "gateway.envoyproxy.io/v1alpha1",
        "kind": "EnvoyProxy",
        "metadata": _metadata(names.WORKLOAD_GATEWAY, labels),
        "spec": {
            "provider": {
                "type": "Kubernetes",
                "kubernetes": {"envoyService": {"externalTrafficPolicy": "Cluster"}},
            }
        },
    }


def gateway_class(name: str, controller: str, labels: Labels, parameters: Plain | None = None) -> Plain:
    """A GatewayClass that is up once its controller has accepted it."""
    spec: Plain = {"controllerName": controller}
    if parameters is not None:
        spec["parametersRef"] = parameters
    return {
        "apiVersion": GATEWAY_API,
        "kind": "GatewayClass",
        "metadata": {"name": name, "labels": labels, "annotations": {WAIT_FOR: "condition=Accepted"}},
        "spec": spec,
    }


def envoy_class(name: str, labels: Labels) -> Plain:
    """The class of a cluster's own gateway."""
    parameters = {
        "group": "gateway.envoyproxy.io",
        "kind": "EnvoyProxy",
        "name": names.WORKLOAD_GATEWAY,
        "namespace": names.SYSTEM_NAMESPACE,
    }
    return gateway_class(name, ENVOY_CONTROLLER, labels, parameters)


def pool_readers(namespace: str, labels: Labels) -> tuple[Plain, Plain]:
    """What lets Envoy Gateway watch InferencePools: a role and its binding.

    Envoy Gateway is ready once it watches everything that routes may lead to. The AI gateway's chart brings the same
    rights, and is installed when Envoy Gateway is ready: without these each would wait for the other.
    """
    name = "modelplane-pool-readers"
    group = "rbac.authorization.k8s.io"
    rule = {
        "apiGroups": ["inference.networking.k8s.io"],
        "resources": ["inferencepools"],
        "verbs": ["get", "list", "watch"],
    }
    role = {
        "apiVersion": f"{group}/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name, "labels": labels},
        "rules": [rule],
    }
    binding = {
        "apiVersion": f"{group}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": name, "labels": labels},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": "envoy-gateway", "namespace": namespace}],
    }
    return role, binding


def critical_pods(namespace: str, labels: Labels) -> Plain:
    """The quota without which GKE admits no critical pods, as the device driver's are; elsewhere it only grants."""
    selector = {
        "operator": "In",
        "scopeName": "PriorityClass",
        "values": ["system-node-critical", "system-cluster-critical"],
    }
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": _metadata("allow-critical-pods", labels, namespace),
        "spec": {"hard": {"pods": CRITICAL_PODS}, "scopeSelector": {"matchExpressions": [selector]}},
    }


def queue(name: str, labels: Labels, parent: str | None = None) -> Plain:
    """A queue of KAI without bounds: the fleet's scheduler has decided already."""
    unbounded = {"quota": -1, "limit": -1, "overQuotaWeight": 1}
    spec: Plain = {"resources": {kind: dict(unbounded) for kind in ("cpu", "gpu", "memory")}}
    if parent is not None:
        spec["parentQueue"] = parent
    return {
        "apiVersion": "scheduling.run.ai/v2",
        "kind": "Queue",
        "metadata": {"name": name, "labels": labels},
        "spec": spec,
    }


def model_express(labels: Labels, image_mirror: str | None = None) -> dict[str, Plain]:
    """The server that tells replicas which of them holds a model, by the kinds of its objects. It stores no weights."""
    metadata = _metadata(MODEL_EXPRESS, labels)
    port = {"name": "grpc", "port": MODEL_EXPRESS_PORT, "targetPort": MODEL_EXPRESS_PORT, "protocol": "TCP"}
    return {
        "ServiceAccount": {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata},
        "Role": _model_express_role(metadata),
        "RoleBinding": {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "metadata": metadata,
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": MODEL_EXPRESS},
            "subjects": [
                {"kind": "ServiceAccount", "name": MODEL_EXPRESS, "namespace": names.SYSTEM_NAMESPACE},
            ],
        },
        "Service": {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": metadata,
            "spec": {"selector": {LABEL_MODEL_EXPRESS: MODEL_EXPRESS}, "ports": [port]},
        },
        "Deployment": _model_express_deployment(metadata, mirrored_image(MODEL_EXPRESS_SERVER, image_mirror)),
    }


def _model_express_role(metadata: Plain) -> Plain:
    verbs = ["get", "list", "create", "update", "patch", "delete"]
    kinds = ["modelmetadatas", "modelmetadatas/status", "modelcacheentries", "modelcacheentries/status"]
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": metadata,
        "rules": [
            {"apiGroups": ["modelexpress.nvidia.com"], "resources": kinds, "verbs": verbs},
            {"apiGroups": [""], "resources": ["configmaps"], "verbs": verbs},
        ],
    }


def _model_express_deployment(metadata: Plain, image: str) -> Plain:
    selector = {LABEL_MODEL_EXPRESS: MODEL_EXPRESS}
    folder = [("MODEL_EXPRESS_CACHE_DIRECTORY", MODEL_EXPRESS_FOLDER), ("HF_HUB_CACHE", MODEL_EXPRESS_FOLDER)]
    values = [*folder, ("MX_METADATA_BACKEND", "kubernetes")]
    own_namespace = {"fieldRef": {"fieldPath": "metadata.namespace"}}
    container = {
        "name": MODEL_EXPRESS,
        "image": image,
        "env": [
            *({"name": name, "value": value} for name, value in values),
            {"name": "POD_NAMESPACE", "valueFrom": own_namespace},
        ],
        "ports": [{"name": "grpc", "containerPort": MODEL_EXPRESS_PORT}],
        "readinessProbe": {"tcpSocket": {"port": MODEL_EXPRESS_PORT}, "periodSeconds": 10},
        "livenessProbe": {"tcpSocket": {"port": MODEL_EXPRESS_PORT}, "periodSeconds": 20},
        "volumeMounts": [{"name": "cache", "mountPath": MODEL_EXPRESS_FOLDER}],
    }
    pod = {
        "serviceAccountName": MODEL_EXPRESS,
        "containers": [container],
        "volumes": [{"name": "cache", "emptyDir": {}}],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata,
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": selector},
            "template": {"metadata": {"labels": {**metadata["labels"], **selector}}, "spec": pod},
        },
    }


def _metadata(name: str, labels: Labels, namespace: str = names.SYSTEM_NAMESPACE) -> Plain:
    return {"name": name, "namespace": namespace, "labels": labels}
