"""Placement as a pure function: documents and other stacks' outputs in, the next ledger and its verdicts out.

The scheduler decides; this module turns outputs into its snapshot and its plan into the ledger. A replica that is
dropped stays in the ledger as `retiring` until its cluster no longer lists it (design, "Retiring").
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from api.base import Condition
from api.documents import FleetDocuments
from programs.cache_plan import footprints, staged
from programs.conditions import condition, dated
from programs.ledger import LedgerBuilder, placed, replica_key, template_hash
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
from programs.rolling import Rollable, take_change_now
from scheduler import CacheFootprint, Capabilities, Cluster, DeploymentPlan, Plan, Pool, Snapshot, schedule, successors

Key = tuple[str, str]


@dataclass(frozen=True, kw_only=True)
class Observed:
    """Outputs of the stacks that placement reads, by cluster; an absent stack is absent here too."""

    clusters: Mapping[str, ClusterOutputs] = field(default_factory=dict)
    serving: Mapping[str, ServingOutputs] = field(default_factory=dict)
    workloads: Mapping[str, WorkloadsOutputs] = field(default_factory=dict)
    last: PlacementOutputs | None = None


def plan_placement(
    documents: FleetDocuments,
    observed: Observed,
    *,
    now: str,
    preview: bool = False,
    leaving: Collection[str] = (),
) -> PlacementOutputs:
    """The next ledger and a state per deployment.

    In a preview an unresolved readiness counts as ready. `leaving` are clusters that lose their replicas; a cluster
    that only left the documents keeps what it has.
    """
    if preview:
        observed = _assuming_ready(observed)
    last = observed.last or PlacementOutputs()
    plan = schedule(snapshot_of(documents, observed, preview=preview, leaving=leaving))
    ledger = _next_ledger(documents, observed, last.ledger, plan, _retiring(observed))
    deployments = {
        f"{namespace}/{name}": _state(plan.deployments[namespace, name], observed, last, f"{namespace}/{name}", now)
        for namespace, name in sorted(documents.deployments)
    }
    assumed = preview and any(_is_assumed(observed.serving.get(name)) for name in documents.clusters)
    return PlacementOutputs(ledger=ledger, deployments=deployments, assumed=assumed)


def snapshot_of(
    documents: FleetDocuments, observed: Observed, *, preview: bool = False, leaving: Collection[str] = ()
) -> Snapshot:
    """What the scheduler decides from; the arguments are those of `plan_placement`."""
    last = observed.last or PlacementOutputs()
    active = [entry for entry in last.ledger.replicas if entry.state == "active"]
    return Snapshot(
        clusters=_clusters(documents, observed, last.ledger, leaving, preview=preview),
        deployments=tuple(documents.deployments[key] for key in sorted(documents.deployments)),
        replicas=tuple(placed(entry, last.ledger, applied=_listed(entry, observed)) for entry in active),
        retiring=tuple(placed(entry, last.ledger, applied=True) for entry in _retiring(observed)),
        caches=_footprints(documents, observed),
    )


def _footprints(documents: FleetDocuments, observed: Observed) -> dict[Key, CacheFootprint]:
    """Where each cache can be; labels are compared by the scheduler, which tells why a cluster is left out."""
    last = observed.last.ledger if observed.last else Ledger()
    places = footprints(documents, observed.clusters, last)
    return {
        key: CacheFootprint(
            clusters=frozenset(documents.clusters) - frozenset(places.refused[key]),
            match_labels=cache.spec.cluster_selector.match_labels if cache.spec.cluster_selector else {},
            refused={cluster: why.message for cluster, why in places.refused[key].items()},
        )
        for key, cache in documents.caches.items()
    }


def _retiring(observed: Observed) -> list[LedgerReplica]:
    """Entries that an earlier plan dropped and that their clusters still render."""
    replicas = observed.last.ledger.replicas if observed.last else ()
    return [entry for entry in replicas if entry.state == "retiring" and _listed(entry, observed)]


def _assuming_ready(observed: Observed) -> Observed:
    """The same, where every replica whose readiness nobody knows is ready."""
    workloads = {
        cluster: outputs.model_copy(
            update={
                "replicas": {
                    key: state.model_copy(update={"ready": True}) if state.ready is UNKNOWN else state
                    for key, state in outputs.replicas.items()
                }
            }
        )
        for cluster, outputs in observed.workloads.items()
    }
    return replace(observed, workloads=workloads)


def _is_assumed(serving: ServingOutputs | None) -> bool:
    return serving is None or serving.ready is UNKNOWN


def _listed(entry: LedgerReplica, observed: Observed) -> bool:
    """Whether the replica's cluster renders it, as far as its stack last said."""
    workloads = observed.workloads.get(entry.cluster)
    return workloads is not None and entry.key in workloads.replicas


