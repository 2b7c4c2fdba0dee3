"""A fleet as its stacks last exported it, in the form of the kinds: what `kubectl get -o yaml` would show of each.

Pure: stacks' outputs in, plain objects out. Specs come from the documents, a replica's from the ledger; every status
comes from outputs, in the form of `api.status`, with the conditions of `stacks.conditions`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, get_args

from api import names
from api.base import API_VERSION, Kind
from api.caches import ModelCache
from api.documents import FleetDocuments
from api.status import (
    AddressStatus,
    BackendName,
    CacheOnCluster,
    CachePhase,
    CacheStorageStatus,
    CacheSummary,
    GpuPoolStatus,
    InferenceClassStatus,
    InferenceClusterStatus,
    InferenceGatewayStatus,
    ModelCacheStatus,
    ModelDeploymentStatus,
    ModelEndpointStatus,
    ModelReplicaStatus,
    ModelServiceStatus,
    Refusal,
    ReplicaCounts,
    Status,
    WeightedEndpoint,
)
from programs.ledger import document
from programs.outputs import (
    ClusterOutputs,
    DeploymentState,
    GatewayOutputs,
    Ledger,
    LedgerReplica,
    PlacementOutputs,
    RoutingOutputs,
    ServiceState,
    ServingOutputs,
    WorkloadsOutputs,
)
from stacks.conditions import (
    cache_conditions,
    cache_resolved,
    class_conditions,
    cluster_conditions,
    endpoint_conditions,
    gateway_conditions,
    replica_conditions,
)

GATEWAY = "default"

Plain = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class FleetOutputs:
    """Last outputs of a fleet's stacks; an absent stack is absent here too."""

    gateway: GatewayOutputs | None = None
    clusters: Mapping[str, ClusterOutputs] = field(default_factory=dict)
    serving: Mapping[str, ServingOutputs] = field(default_factory=dict)
    placement: PlacementOutputs | None = None
    workloads: Mapping[str, WorkloadsOutputs] = field(default_factory=dict)
    routing: RoutingOutputs | None = None


def objects(documents: FleetDocuments, outputs: FleetOutputs) -> list[Plain]:
    """Every object with its status: what the stacks know, and what else is in the documents, by kind and name.

    Nothing where no stack has outputs.
    """
    if outputs == FleetOutputs():
        return []
    placement = outputs.placement or PlacementOutputs()
    routing = outputs.routing or RoutingOutputs()
    found = [_deployment(key, state, documents) for key, state in sorted(placement.deployments.items())]
    found += [
        _replica(entry, placement.ledger, outputs)
        for entry in sorted(placement.ledger.replicas, key=lambda entry: entry.key)
    ]
    found += [_service(key, state, documents) for key, state in sorted(routing.services.items())]
    found += [_cluster(name, outputs, documents) for name in sorted({*outputs.clusters, *documents.clusters})]
    found += [_gateway(outputs.gateway, documents)] if outputs.gateway else []
    staged = {(cache.namespace, cache.name) for cache in placement.ledger.caches}
    found += [_cache(key, placement, outputs, documents) for key in sorted({*documents.caches, *staged})]
    written = {f"{namespace}/{name}" for namespace, name in documents.endpoints}
    found += [_endpoint(key, routing, documents) for key in sorted({*routing.endpoints, *written})]
    return found + [_class(name, documents) for name in sorted(documents.classes)]


def condition_of(shown: Plain, kind: str) -> Plain:
    """One condition of an object; empty where it has none of that type."""
    return next((found for found in shown["status"].get("conditions", ()) if found["type"] == kind), {})


def _deployment(key: str, state: DeploymentState, documents: FleetDocuments) -> Plain:
    namespace, name = key.split("/", 1)
    written = documents.deployments.get((namespace, name))
    resolved = cache_resolved(written, documents.caches) if written else None
    status = ModelDeploymentStatus(
        replicas=ReplicaCounts(desired=state.wanted, total=state.placed, ready=state.ready),
        conditions=(*([resolved] if resolved else []), *state.conditions),
        unplaced={
            cluster: tuple(Refusal(code=found.code, message=found.message) for found in reasons)
            for cluster, reasons in state.verdicts.items()
        }
        if state.placed < state.wanted
        else None,
    )
    return _shown(_head("ModelDeployment", namespace, name, written), status)


def _replica(entry: LedgerReplica, ledger: Ledger, outputs: FleetOutputs) -> Plain:
    workloads = outputs.workloads.get(entry.cluster)
    state = workloads.replicas.get(entry.key) if workloads else None
    conditions = replica_conditions(entry, state, is_known=workloads is not None)
    shown: Plain = _without_empty(document(entry, ledger).plain())
    return _shown(shown, ModelReplicaStatus(conditions=tuple(conditions)))


def _service(key: str, state: ServiceState, documents: FleetDocuments) -> Plain:
    namespace, name = key.split("/", 1)
    status = ModelServiceStatus(
        address=state.address if isinstance(state.address, str) else None,
        endpoints=tuple(WeightedEndpoint(endpoint=found.endpoint, weight=found.weight) for found in state.backends),
        empty_entries=state.empty_entries,
        conditions=state.conditions,
    )
    shown = _shown(_head("ModelService", namespace, name, documents.services.get((namespace, name))), status)
    if not state.empty_entries:
        del shown["status"]["emptyEntries"]
    return shown


