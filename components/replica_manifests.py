"""What one replica puts on its cluster besides pods' details: the workload of each engine, its Service and its route.

One workload object an engine, whatever its copies: a Deployment for a Standalone, a gang by the cluster's stack.
"""

from api import names
from api.replicas import ReplicaEngine
from components.gang_manifests import clique_set, leader_worker_set
from components.picker_manifests import POOL_GROUP
from components.pod_manifests import pod_labels, pod_spec
from components.setting import ENGINE_PORT, Plain, Setting, is_gang, member_of, object_metadata


def workload(setting: Setting, engine: ReplicaEngine) -> Plain:
    """The object that runs an engine: Deployment, LeaderWorkerSet or PodCliqueSet."""
    if not is_gang(engine):
        return deployment(setting, engine)
    return clique_set(setting, engine) if setting.stack == "Dynamo" else leader_worker_set(setting, engine)


def deployment(setting: Setting, engine: ReplicaEngine) -> Plain:
    """The Deployment of a Standalone engine. It rolls without a spare node: a full pool must not wait for ever."""
    member = member_of(engine)
    name = names.engine_workload(setting.replica.name, engine.name)
    pod: Plain = {
        "metadata": {"labels": pod_labels(setting, engine, member, name)},
        "spec": pod_spec(setting, engine, member),
    }
    if member.template.metadata.annotations:
        pod["metadata"]["annotations"] = dict(member.template.metadata.annotations)
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": object_metadata(setting, name),
        "spec": {
            "replicas": engine.copies,
            "selector": {"matchLabels": {names.LABEL_WORKLOAD: name}},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}},
            "template": pod,
        },
    }


def service(setting: Setting) -> Plain:
    """The Service in front of a Unified replica's pods where the cluster has no InferencePools."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": object_metadata(setting, names.serving_service(setting.replica.name)),
        "spec": {
            "type": "ClusterIP",
            "selector": {names.LABEL_SERVING: setting.replica.name},
            "ports": [{"name": "http", "port": ENGINE_PORT, "targetPort": ENGINE_PORT, "protocol": "TCP"}],
        },
    }


def route(setting: Setting) -> Plain:
    """The replica's route on its cluster's gateway: prefix taken off, request timeout off, so that streams live."""
    replica = setting.replica
    backend: Plain = {"name": names.serving_service(replica.name), "port": ENGINE_PORT}
    if setting.inference_pools:
        backend = {"group": POOL_GROUP, "kind": "InferencePool", "name": names.inference_pool(replica.name)}
    rewrite = {"type": "ReplacePrefixMatch", "replacePrefixMatch": "/"}
    return {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "HTTPRoute",
        "metadata": object_metadata(setting, replica.name),
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
