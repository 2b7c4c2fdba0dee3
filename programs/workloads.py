"""The `workloads.<c>` stack: replicas and caches of one cluster, rendered from the ledger and never from documents."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pulumi
from pulumi import Output, ResourceOptions

from api import names
from api.errors import MissingInput
from components.kubernetes_objects import namespace_manifest, provider, register
from components.model_replica import ModelReplica, ModelReplicaArgs
from programs.carried import Carried, Named, carry, named_by, register_carried
from programs.context import Context
from programs.guard import guard
from programs.ledger import document, part_of, template_hash
from programs.outputs import (
    UNKNOWN,
    ClusterOutputs,
    Ledger,
    LedgerCache,
    LedgerReplica,
    PlacementOutputs,
    ReplicaState,
    RoutingOutputs,
    ServingOutputs,
    WorkloadsOutputs,
)
from programs.pod_look import PodLook, look
from programs.replacements import replacements
from programs.replica_state import Watched, told
from programs.staging import Staging, plan_staging, planned_state, register_cache
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
    caches: Mapping[str, Staging] = field(default_factory=dict)
    carried: Carried = field(default_factory=Carried)

    @property
    def namespaces(self) -> set[str]:
        """Namespaces of everything that is rendered."""
        replicas = {entry.namespace for entry in self.rendering.replicas}
        return replicas | {cache.namespace for cache in self.rendering.caches}


def program(context: Context) -> None:
    """Register namespaces, Secrets, ConfigMaps, caches and replicas, and export what caches and replicas are doing.

    Raises:
        MissingInput: as `decide` does.
        DeletionRefused: as `decide` does.

    """
    decision = decide(context)
    name, cluster = context.cluster_name, decision.cluster
    rendered = decision.rendering.replicas
    access = provider(name, context.kubeconfig(cluster.kubeconfig), f"{context.fleet.name}/{name}", ResourceOptions())
    _tell_replacements(decision)
    namespaces = _namespaces(context, decision, access)
    seen = look(cluster.kubeconfig, decision.namespaces) if cluster.reachable and not context.preview else PodLook()
    caches, states = _caches(context, decision, seen, (access, namespaces))
    carried = _carried(context, decision, (access, namespaces))
    replicas = {}
    for entry in rendered:
        needs = [namespaces[entry.namespace]] if entry.namespace in namespaces else []
        named = dict.fromkeys(found for found, _ in named_by(entry, decision.ledger))
        needs += [carried[found] for found in named if found in carried]
        needs += [caches[key] for key in [f"{entry.namespace}/{entry.model_cache_ref}"] if key in caches]
        replicas[entry.key] = _replica(context, decision, entry, seen, (access, needs))
    for key, value in _outputs(decision).plain().items():
        pulumi.export(key, value)
    pulumi.export("replicas", replicas)
    pulumi.export("caches", states)
    tokens = {key: staging.token for key, staging in decision.caches.items() if staging.token is not None}
    pulumi.export("tokens", Output.secret(tokens))
    pulumi.export("secrets", Output.secret(decision.carried.secrets))


def decide(context: Context) -> Decision:
    """What this cluster renders. Nothing is registered.

    Raises:
        MissingInput: the cluster stack has not been brought up.
        DeletionRefused: there is no ledger while this stack lists replicas, or too many caches would go.

    """
    name = context.cluster_name
    cluster = context.read(ClusterOutputs, "cluster", name)
    if cluster is None:
        raise MissingInput(
            f"the outputs of {context.stack('cluster', name)} are not there yet", hint="bring that stack up first"
        )
    last = context.last(WorkloadsOutputs)
    placement = context.read(PlacementOutputs, "placement")
    ledger = ledger_or_refuse(
        placement,
        lists_anything=bool(last and (last.replicas or (placement is None and last.caches))),
        stack=context.stack("workloads", name),
    )
    routing = context.read(RoutingOutputs, "routing")
    rendering = plan_workloads(name, ledger, routing, last, assume_staged=context.offline)
    _refuse_deletions(context, rendering, last)
    serving = context.read(ServingOutputs, "serving", name)
    return Decision(
        cluster=cluster,
        ledger=ledger,
        rendering=rendering,
        last=last,
        inference_pools=serving.capabilities.inference_pools if serving else bool(last and last.inference_pools),
        caches=plan_staging(context, cluster, rendering.caches, last),
        carried=carry(context, rendering.replicas, ledger, last),
    )


def _tell_replacements(decision: Decision) -> None:
    before = decision.last.ledger if decision.last else Ledger()
    for replacement in replacements(decision.cluster, decision.ledger, before, decision.rendering.replicas):
        pulumi.log.warn(str(replacement))


def _refuse_deletions(context: Context, rendering: Rendering, last: WorkloadsOutputs | None) -> None:
    """A cache goes with its document once no replica names it; what it holds takes long to fetch again."""
    if last is None or context.cluster_name in context.permissions.leaving:
        return
    stays = {cache.key for cache in rendering.caches}
    going = [f"cache {key} on {context.cluster_name}" for key in last.caches if key not in stays]
    guard("caches", going, len(last.caches), context.fleet.spec.deletion.share, context.permissions.deletions)


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
    caches = {key: planned_state(staging) for key, staging in decision.caches.items()}
    return _outputs(decision).model_copy(update={"replicas": replicas, "caches": caches})


def _outputs(decision: Decision) -> WorkloadsOutputs:
    """The exports but for the states of replicas and caches, which live objects tell, and for values of Secrets."""
    rendered = decision.rendering.replicas
    pools = {member.node_pool_name for entry in rendered for engine in entry.engines for member in engine.members}
    return WorkloadsOutputs(
        cluster=decision.cluster.cluster,
        pools=tuple(sorted(pools)),
        ledger=part_of(decision.ledger, rendered, _here(decision)),
        inference_pools=decision.inference_pools or None,
        config_maps=decision.carried.config_maps,
    )


def _here(decision: Decision) -> tuple[LedgerCache, ...]:
    """The caches as this cluster alone has them, so that clusters' parts can be put together again."""
    update = {"clusters": (decision.cluster.cluster,), "refused": {}}
    return tuple(cache.model_copy(update=update) for cache in decision.rendering.caches)