def _cluster(name: str, outputs: FleetOutputs, documents: FleetDocuments) -> Plain:
    cluster, serving = outputs.clusters.get(name), outputs.serving.get(name)
    written = documents.clusters.get(name)
    address = serving.gateway_address if serving else None
    storage = cluster.storage_class if cluster else None
    pools = written.spec.node_pools or () if written and cluster is None else ()
    missing = [pool.class_name for pool in pools if pool.class_name not in documents.classes]
    status = InferenceClusterStatus(
        namespace=names.SYSTEM_NAMESPACE,
        gateway=AddressStatus(address=address) if isinstance(address, str) else None,
        cache=CacheStorageStatus(storage_class_name=storage) if storage else None,
        gpu_pools=tuple(
            GpuPoolStatus(
                name=pool.name,
                nodes=pool.nodes.configured,
                nodes_present=pool.nodes.present,
                devices=pool.devices,
            )
            for pool in (cluster.pools if cluster else ())
        ),
        conditions=tuple(cluster_conditions(cluster, serving, missing)),
    )
    return _shown(_head("InferenceCluster", "", name, written), status)


def _gateway(gateway: GatewayOutputs, documents: FleetDocuments) -> Plain:
    status = InferenceGatewayStatus(
        address=gateway.address if isinstance(gateway.address, str) else None,
        conditions=tuple(gateway_conditions(gateway)),
    )
    return _shown(_head("InferenceGateway", "", GATEWAY, documents.gateway), status)


def _class(name: str, documents: FleetDocuments) -> Plain:
    status = InferenceClassStatus(conditions=tuple(class_conditions()))
    return _shown(_head("InferenceClass", "", name, documents.classes[name]), status)


def _cache(
    key: tuple[str, str], placement: PlacementOutputs, outputs: FleetOutputs, documents: FleetDocuments
) -> Plain:
    namespace, name = key
    written = documents.caches.get(key)
    held = [cache for cache in placement.ledger.caches if (cache.namespace, cache.name) == key]
    clusters = sorted({cluster for cache in held for cluster in cache.clusters})
    found = {
        cluster: _on_cluster(cluster, outputs.workloads.get(cluster), f"{namespace}/{name}") for cluster in clusters
    }
    refused = {cluster: why for cache in held for cluster, why in cache.refused.items()}
    phases = {cluster: state.phase or "Pending" for cluster, state in found.items()}
    ready = sum(phase == "Ready" for phase in phases.values())
    left_out = tuple(
        CacheOnCluster(name=cluster, phase="Unsupported", message=refused[cluster].message)
        for cluster in sorted(refused)
    )
    status = ModelCacheStatus(
        summary=CacheSummary(ready=f"{ready}/{len(phases)}"),
        clusters=(*found.values(), *left_out),
        conditions=tuple(cache_conditions(written, found, has_token=_has_token(written, documents))),
    )
    return _shown(_head("ModelCache", namespace, name, written), status)


def _on_cluster(cluster: str, workloads: WorkloadsOutputs | None, key: str) -> CacheOnCluster:
    """The phase on a cluster, and what keeps it there."""
    state = workloads.caches.get(key) if workloads else None
    known: tuple[CachePhase, ...] = get_args(CachePhase)
    phase = next((each for each in known if state and each == state.phase), "Pending")
    said = [part for part in (state.reason, state.message) if isinstance(part, str)] if state else []
    return CacheOnCluster(name=cluster, phase=phase, message=": ".join(said) or None)


def _has_token(cache: ModelCache | None, documents: FleetDocuments) -> bool:
    source = cache.spec.hugging_face if cache else None
    if cache is None or source is None or source.auth_secret is None:
        return True
    namespace, name, key = cache.namespace, source.auth_secret.name, source.auth_secret.key
    secret = documents.secrets.get((namespace, name))
    brought = documents.fleet.spec.secrets if documents.fleet else ()
    named = {each for found in brought if (found.namespace, found.name) == (namespace, name) for each in found.keys}
    return key in named or (secret is not None and key in secret.values())


def _endpoint(key: str, routing: RoutingOutputs, documents: FleetDocuments) -> Plain:
    namespace, name = key.split("/", 1)
    state = routing.endpoints.get(key)
    status = ModelEndpointStatus(
        routing=BackendName(backend_name=state.backend) if state else None,
        conditions=tuple(endpoint_conditions(is_in_use=state is not None)),
    )
    shown = _head("ModelEndpoint", namespace, name, documents.endpoints.get((namespace, name)))
    if "spec" not in shown and state and isinstance(state.url, str):
        shown["spec"] = {"url": state.url}
    return _shown(shown, status)


def _shown(shown: Plain, status: Status) -> Plain:
    plain = status.model_dump(by_alias=True, exclude_none=True, mode="json")
    plain["conditions"] = [{key: value for key, value in found.items() if value} for found in plain["conditions"]]
    return {**shown, "status": plain}


def _head(kind: str, namespace: str, name: str, written: Kind | None) -> Plain:
    """Kind and name, with metadata and spec where the document is at hand."""
    own = written.model_dump(by_alias=True, exclude_unset=True, mode="json") if written else {}
    metadata: Plain = {"name": name, **({"namespace": namespace} if namespace else {})}
    metadata |= {key: own["metadata"][key] for key in ("labels", "annotations") if own and own["metadata"].get(key)}
    shown = {"apiVersion": API_VERSION, "kind": kind, "metadata": metadata}
    return {**shown, "spec": own["spec"]} if own else shown


def _without_empty(value: Any) -> Any:
    """The same plain data without empty lists, mappings and texts, which say nothing in a replica."""
    if isinstance(value, dict):
        pruned = {key: _without_empty(item) for key, item in value.items()}
        return {key: item for key, item in pruned.items() if item not in ({}, [], "")}
    return [_without_empty(item) for item in value] if isinstance(value, list) else value
