"""The objects one replica puts on its cluster, as plain data (reference: workloads of a ModelReplica).

Standalone engines only: a Deployment and, per claiming member, a ResourceClaimTemplate; one Service and one HTTPRoute
for the replica. Values of the member's template pass through untouched; managed labels win over the user's.
"""

from collections.abc import Mapping
from typing import Any

from api import names
from api.replicas import ModelReplica, ReplicaEngine, ReplicaMember
from components.kubernetes_objects import SKIP_AWAIT

ENGINE_PORT = 8000
GPU_TAINT = "nvidia.com/gpu"
CLAIM = "devices"

Plain = dict[str, Any]


def deployment(replica: ModelReplica, engine: ReplicaEngine, labels: Mapping[str, str]) -> Plain:
    """The Deployment of a Standalone engine. It rolls without a spare node: a full pool must not wait for ever."""
    member = engine.members[0]
    workload = names.engine_workload(replica.name, engine.name)
    metadata = member.template.metadata
    pod_labels = {
        **(metadata.labels if metadata else {}),
        names.LABEL_DEPLOYMENT: replica.metadata.labels[names.LABEL_DEPLOYMENT],
        names.LABEL_SERVING: replica.name,
        names.LABEL_WORKLOAD: workload,
    }
    pod: Plain = {"metadata": {"labels": pod_labels}, "spec": pod_spec(replica, engine, member)}
    if metadata and metadata.annotations:
        pod["metadata"]["annotations"] = dict(metadata.annotations)
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": _metadata(replica, workload, labels),
        "spec": {
            "replicas": engine.copies,
            "selector": {"matchLabels": {names.LABEL_WORKLOAD: workload}},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}},
            "template": pod,
        },
    }


def pod_spec(replica: ModelReplica, engine: ReplicaEngine, member: ReplicaMember) -> Plain:
    """The pod of a serving member: pinned to its pool, claiming its devices, answering on port 8000."""
    spec: Plain = {
        "containers": [engine_container(member)],
        "nodeSelector": {names.LABEL_POOL: member.node_pool_name},
        "tolerations": [{"key": GPU_TAINT, "operator": "Exists", "effect": "NoSchedule"}],
        "volumes": [{"name": "dshm", "emptyDir": {"medium": "Memory"}}],
    }
    if member.device_requests:
        template = names.claim_template(replica.name, engine.name, member.role, member.device_requests)
        spec["resourceClaims"] = [{"name": CLAIM, "resourceClaimTemplateName": template}]
    pod = member.template.spec
    if pod and pod.image_pull_secrets:
        spec["imagePullSecrets"] = [{"name": secret.name} for secret in pod.image_pull_secrets]
    return spec


def engine_container(member: ReplicaMember) -> Plain:
    """The engine: image, command, args and env verbatim, plus the port, the probe and shared memory."""
    container = member.template.spec.containers[0]
    plain = container.model_dump(by_alias=True, exclude_none=True, mode="json")
    result: Plain = {
        "name": "engine",
        "image": plain["image"],
        "args": plain.get("args") or [],
        "ports": [{"containerPort": ENGINE_PORT}],
        "readinessProbe": {
            "httpGet": {"path": "/health", "port": ENGINE_PORT},
            "initialDelaySeconds": 30,
            "periodSeconds": 10,
            "timeoutSeconds": 5,
        },
        "volumeMounts": [{"name": "dshm", "mountPath": "/dev/shm"}],  # noqa: S108 - shared memory, not a temporary file
    }
    for key in ("command", "env"):
        if plain.get(key):
            result[key] = plain[key]
    if member.device_requests:
        result["resources"] = {"claims": [{"name": CLAIM}]}
    return result


def claim_template(
    replica: ModelReplica, engine: ReplicaEngine, member: ReplicaMember, labels: Mapping[str, str]
) -> Plain:
    """The claim of one member, one `exactly` request per device request; selectors unchanged (KEP-4381)."""
    requests = member.device_requests or ()
    name = names.claim_template(replica.name, engine.name, member.role, requests)
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": _metadata(replica, name, labels),
        "spec": {"spec": {"devices": {"requests": [_device_request(request) for request in requests]}}},
    }


def _device_request(request: Any) -> Plain:
    exactly: Plain = {"deviceClassName": request.device_class_name, "count": request.count}
    selectors = [{"cel": {"expression": selector.cel}} for selector in request.selectors or () if selector.cel]
    if selectors:
        exactly["selectors"] = selectors
    return {"name": request.name, "exactly": exactly}


def service(replica: ModelReplica, labels: Mapping[str, str]) -> Plain:
    """The Service in front of a Unified replica's pods where the cluster has no InferencePools."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": _metadata(replica, names.serving_service(replica.name), labels),
        "spec": {
            "type": "ClusterIP",
            "selector": {names.LABEL_SERVING: replica.name},
            "ports": [{"name": "http", "port": ENGINE_PORT, "targetPort": ENGINE_PORT, "protocol": "TCP"}],
        },
    }


def route(replica: ModelReplica, labels: Mapping[str, str]) -> Plain:
    """The replica's route on its cluster's gateway: prefix taken off, request timeout off, so that streams live."""
    backend = {"name": names.serving_service(replica.name), "port": ENGINE_PORT}
    rewrite = {"type": "ReplacePrefixMatch", "replacePrefixMatch": "/"}
    return {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "HTTPRoute",
        "metadata": _metadata(replica, replica.name, labels),
        "spec": {
            "parentRefs": [{"name": names.WORKLOAD_GATEWAY, "namespace": names.SYSTEM_NAMESPACE}],
            "rules": [
                {
                    "matches": [
                        {"path": {"type": "PathPrefix", "value": names.replica_prefix(replica.namespace, replica.name)}}
                    ],
                    "filters": [{"type": "URLRewrite", "urlRewrite": {"path": rewrite}}],
                    "backendRefs": [backend],
                    "timeouts": {"request": "0s"},
                }
            ],
        },
    }


def _metadata(replica: ModelReplica, name: str, labels: Mapping[str, str]) -> Plain:
    own = {names.LABEL_DEPLOYMENT: replica.metadata.labels[names.LABEL_DEPLOYMENT]}
    return {
        "name": name,
        "namespace": replica.namespace,
        "labels": {**labels, **own},
        "annotations": {SKIP_AWAIT: "true"},
    }
