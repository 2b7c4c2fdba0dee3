"""Placement as a pure function: documents and other stacks' outputs in, the next ledger and its verdicts out.

The scheduler decides; this module turns outputs into its snapshot and its plan into the ledger. A replica that is
dropped stays in the ledger as `retiring` until its cluster no longer lists it (design, "Retiring").
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from api.base import Condition
from api.documents import FleetDocuments
from programs.conditions import condition, dated
from programs.ledger import LedgerBuilder, placed, replica_key
from programs.outputs import (
    UNKNOWN,
    ClusterOutputs,
    ClusterVerdict,
    DeploymentState,
    Ledger,
    LedgerReplica,
    NodeCounts,
    PlacementOutputs,
    PoolFacts,
    ServingOutputs,
    WorkloadsOutputs,
)
from scheduler import Capabilities, Cluster, DeploymentPlan, Plan, Pool, Snapshot, schedule, successors

Key = tuple[str, str]


@dataclass(frozen=True, kw_only=True)
class Observed:
    """Outputs of the stacks that placement reads, by cluster; an absent stack is absent here too."""

    clusters: Mapping[str, ClusterOutputs] = field(default_factory=dict)
    serving: Mapping[str, ServingOutputs] = field(default_factory=dict)
    workloads: Mapping[str, WorkloadsOutputs] = field(default_factory=dict)
    last: PlacementOutputs | None = None


def plan_placement(
    documents: FleetDocuments, observed: Observed, *, now: str, preview: bool = False
) -> PlacementOutputs:
    """The next ledger and a state per deployment. In a preview an unresolved readiness counts as ready."""
    last = observed.last or PlacementOutputs()
    active = [entry for entry in last.ledger.replicas if entry.state == "active"]
    retiring = [entry for entry in last.ledger.replicas if entry.state == "retiring" and _listed(entry, observed)]
    snapshot = Snapshot(
        clusters=_clusters(documents, observed, last.ledger, preview=preview),
        deployments=tuple(documents.deployments[key] for key in sorted(documents.deployments)),
        replicas=tuple(placed(entry, last.ledger, applied=_listed(entry, observed)) for entry in active),
        retiring=tuple(placed(entry, last.ledger, applied=True) for entry in retiring),
        caches={},
    )
    plan = schedule(snapshot)
    ledger = _next_ledger(documents, observed, last.ledger, plan, retiring)
    deployments = {
        f"{namespace}/{name}": _state(plan.deployments[namespace, name], observed, last, f"{namespace}/{name}", now)
        for namespace, name in sorted(documents.deployments)
    }
    assumed = preview and any(name not in observed.serving for name in documents.clusters)
    return PlacementOutputs(ledger=ledger, deployments=deployments, assumed=assumed)


def _listed(entry: LedgerReplica, observed: Observed) -> bool:
    """Whether the replica's cluster renders it, as far as its stack last said."""
    workloads = observed.workloads.get(entry.cluster)
    return workloads is not None and entry.key in workloads.replicas


def _clusters(documents: FleetDocuments, observed: Observed, ledger: Ledger, *, preview: bool) -> tuple[Cluster, ...]:
    known = set(documents.clusters) | {entry.cluster for entry in ledger.replicas}
    return tuple(_cluster(name, documents, observed, preview=preview) for name in sorted(known))


def _cluster(name: str, documents: FleetDocuments, observed: Observed, *, preview: bool) -> Cluster:
    document = documents.clusters.get(name)
    outputs = observed.clusters.get(name)
    serving = observed.serving.get(name)
    declared = {pool.name for pool in document.spec.node_pools or ()} if document else None
    pools = tuple(
        Pool(
            name=pool.name,
            nodes=pool.nodes.configured,
            devices=pool.devices,
            leaving=declared is not None and pool.name not in declared,
        )
        for pool in (outputs.pools if outputs else declared_pools(documents, name))
    )
    reachable = outputs is None or outputs.reachable
    ready, address = _serving_readiness(serving, preview=preview)
    capabilities = serving.capabilities if serving else None
    return Cluster(
        name=name,
        labels=dict(document.metadata.labels) if document else {},
        taints=tuple(document.spec.taints) if document else (),
        ready=ready and (preview or outputs is not None),
        reachable=reachable,
        gateway_address=address,
        stack=outputs.stack if outputs else "Standard",
        capabilities=Capabilities(
            inference_pools=capabilities.inference_pools if capabilities else True,
            gangs=capabilities.gangs if capabilities else True,
            rank=capabilities.rank if capabilities else True,
        ),
        pools=pools,
        held=document is None,
    )


