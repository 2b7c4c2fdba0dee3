"""Small valid documents for tests: each builder has defaults that work together, and takes what a test is about.

The defaults are one fleet: cluster `us` with a pool `gpu` of one node of class `h100x8`, and a deployment `qwen` in
`ml-team` with one Standalone engine that needs eight GPUs.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from api import Fleet, InferenceClass, InferenceCluster, ModelCache, ModelDeployment, ModelEndpoint, ModelService
from api.base import API_VERSION

Plain = dict[str, Any]

BIG_MEMORY = 'device.capacity["gpu.nvidia.com"].memory.compareTo(quantity("70Gi")) >= 0'


def document(
    kind: str, name: str, spec: Plain, *, namespace: str = "", labels: Mapping[str, str] | None = None
) -> Plain:
    metadata: Plain = {"name": name}
    if namespace:
        metadata["namespace"] = namespace
    if labels:
        metadata["labels"] = dict(labels)
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": metadata, "spec": spec}


def a_device(name: str = "gpu", *, count: int = 8, memory: str = "81559Mi", **fields: Any) -> Plain:
    """A GPU that is claimed; `fields` are added, or replace what is there."""
    device: Plain = {
        "name": name,
        "driver": "gpu.nvidia.com",
        "deviceClassName": "gpu.nvidia.com",
        "count": count,
        "capacity": {"memory": {"value": memory}},
    }
    return device | fields


def a_synthetic_device(name: str = "disk", driver: str = "example.com", **fields: Any) -> Plain:
    """A fact about a node that is matched and never claimed."""
    return {"name": name, "claim": "Synthetic", "driver": driver} | fields


def a_class(name: str = "h100x8", *, devices: Sequence[Plain] | None = None, **spec: Any) -> InferenceClass:
    listed = list(devices) if devices is not None else [a_device()]
    return InferenceClass.parse(document("InferenceClass", name, {"devices": listed, **spec}))


def a_pool(name: str = "gpu", *, class_name: str = "h100x8", nodes: int = 1, **fields: Any) -> Plain:
    return {"name": name, "className": class_name, "nodeCount": nodes} | fields


def a_taint(key: str = "maintenance", *, effect: str = "NoSchedule", value: str = "") -> Plain:
    return {"key": key, "value": value, "effect": effect}


def a_cluster(
    name: str = "us",
    *,
    pools: Sequence[Plain] | None = None,
    labels: Mapping[str, str] | None = None,
    taints: Sequence[Plain] = (),
    **spec: Any,
) -> InferenceCluster:
    """A cluster that was handed over, with one pool of one node."""
    plain: Plain = {
        "cluster": {"source": "Existing", "existing": {"secretRef": {"name": f"{name}-kubeconfig"}}},
        "taints": list(taints),
        "nodePools": list(pools) if pools is not None else [a_pool()],
    }
    return InferenceCluster.parse(document("InferenceCluster", name, plain | spec, labels=labels))


def a_request(name: str = "gpu", *, count: int = 8, cel: str | Sequence[str] = BIG_MEMORY) -> Plain:
    expressions = [cel] if isinstance(cel, str) else list(cel)
    return {"name": name, "count": count, "selectors": [{"cel": expression} for expression in expressions]}


def a_member(
    role: str = "Standalone", *, requests: Sequence[Plain] | None = None, nodes: int | None = None, **fields: Any
) -> Plain:
    """A member with one request for eight GPUs; `requests=[]` asks for nothing, `nodes` is that of a Worker."""
    member: Plain = {
        "role": role,
        "template": {"spec": {"containers": [{"name": "engine", "image": "registry.example/engine:1"}]}},
    }
    listed = [a_request()] if requests is None else list(requests)
    if listed:
        member["nodeSelector"] = {"devices": listed}
    if nodes is not None:
        member["worker"] = {"nodes": nodes}
    return member | fields


def an_engine(name: str = "main", *, members: Sequence[Plain] | None = None, **fields: Any) -> Plain:
    return {"name": name, "members": list(members) if members is not None else [a_member()]} | fields


def a_gang(name: str = "main", *, nodes: int = 1, requests: Sequence[Plain] | None = None, **fields: Any) -> Plain:
    """An engine of one Leader and `nodes` Workers that all ask for the same."""
    members = [a_member("Leader", requests=requests), a_member("Worker", requests=requests, nodes=nodes)]
    return an_engine(name, members=members, **fields)


def a_deployment(
    name: str = "qwen",
    *,
    namespace: str = "ml-team",
    replicas: int = 1,
    engines: Sequence[Plain] | None = None,
    cluster_selector: Mapping[str, str] | None = None,
    tolerations: Sequence[Plain] = (),
    cache: str | None = None,
    labels: Mapping[str, str] | None = None,
    **shape: Any,
) -> ModelDeployment:
    """A deployment of one engine; `shape` is added to `spec.template.spec`, `labels` to its replicas."""
    inner: Plain = {"engines": list(engines) if engines is not None else [an_engine()]} | shape
    if cluster_selector is not None:
        inner["clusterSelector"] = {"matchLabels": dict(cluster_selector)}
    if tolerations:
        inner["tolerations"] = list(tolerations)
    if cache is not None:
        inner["modelCacheRef"] = {"name": cache}
    template: Plain = {"spec": inner} | ({"metadata": {"labels": dict(labels)}} if labels else {})
    spec = {"replicas": replicas, "template": template}
    return ModelDeployment.parse(document("ModelDeployment", name, spec, namespace=namespace))


def a_cache(
    name: str = "qwen", *, namespace: str = "ml-team", cluster_selector: Mapping[str, str] | None = None
) -> ModelCache:
    spec: Plain = {"source": "HuggingFace", "huggingFace": {"repo": "Qwen/Qwen3-8B", "sizeGiB": 20}}
    if cluster_selector is not None:
        spec["clusterSelector"] = {"matchLabels": dict(cluster_selector)}
    return ModelCache.parse(document("ModelCache", name, spec, namespace=namespace))


def a_service(
    name: str = "qwen", *, namespace: str = "ml-team", entries: Sequence[tuple[int, Mapping[str, str]]] | None = None
) -> ModelService:
    """A service; an entry is a weight and the labels it selects. By default all endpoints of deployment `name`."""
    listed = entries if entries is not None else [(1, {"modelplane.ai/deployment": name})]
    endpoints = [{"weight": weight, "selector": {"matchLabels": dict(labels)}} for weight, labels in listed]
    return ModelService.parse(document("ModelService", name, {"endpoints": endpoints}, namespace=namespace))


def an_endpoint(
    name: str = "outside",
    *,
    namespace: str = "ml-team",
    url: str = "https://api.example.com/",
    labels: Mapping[str, str] | None = None,
    rewrite_path: str = "/",
) -> ModelEndpoint:
    spec: Plain = {"url": url, "rewritePath": rewrite_path}
    return ModelEndpoint.parse(document("ModelEndpoint", name, spec, namespace=namespace, labels=labels))


def a_fleet(name: str = "prod", **spec: Any) -> Fleet:
    return Fleet.parse(document("Fleet", name, spec))
