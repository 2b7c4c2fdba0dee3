"""A fleet as its stacks last exported it, in the form of the kinds: what `kubectl get -o yaml` would show of each.

Pure: stacks' outputs in, plain objects out. Specs come from the documents, a replica's from the ledger; every status
and condition comes from outputs, with the types and reasons of the api contract (sections 3 to 9). `Retiring` is the
one condition beyond it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from api import names
from api.base import API_VERSION, Condition, Kind
from api.documents import FleetDocuments
from programs.ledger import document
from programs.outputs import (
    UNKNOWN,
    ClusterOutputs,
    DeploymentState,
    GatewayOutputs,
    Ledger,
    LedgerReplica,
    PlacementOutputs,
    ReplicaState,
    RoutingOutputs,
    ServiceState,
    ServingOutputs,
    Unknown,
    WorkloadsOutputs,
)

GATEWAY = "default"

Plain = dict[str, Any]
Flag = Unknown | bool


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
    """Every deployment, replica, service, cluster and the gateway that the stacks know, in this order and by name."""
    placement = outputs.placement or PlacementOutputs()
    routing = outputs.routing or RoutingOutputs()
    found = [_deployment(key, state, documents) for key, state in sorted(placement.deployments.items())]
    found += [
        _replica(entry, placement.ledger, outputs)
        for entry in sorted(placement.ledger.replicas, key=lambda entry: entry.key)
    ]
    found += [_service(key, state, documents) for key, state in sorted(routing.services.items())]
    found += [_cluster(name, outputs, documents) for name in sorted(outputs.clusters)]
    return found + ([_gateway(outputs.gateway, documents)] if outputs.gateway else [])


def condition_of(shown: Plain, kind: str) -> Plain:
    """One condition of an object; empty where it has none of that type."""
    return next((found for found in shown["status"].get("conditions", ()) if found["type"] == kind), {})


def _deployment(key: str, state: DeploymentState, documents: FleetDocuments) -> Plain:
    namespace, name = key.split("/", 1)
    shown = _head("ModelDeployment", namespace, name, documents.deployments.get((namespace, name)))
    shown["status"] = {
        "replicas": {"desired": state.wanted, "total": state.placed, "ready": state.ready},
        "conditions": _plain(state.conditions),
    }
    if state.placed < state.wanted:
        refused = {cluster: [found.plain() for found in reasons] for cluster, reasons in state.verdicts.items()}
        shown["status"]["unplaced"] = refused
    return shown


def _replica(entry: LedgerReplica, ledger: Ledger, outputs: FleetOutputs) -> Plain:
    workloads = outputs.workloads.get(entry.cluster)
    state = workloads.replicas.get(entry.key) if workloads else None
    shown: Plain = _without_empty(document(entry, ledger).plain())
    shown["status"] = {"conditions": _plain(_replica_conditions(entry, state, is_known=workloads is not None))}
    return shown


def _replica_conditions(entry: LedgerReplica, state: ReplicaState | None, *, is_known: bool) -> list[Condition]:
    if state is None:
        reason = "Deploying" if is_known else "WaitingForCluster"
        text = f"waits for {', '.join(entry.waits_for)} to leave its nodes" if entry.waits_for else ""
        accepted = _condition("ModelAccepted", status=False, reason=reason, message=text)
        ready = _condition("ModelReady", status=False, reason="WaitingForModel", message=text)
    else:
        accepted = _condition("ModelAccepted", state.applied, reason=("Accepted", "Deploying"))
        since = state.since if isinstance(state.since, str) else ""
        reason = state.reason if isinstance(state.reason, str) else "ModelStarting"
        text = state.message if isinstance(state.message, str) else ""
        ready = _condition("ModelReady", state.ready, reason=reason, message=text, since=since)
    conditions = [accepted, ready, _together([accepted, ready])]
    if entry.state == "retiring":
        retiring = _condition("Retiring", status=True, reason="Retiring", message=entry.reason)
        conditions.append(retiring)
    return conditions


def _service(key: str, state: ServiceState, documents: FleetDocuments) -> Plain:
    namespace, name = key.split("/", 1)
    shown = _head("ModelService", namespace, name, documents.services.get((namespace, name)))
    status: Plain = {"conditions": _plain(state.conditions)}
    if isinstance(state.address, str):
        status["address"] = state.address
    status["endpoints"] = [found.plain() for found in state.backends]
    if state.empty_entries:
        status["emptyEntries"] = list(state.empty_entries)
    shown["status"] = status
    return shown


def _cluster(name: str, outputs: FleetOutputs, documents: FleetDocuments) -> Plain:
    cluster, serving = outputs.clusters[name], outputs.serving.get(name)
    shown = _head("InferenceCluster", "", name, documents.clusters.get(name))
    address = serving.gateway_address if serving else None
    status: Plain = {"namespace": names.SYSTEM_NAMESPACE}
    if isinstance(address, str):
        status["gateway"] = {"address": address}
    if cluster.storage_class:
        status["cache"] = {"storageClassName": cluster.storage_class}
    status["gpuPools"] = [
        {
            "name": pool.name,
            "nodes": pool.nodes.configured,
            **({} if pool.nodes.present is None else {"nodesPresent": pool.nodes.present}),
            "devices": [device.model_dump(by_alias=True, exclude_none=True, mode="json") for device in pool.devices],
        }
        for pool in cluster.pools
    ]
    status["conditions"] = _plain(_cluster_conditions(cluster, serving))
    shown["status"] = status
    return shown


def _cluster_conditions(cluster: ClusterOutputs, serving: ServingOutputs | None) -> list[Condition]:
    since = cluster.unreachable_since or ""
    if cluster.reachable:
        running = _condition("ClusterReady", status=True, reason="ClusterRunning")
    else:
        reason, _, text = cluster.reason.partition(":")
        running = _condition(
            "ClusterReady", UNKNOWN, reason=reason.strip() or "Unreachable", message=text.strip(), since=since
        )
    if serving is None:
        backend = _condition("BackendReady", status=False, reason="WaitingForCluster")
    else:
        backend = _condition("BackendReady", serving.ready, reason=("BackendHealthy", "Installing"))
    return [running, backend, _together([running, backend])]


def _gateway(gateway: GatewayOutputs, documents: FleetDocuments) -> Plain:
    shown = _head("InferenceGateway", "", GATEWAY, documents.gateway)
    status: Plain = {}
    if isinstance(gateway.address, str):
        status["address"] = gateway.address
    controller = _condition("ControllerReady", gateway.ready, reason=("ControllerHealthy", "Installing"))
    status["conditions"] = _plain([controller, _together([controller])])
    shown["status"] = status
    return shown


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


def _condition(
    kind: str, status: Flag, *, reason: str | tuple[str, str], message: str = "", since: str = ""
) -> Condition:
    """A condition; `reason` may give one for True and one for anything else."""
    text = "Unknown" if status is UNKNOWN else "True" if status is True else "False"
    if isinstance(reason, tuple):
        reason = reason[0] if status is True else reason[1]
    return Condition(type=kind, status=text, reason=reason, message=message, last_transition_time=since)


def _together(parts: list[Condition]) -> Condition:
    """Ready when all parts are; the first that is not speaks for the object."""
    since = max((part.last_transition_time for part in parts), default="")
    failing = next((part for part in parts if part.status != "True"), None)
    if failing is None:
        return _condition("Ready", status=True, reason="Available", since=since)
    status = UNKNOWN if failing.status == "Unknown" else False
    return _condition("Ready", status, reason=failing.reason, message=failing.message, since=since)


def _plain(conditions: Any) -> list[Plain]:
    """Conditions as plain data, without what is empty."""
    return [
        {key: value for key, value in found.model_dump(by_alias=True, mode="json").items() if value}
        for found in conditions
    ]