def _state(entry: LedgerReplica) -> ReplicaState:
    return ReplicaState(
        namespace=entry.namespace,
        deployment=entry.deployment,
        index=entry.index,
        template_hash=template_hash(entry),
    )


def _namespaces(context: Context, decision: Decision, access: pulumi.ProviderResource) -> dict[str, pulumi.Resource]:
    """The fleet's own namespaces; one that exists and is someone else's is used as it is."""
    own = sorted(decision.namespaces - set(decision.cluster.foreign_namespaces))
    opts = ResourceOptions(provider=access, retain_on_delete=True)
    return {
        namespace: register(namespace_manifest(namespace, context.fleet.name, names.LABEL_FLEET), namespace, opts)
        for namespace in own
    }


Place = tuple[pulumi.ProviderResource, dict[str, pulumi.Resource]]
"""A provider, and the namespaces that are registered with it."""


def _caches(
    context: Context, decision: Decision, seen: PodLook, place: Place
) -> tuple[dict[str, pulumi.Resource], dict[str, dict[str, Any]]]:
    """Register the caches; their components and their exported states."""
    access, namespaces = place
    components: dict[str, pulumi.Resource] = {}
    states = {}
    for key, staging in decision.caches.items():
        needs = [namespaces[staging.cache.namespace]] if staging.cache.namespace in namespaces else None
        opts = ResourceOptions(providers=[access], depends_on=needs)
        components[key], states[key] = register_cache(staging, seen, context.now, opts)
    return components, states


def _carried(context: Context, decision: Decision, place: Place) -> dict[Named, pulumi.Resource]:
    access, namespaces = place
    opts = ResourceOptions(provider=access, depends_on=list(namespaces.values()))
    return register_carried(context, decision.carried, opts)


def _replica(
    context: Context,
    decision: Decision,
    entry: LedgerReplica,
    seen: PodLook,
    place: tuple[pulumi.ProviderResource, list[pulumi.Resource]],
) -> dict[str, Any]:
    """Register one replica; its exported state, leaf by leaf, so that one failure leaves the others readable."""
    access, needs = place
    args = ModelReplicaArgs(
        replica=document(entry, decision.ledger),
        stack=decision.cluster.stack,
        inference_pools=decision.inference_pools,
        fast_pools=frozenset(pool.name for pool in decision.cluster.pools if pool.fabric),
        image_mirror=context.fleet.spec.image_mirror,
        labels={names.LABEL_FLEET: context.fleet.name},
    )
    replica = ModelReplica(entry.key, args, ResourceOptions(providers=[access], depends_on=needs or None))
    before = decision.last.replicas.get(entry.key) if decision.last else None
    watched = Watched(
        entry=entry,
        stack=decision.cluster.stack,
        look=seen,
        before=before,
        template_hash=template_hash(entry),
        missing=decision.carried.missing_for(entry, decision.ledger),
    )
    readiness = replica.told(lambda engines, picker: told(watched, engines, picker))
    return {
        **_state(entry).plain(),
        "applied": replica.applied,
        "ready": readiness.apply(lambda found: found.ready),
        "reason": readiness.apply(lambda found: found.reason),
        "message": readiness.apply(lambda found: found.message),
        "since": _since(readiness.apply(lambda found: found.ready), before, context.now),
        **({"picker": replica.picker.apply(lambda found: bool(found and found.ready))} if args.inference_pools else {}),
    }


def _since(ready: Output[bool], before: ReplicaState | None, now: str) -> Output[str]:
    earlier = before.since if before and isinstance(before.since, str) else None
    return ready.apply(lambda found: earlier if earlier and before and before.ready is found else now)
