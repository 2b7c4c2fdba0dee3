"""Stacks' outputs and ledgers for tests: small, valid, and alike with the documents of `builders`.

An entry of the ledger is a replica of deployment `qwen` in `ml-team` on pool `gpu` of cluster `us`; templates and facts
that entries name are put into the ledger by `a_ledger`.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from builders import BIG_MEMORY, a_class, a_cluster, a_device, a_fleet

from api import Fleet, InferenceClass, InferenceCluster, ModelCache, ModelDeployment, ModelEndpoint, ModelService, names
from api.base import Kind
from api.classes import Device
from api.config_maps import ConfigMap
from api.documents import FleetDocuments
from api.fleets import Secret
from api.pods import PodTemplate
from api.routing import InferenceGateway
from api.terms import ClaimRequest, Selector
from programs.ledger import LedgerBuilder, template_hash
from programs.outputs import (
    ClusterInputs,
    ClusterOutputs,
    EndpointState,
    GatewayOutputs,
    Ledger,
    LedgerEngine,
    LedgerMember,
    LedgerReplica,
    MaybeFlag,
    MaybeText,
    NodeCounts,
    PlacementOutputs,
    PoolFacts,
    ReplicaState,
    RoutingOutputs,
    ServingOutputs,
    WorkloadsOutputs,
)
from programs.placement_plan import Observed

IMAGE = "registry.example/engine:1"
NAMESPACE = "ml-team"

Changes = Mapping[str, Mapping[str, Any]]
"""Outputs by kind of stack and cluster; None for an absent stack."""


def documents_of(*kinds: Kind, directory: Path = Path("fleet")) -> FleetDocuments:
    """Documents as the loader would hand them out, without a directory behind them."""

    def named(kind: type[Any]) -> dict[str, Any]:
        return {each.name: each for each in kinds if isinstance(each, kind)}

    def keyed(kind: type[Any]) -> dict[tuple[str, str], Any]:
        return {(each.namespace, each.name): each for each in kinds if isinstance(each, kind)}

    return FleetDocuments(
        directory=directory,
        fleet=next((each for each in kinds if isinstance(each, Fleet)), None),
        gateway=next((each for each in kinds if isinstance(each, InferenceGateway)), None),
        classes=named(InferenceClass),
        clusters=named(InferenceCluster),
        deployments=keyed(ModelDeployment),
        caches=keyed(ModelCache),
        services=keyed(ModelService),
        endpoints=keyed(ModelEndpoint),
        config_maps=keyed(ConfigMap),
        secrets=keyed(Secret),
    )


def a_template(image: str = IMAGE, **container: Any) -> PodTemplate:
    return PodTemplate.model_validate({"spec": {"containers": [{"name": "engine", "image": image} | container]}})


def some_facts(*devices: Mapping[str, Any]) -> tuple[Device, ...]:
    return tuple(Device.model_validate(device) for device in devices or (a_device(),))


_TABLES = LedgerBuilder()
TEMPLATE = _TABLES.template(a_template())
FACTS = _TABLES.facts(some_facts())


def a_claim(name: str = "gpu", count: int = 8) -> ClaimRequest:
    """What a pod claims for the request that builders make."""
    selectors = (Selector(cel=BIG_MEMORY),)
    return ClaimRequest(name=name, device_class_name="gpu.nvidia.com", count=count, selectors=selectors)


def an_engine_entry(name: str = "main", *, pool: str = "gpu", template: str = TEMPLATE, **fields: Any) -> LedgerEngine:
    member = LedgerMember(
        role="Standalone", node_pool_name=pool, device_requests=(a_claim(),), template=template, facts=FACTS
    )
    return LedgerEngine(name=name, members=(member,), **fields)


def an_entry(
    deployment: str = "qwen",
    cluster: str = "us",
    index: int = 0,
    *,
    namespace: str = NAMESPACE,
    pool: str = "gpu",
    labels: Mapping[str, str] | None = None,
    **fields: Any,
) -> LedgerReplica:
    """A replica as the ledger has it, with the labels every replica carries."""
    managed = {
        names.LABEL_DEPLOYMENT: deployment,
        names.LABEL_CLUSTER: cluster,
        names.LABEL_REPLICA_INDEX: str(index),
    }
    plain: dict[str, Any] = {
        "namespace": namespace,
        "deployment": deployment,
        "cluster": cluster,
        "index": index,
        "name": names.replica_name(deployment, cluster, index),
        "labels": {**(labels or {}), **managed},
        "engines": (an_engine_entry(pool=pool),),
    }
    return LedgerReplica(**(plain | fields))


def retiring(
    entry: LedgerReplica, successor: LedgerReplica | None = None, reason: str = "scaled down"
) -> LedgerReplica:
    update = {"state": "retiring", "reason": reason, "successor": successor.key if successor else None}
    return entry.model_copy(update=update)


def a_ledger(*entries: LedgerReplica) -> Ledger:
    return Ledger(replicas=entries, templates={TEMPLATE: a_template()}, facts={FACTS: some_facts()})


def a_replica_state(entry: LedgerReplica, *, ready: MaybeFlag = True, **fields: Any) -> ReplicaState:
    plain: dict[str, Any] = {
        "namespace": entry.namespace,
        "deployment": entry.deployment,
        "index": entry.index,
        "applied": True,
        "ready": ready,
        "template_hash": template_hash(entry),
    }
    return ReplicaState(**(plain | fields))


def listed_workloads(cluster: str, *ready: LedgerReplica, starting: Sequence[LedgerReplica] = ()) -> WorkloadsOutputs:
    """A cluster that renders the entries; those under `starting` are not ready."""
    states = {entry.key: a_replica_state(entry) for entry in ready}
    states |= {entry.key: a_replica_state(entry, ready=False) for entry in starting}
    return WorkloadsOutputs(cluster=cluster, replicas=states)


def pool_facts(name: str = "gpu", *, nodes: int = 1) -> PoolFacts:
    return PoolFacts(name=name, class_name="h100x8", nodes=NodeCounts(configured=nodes), devices=some_facts())


def cluster_outputs(name: str = "us", *, pools: Sequence[PoolFacts] | None = None, **fields: Any) -> ClusterOutputs:
    plain: dict[str, Any] = {
        "cluster": name,
        "inputs": ClusterInputs(source="Existing", stack="Standard"),
        "kubeconfig": f"kubeconfig of {name}",
        "pools": tuple(pools) if pools is not None else (pool_facts(),),
    }
    return ClusterOutputs(**(plain | fields))


def serving_outputs(
    name: str = "us", address: MaybeText = "10.0.0.1", *, ready: MaybeFlag = True, **fields: Any
) -> ServingOutputs:
    return ServingOutputs(cluster=name, ready=ready, gateway_address=address, **fields)


def gateway_outputs(address: MaybeText = "203.0.113.1", **fields: Any) -> GatewayOutputs:
    return GatewayOutputs(kubeconfig="kubeconfig of the hub", address=address, ready=address is not None, **fields)


def routing_listing(*entries: LedgerReplica) -> RoutingOutputs:
    """Routing that has the endpoints of these replicas in use."""
    states = {
        entry.key: EndpointState(url="http://10.0.0.1/", cluster=entry.cluster, backend="endpoint", port=80)
        for entry in entries
    }
    return RoutingOutputs(endpoints=states)


def a_directory(*kinds: Kind, clusters: Iterable[str] = ("us", "eu")) -> FleetDocuments:
    """A fleet with a class and clusters of one node, and the kinds given."""
    return documents_of(a_fleet(), a_class(), *(a_cluster(name) for name in clusters), *kinds)


def placement_sees(
    *,
    last: PlacementOutputs | None = None,
    listed: Sequence[LedgerReplica] = (),
    ready: Sequence[LedgerReplica] | None = None,
    nodes: Mapping[str, int] | None = None,
    on: Sequence[str] = ("us", "eu"),
    changes: Changes | None = None,
) -> Observed:
    """Clusters of one node that are served, and list what is given: all of it ready, or only what `ready` names.

    `changes` are outputs by kind of stack and cluster that take the place of these, or None for absent ones.
    """
    shown = list(listed if ready is None else ready)
    given: dict[str, Any] = {
        "clusters": {name: cluster_outputs(name, pools=[pool_facts(nodes=(nodes or {}).get(name, 1))]) for name in on},
        "serving": {name: serving_outputs(name) for name in on},
        "workloads": {
            name: listed_workloads(
                name,
                *(entry for entry in shown if entry.cluster == name),
                starting=[entry for entry in listed if entry.cluster == name and entry not in shown],
            )
            for name in on
        },
        "last": last,
    }
    for kind, update in (changes or {}).items():
        given[kind] = {name: found for name, found in {**given[kind], **update}.items() if found is not None}
    return Observed(**given)


def earlier(*entries: LedgerReplica, **fields: Any) -> PlacementOutputs:
    return PlacementOutputs(ledger=a_ledger(*entries), **fields)


def ledger_of(outputs: PlacementOutputs) -> dict[str, tuple[str, ...]]:
    """State, and what is waited for or who follows, by replica."""
    entries = outputs.ledger.replicas
    return {entry.key: (entry.state, *entry.waits_for, *filter(None, [entry.successor])) for entry in entries}