def declared_pools(documents: FleetDocuments, cluster: str) -> tuple[PoolFacts, ...]:
    """A cluster's pools as its document and their classes declare them; none for a cluster without a document."""
    document = documents.clusters.get(cluster)
    return tuple(
        PoolFacts(
            name=pool.name,
            class_name=pool.class_name,
            nodes=NodeCounts(configured=pool.node_count),
            devices=documents.classes[pool.class_name].spec.devices,
        )
        for pool in (document.spec.node_pools or () if document else ())
    )


def _serving_readiness(serving: ServingOutputs | None, *, preview: bool) -> tuple[bool, str | None]:
    """Ready and the gateway address; what a preview cannot know yet counts as ready, under a name that says so."""
    if serving is None:
        return (True, "assumed.invalid") if preview else (False, None)
    ready = preview if serving.ready is UNKNOWN else serving.ready is True
    address = serving.gateway_address
    if address is UNKNOWN:
        return ready, "assumed.invalid" if preview else None
    return ready, address if isinstance(address, str) else None


def _next_ledger(
    documents: FleetDocuments,
    observed: Observed,
    last: Ledger,
    plan: Plan,
    retiring: list[LedgerReplica],
) -> Ledger:
    builder = LedgerBuilder()
    entries = {entry.key: entry for entry in last.replicas}
    taken: set[str] = set()
    for key, deployment_plan in plan.deployments.items():
        for placement in deployment_plan.placements:
            name = f"{placement.key.namespace}/{placement.name}"
            taken.add(name)
            if deployment_plan.invalid_selector is not None and name in entries:
                builder.keep(entries[name], last)
            else:
                builder.place(placement, documents.deployments[key])
    leaves = [
        (entries[f"{dropped.replica.key.namespace}/{dropped.replica.name}"], dropped.message)
        for deployment_plan in plan.deployments.values()
        for dropped in deployment_plan.dropped
    ]
    heirs = {replica_key(gone): replica_key(new) for gone, new in successors(plan).items()}
    for entry, reason in leaves:
        if entry.key not in taken and _listed(entry, observed):
            update = {"state": "retiring", "successor": heirs.get(entry.key), "reason": reason, "waits_for": ()}
            builder.keep(entry.model_copy(update=update), last)
    for entry in retiring:
        if entry.key not in taken:
            builder.keep(entry, last)
    return builder.build()


def _state(plan: DeploymentPlan, observed: Observed, last: PlacementOutputs, key: str, now: str) -> DeploymentState:
    ready = sum(
        1
        for placement in plan.placements
        if _is_ready(placement.key.namespace, placement.name, placement.key.cluster, observed)
    )
    count = len(plan.placements)
    before = last.deployments.get(key)
    conditions = [plan.condition, _replicas_ready(ready, count, plan.wanted)]
    conditions.append(_ready(conditions))
    return DeploymentState(
        wanted=plan.wanted,
        placed=count,
        ready=ready,
        conditions=dated(conditions, before.conditions if before else (), now),
        verdicts={
            verdict.cluster: tuple(
                ClusterVerdict(code=reason.code, message=reason.message) for reason in verdict.reasons
            )
            for verdict in plan.verdicts
            if verdict.reasons
        },
    )


def _is_ready(namespace: str, name: str, cluster: str, observed: Observed) -> bool:
    workloads = observed.workloads.get(cluster)
    found = workloads.replicas.get(f"{namespace}/{name}") if workloads else None
    return found is not None and found.ready is True


def _replicas_ready(ready: int, count: int, wanted: int) -> Condition:
    text = f"{ready} of {wanted} ready"
    if wanted == 0:
        return condition("ReplicasReady", status=True, reason="Parked", message=text)
    if count == 0:
        return condition("ReplicasReady", status=False, reason="NoReplicasScheduled", message=text)
    if ready < wanted:
        return condition("ReplicasReady", status=False, reason="ModelStarting", message=text)
    return condition("ReplicasReady", status=True, reason="AllReplicasReady", message=text)


def _ready(conditions: list[Condition]) -> Condition:
    failing = next((found for found in conditions if found.status != "True"), None)
    if failing is None:
        return condition("Ready", status=True, reason="Available")
    return condition("Ready", status=False, reason=failing.reason, message=failing.message)
