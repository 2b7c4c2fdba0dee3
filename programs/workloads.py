"""The `workloads.<c>` stack: the replicas of one cluster, rendered from the ledger and never from the directory."""

from dataclasses import dataclass
from typing import Any

import pulumi
from pulumi import Output, ResourceOptions

from api import names
from api.errors import MissingInput
from components.kubernetes_objects import namespace_manifest, provider, register
from components.model_replica import ModelReplica, ModelReplicaArgs
from programs.context import Context
from programs.ledger import document, part_of, template_hash
from programs.outputs import (
    UNKNOWN,
    ClusterOutputs,
    Ledger,
    LedgerReplica,
    PlacementOutputs,
    ReplicaState,
    RoutingOutputs,
    ServingOutputs,
    WorkloadsOutputs,
)
from programs.workloads_plan import Rendering, ledger_or_refuse, plan_workloads


@dataclass(frozen=True, kw_only=True)
class Decision:
    """What one cluster renders, and out of what."""

    cluster: ClusterOutputs
    ledger: Ledger
    rendering: Rendering
    last: WorkloadsOutputs | None
    inference_pools: bool = False
    """The cluster routes to InferencePools: as its serving stack says, else as it was rendered last."""


def program(context: Context) -> None:
    """Register the cluster's namespaces and replicas and export what each of them is doing.

    Raises:
        MissingInput: as `decide` does.
        DeletionRefused: as `decide` does.

    """
    decision = decide(context)
    name, cluster = context.cluster_name, decision.cluster
    rendered = decision.rendering.replicas
    access = provider(name, context.kubeconfig(cluster.kubeconfig), f"{context.fleet.name}/{name}", ResourceOptions())
    namespaces = _namespaces(context, cluster, rendered, access)
    replicas = {
        entry.key: _replica(context, decision, entry, (access, namespaces.get(entry.namespace))) for entry in rendered
    }
    for key, value in _outputs(decision).plain().items():
        pulumi.export(key, value)
    pulumi.export("replicas", replicas)


def decide(context: Context) -> Decision:
    """What this cluster renders. Nothing is registered.

    Raises:
        MissingInput: the cluster stack has not been brought up.
        DeletionRefused: there is no ledger while this stack lists replicas.

    """
    name = context.cluster_name
    cluster = context.read(ClusterOutputs, "cluster", name)
    if cluster is None:
        raise MissingInput(
            f"the outputs of {context.stack('cluster', name)} are not there yet", hint="bring that stack up first"
        )
    last = context.last(WorkloadsOutputs)
    ledger = ledger_or_refuse(
        context.read(PlacementOutputs, "placement"),
        lists_anything=bool(last and last.replicas),
        stack=context.stack("workloads", name),
    )
    rendering = plan_workloads(name, ledger, context.read(RoutingOutputs, "routing"), last)
    serving = context.read(ServingOutputs, "serving", name)
    pools = serving.capabilities.inference_pools if serving else bool(last and last.inference_pools)
    return Decision(cluster=cluster, ledger=ledger, rendering=rendering, last=last, inference_pools=pools)


def planned_outputs(decision: Decision) -> WorkloadsOutputs:
    """What the stack will export as far as that is known before it runs.

    A replica that stays as it is keeps the state its last outputs tell; that of any other is Unknown.
    """
    before = decision.last.replicas if decision.last else {}
    replicas = {}
    for entry in decision.rendering.replicas:
        state, kept = _state(entry), before.get(entry.key)
        unknown = dict.fromkeys(("applied", "ready", "reason", "message", "since"), UNKNOWN)
        stays = kept is not None and kept.template_hash == state.template_hash
        replicas[entry.key] = kept if kept is not None and stays else state.model_copy(update=unknown)
    return _outputs(decision).model_copy(update={"replicas": replicas})


def _outputs(decision: Decision) -> WorkloadsOutputs:
    """The exports but for the replicas' states, which live objects tell."""
    rendered = decision.rendering.replicas
    pools = {member.node_pool_name for entry in rendered for engine in entry.engines for member in engine.members}
    return WorkloadsOutputs(
        cluster=decision.cluster.cluster,
        pools=tuple(sorted(pools)),
        ledger=part_of(decision.ledger, rendered),
        inference_pools=decision.inference_pools or None,
    )


def _state(entry: LedgerReplica) -> ReplicaState:
    return ReplicaState(
        namespace=entry.namespace,
        deployment=entry.deployment,
        index=entry.index,
        template_hash=template_hash(entry),
    )


def _namespaces(
    context: Context, cluster: ClusterOutputs, replicas: tuple[LedgerReplica, ...], access: pulumi.ProviderResource
) -> dict[str, pulumi.Resource]:
    """The fleet's own namespaces; one that exists and is someone else's is used as it is."""
    own = sorted({entry.namespace for entry in replicas} - set(cluster.foreign_namespaces))
    opts = ResourceOptions(provider=access, retain_on_delete=True)
    return {
        namespace: register(namespace_manifest(namespace, context.fleet.name, names.LABEL_FLEET), namespace, opts)
        for namespace in own
    }


def _replica(
    context: Context,
    decision: Decision,
    entry: LedgerReplica,
    place: tuple[pulumi.ProviderResource, pulumi.Resource | None],
) -> dict[str, Any]:
    """Register one replica; its exported state, leaf by leaf, so that one failure leaves the others readable."""
    access, namespace = place
    args = ModelReplicaArgs(
        replica=document(entry, decision.ledger),
        stack=decision.cluster.stack,
        inference_pools=decision.inference_pools,
        fast_pools=frozenset(pool.name for pool in decision.cluster.pools if pool.fabric),
        image_mirror=context.fleet.spec.image_mirror,
        labels={names.LABEL_FLEET: context.fleet.name},
    )
    opts = ResourceOptions(providers=[access], depends_on=[namespace] if namespace else None)
    replica = ModelReplica(entry.key, args, opts)
    before = decision.last.replicas.get(entry.key) if decision.last else None
    readiness = replica.readiness(was_ready=bool(before and before.ready is True))
    return {
        **_state(entry).plain(),
        "applied": replica.applied,
        "ready": readiness.apply(lambda found: found.ready),
        "reason": readiness.apply(lambda found: found.reason),
        "message": readiness.apply(lambda found: found.message),
        "since": _since(readiness.apply(lambda found: found.ready), before, context.now),
    }


def _since(ready: Output[bool], before: ReplicaState | None, now: str) -> Output[str]:
    earlier = before.since if before and isinstance(before.since, str) else None
    return ready.apply(lambda found: earlier if earlier and before and before.ready is found else now)