def _clusters(
    documents: FleetDocuments, observed: Observed, ledger: Ledger, leaving: Collection[str], *, preview: bool
) -> tuple[Cluster, ...]:
    known = set(documents.clusters) | {entry.cluster for entry in ledger.replicas}
    return tuple(
        _cluster(name, documents, observed, leaving=name in leaving, preview=preview) for name in sorted(known)
    )


def _cluster(name: str, documents: FleetDocuments, observed: Observed, *, leaving: bool, preview: bool) -> Cluster:
    document = documents.clusters.get(name)
    outputs = observed.clusters.get(name)
    serving = observed.serving.get(name)
    declared = {pool.name for pool in document.spec.node_pools or ()} if document else None
    pools = tuple(
        Pool(
            name=pool.name,
            nodes=pool.nodes.configured if preview else pool.usable_nodes,
            devices=pool.devices,
            leaving=leaving or pool.replacing or (declared is not None and pool.name not in declared),
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
        held=document is None and not leaving,
    )


def declared_pools(documents: FleetDocuments, cluster: str) -> tuple[PoolFacts, ...]:
    """A cluster's pools as its document and their classes declare them; none for a cluster without a document."""
    document = documents.clusters.get(cluster)
    if document is None:
        return ()
    return tuple(
        PoolFacts(
            name=pool.name,
            class_name=pool.class_name,
            fabric=pool.fabric.type if pool.fabric and pool.fabric.type != "None" else None,
            nodes=NodeCounts(configured=pool.most_nodes(document.spec.cluster.source)),
            devices=documents.classes[pool.class_name].spec.devices,
            hourly_cost=documents.classes[pool.class_name].hourly_cost,
        )
        for pool in document.spec.node_pools or ()
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
    builder = LedgerBuilder(documents.fleet.spec if documents.fleet else None)
    entries = {entry.key: entry for entry in last.replicas}
    taken: set[str] = set()
    for key, deployment_plan in plan.deployments.items():
        placements = {f"{it.key.namespace}/{it.name}": it for it in deployment_plan.placements}
        taken |= set(placements)
        if deployment_plan.invalid_selector is not None:
            for name in placements:
                builder.keep(entries[name], last)
            continue
        wanted = {name: builder.entry(placement, documents.deployments[key]) for name, placement in placements.items()}
        rolls = take_change_now(_rollable(entry, entries.get(name), observed) for name, entry in wanted.items())
        for name, entry in wanted.items():
            before = entries.get(name)
            if before is None or name in rolls or not _rolls(before, entry) or _pools(before) != _pools(entry):
                builder.add(entry)
            else:
                update = {
                    "labels": entry.labels,
                    "waits_for": entry.waits_for,
                    "starts_early": entry.starts_early,
                }
                builder.keep(before.model_copy(update=update), last)
    _add_retiring(builder, entries, last, plan, (taken, retiring, observed))
    ledger = builder.build()
    caches = staged(documents, footprints(documents, observed.clusters, last), last, ledger.replicas)
    return ledger.model_copy(update={"caches": caches})


def _pools(entry: LedgerReplica) -> set[str]:
    return {member.node_pool_name for engine in entry.engines for member in engine.members}


def _rolls(before: LedgerReplica, after: LedgerReplica) -> bool:
    """Whether the step from one entry to the next restarts pods."""
    return template_hash(before) != template_hash(after)


def _rollable(entry: LedgerReplica, before: LedgerReplica | None, observed: Observed) -> Rollable:
    cluster = observed.clusters.get(entry.cluster)
    workloads = observed.workloads.get(entry.cluster)
    state = workloads.replicas.get(entry.key) if workloads else None
    current = before or entry
    return Rollable(
        key=entry.key,
        changes=before is not None and _rolls(before, entry),
        reachable=cluster is None or cluster.reachable,
        ready=state is not None and state.ready is True and state.template_hash == template_hash(current),
    )


def _add_retiring(
    builder: LedgerBuilder,
    entries: Mapping[str, LedgerReplica],
    last: Ledger,
    plan: Plan,
    left: tuple[set[str], list[LedgerReplica], Observed],
) -> None:
    """Add what leaves and is still rendered: what this plan drops, and what an earlier one did."""
    taken, retiring, observed = left
    heirs = {replica_key(gone): replica_key(new) for gone, new in successors(plan).items()}
    for deployment_plan in plan.deployments.values():
        for dropped in deployment_plan.dropped:
            entry = entries[f"{dropped.replica.key.namespace}/{dropped.replica.name}"]
            if entry.key not in taken and _listed(entry, observed):
                successor = heirs.get(entry.key)
                update = {"state": "retiring", "successor": successor, "reason": dropped.message, "waits_for": ()}
                builder.keep(entry.model_copy(update=update), last)
    for entry in retiring:
        if entry.key not in taken:
            builder.keep(entry, last)


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
