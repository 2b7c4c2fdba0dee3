"""The `cluster.<c>` stack: makes a cluster on its cloud, and says how it is reached and what is there.

An Existing cluster owns no resource, and its stack loads no cloud's SDK.
"""

from collections.abc import Callable

import pulumi

from api import names
from api.clusters import InferenceCluster
from api.documents import FleetDocuments
from api.errors import ModelplaneError
from api.fixed import cluster_changes
from api.fleets import control_plane_for, serving_stack_for
from components.charts import Mirrors, serving_releases
from components.definitions import DEFINITIONS, serving_definitions
from components.gang_manifests import GANG_SOFTWARE
from programs import cloud_cluster
from programs.conditions import dated
from programs.context import Context, cleanly
from programs.deployed import deployed_cluster, refuse_changes
from programs.identity import kubeconfig_of
from programs.outputs import ClusterInputs, ClusterOutputs, PoolFacts, WorkloadsOutputs
from programs.placement_plan import declared_pools
from programs.probe import Answer, as_last_seen, merge, probe
from programs.requirements import wanted_of


def program(context: Context) -> None:
    """Make the cluster where it is a cloud's; export its pools, facts and kubeconfig.

    Raises:
        InvocationError: the cluster is not in the documents.
        MissingCloudSdk: the SDK of the cluster's cloud is not installed.

    """
    cluster = context.cluster_document()
    last = context.last(ClusterOutputs)
    workloads = context.read(WorkloadsOutputs, "workloads", cluster.name)
    declared = declared_outputs(context.documents, cluster, last, workloads, assumed=context.preview and last is None)
    existing = cluster.spec.cluster.existing
    if existing is None:
        made = cloud_cluster.register(context, cluster, declared, last)
        declared = declared.model_copy(update={"storage_class": made.storage_class})
        look = cleanly(_seen(context, cluster, declared, last))
        outputs = look("") if context.preview else made.kubeconfig.apply(look)
        cloud_cluster.export(made, outputs, declared)
        return
    kubeconfig = kubeconfig_of(context, existing)
    for key, value in _seen(context, cluster, declared, last)(kubeconfig).plain().items():
        pulumi.export(key, value)
    pulumi.export("kubeconfig", pulumi.Output.secret(kubeconfig))


def _seen(
    context: Context, cluster: InferenceCluster, declared: ClusterOutputs, last: ClusterOutputs | None
) -> Callable[[str], ClusterOutputs]:
    """A look at the cluster behind a kubeconfig; a preview asks nobody."""

    def look(kubeconfig: str) -> ClusterOutputs:
        if context.preview:
            return as_last_seen(declared, last)
        answer = probe(
            kubeconfig,
            fleet=context.fleet.name,
            namespaces=namespaces_used(context),
            definitions=definitions_used(context),
            wanted=wanted_of(context.documents, cluster),
        )
        _refuse_other_cluster(cluster, last, answer)
        outputs = merge(answer, last, context.now)(declared)
        found = dated(answer.conditions, last.conditions if last else (), context.now)
        if not outputs.reachable:
            pulumi.log.warn(f"cluster {cluster.name} does not answer: {outputs.reason}")
        return outputs.model_copy(update={"conditions": found})

    return look


def declared_outputs(
    documents: FleetDocuments,
    cluster: InferenceCluster,
    last: ClusterOutputs | None,
    workloads: WorkloadsOutputs | None,
    *,
    assumed: bool = False,
) -> ClusterOutputs:
    """What a cluster is by its documents, pools included that replicas are still pinned to; its kubeconfig left out.

    Raises:
        InvocationError: an immutable field was edited.

    """
    existing = cluster.spec.cluster.existing
    made_by = control_plane_for(documents.fleet, cluster.name)
    declared = ClusterOutputs(
        cluster=cluster.name,
        inputs=ClusterInputs(
            source=cluster.spec.cluster.source,
            stack=cluster.spec.stack,
            region=cluster.spec.cluster.region,
            credentials=cluster.spec.cluster.credentials,
            control_plane=made_by if cluster.spec.cluster.source == "EKS" else None,
        ),
        kubeconfig="",
        pools=_pools(documents, cluster, last, workloads),
        storage_class=existing.cache.storage_class_name if existing and existing.cache else None,
        stack=cluster.spec.stack,
        assumed=assumed,
    )
    if last is not None:
        refuse_changes(cluster, cluster_changes(cluster, deployed_cluster(last.inputs), made_by))
    return declared


def _refuse_other_cluster(cluster: InferenceCluster, last: ClusterOutputs | None, answer: Answer) -> None:
    """Another cluster behind the same name must not be taken for the one that was deployed to.

    Raises:
        ModelplaneError: the API server's kube-system namespace has another UID than before.

    """
    before, now = (last.kube_system_uid if last else None), answer.kube_system_uid
    if before and now and before != now:
        raise ModelplaneError(
            f"another cluster answers under its kubeconfig: kube-system has UID {now}, it was {before}",
            where=cluster.subject,
            hint=f"correct the kubeconfig, or `modelplane up --forget {cluster.name}` when the old cluster is gone",
            code="MP332",
        )


def namespaces_used(context: Context) -> set[str]:
    """Namespaces this fleet would make on this cluster; replicas that outlive their documents keep theirs in use."""
    workloads = context.read(WorkloadsOutputs, "workloads", context.cluster_name)
    held = {state.namespace for state in workloads.replicas.values()} if workloads else set()
    held |= {key.partition("/")[0] for key in workloads.caches} if workloads else set()
    written = {namespace for namespace, _ in (*context.documents.deployments, *context.documents.caches)}
    document, settings = context.cluster_document(), serving_stack_for(context.fleet, context.cluster_name)
    charts = {release.namespace for release in serving_releases(document.spec.stack, settings, Mirrors())}
    return {names.SYSTEM_NAMESPACE, *written, *charts, *held}


def definitions_used(context: Context) -> set[str]:
    """Definitions this fleet would apply on this cluster, and that of its gangs, which tells what the cluster can."""
    stack = context.cluster_document().spec.stack
    gangs = {GANG_SOFTWARE[stack][1]}
    if not serving_stack_for(context.fleet, context.cluster_name).crds.enabled:
        return gangs
    return gangs | {name for source in serving_definitions(stack) for name in DEFINITIONS[source.name]}


def _pools(
    documents: FleetDocuments,
    cluster: InferenceCluster,
    last: ClusterOutputs | None,
    workloads: WorkloadsOutputs | None,
) -> tuple[PoolFacts, ...]:
    """Declared pools, and those that left the documents or are to be made anew while replicas are pinned to them."""
    declared = tuple(_with_recipe(documents, cluster, pool) for pool in declared_pools(documents, cluster.name))
    in_use = set(workloads.pools) if workloads else set()
    held = {pool.name: pool for pool in (last.pools if last else ()) if pool.name in in_use}
    kept = {pool.name for pool in declared}
    leaving = [pool for name, pool in held.items() if name not in kept]
    return (*(_emptied_first(pool, held.get(pool.name)) for pool in declared), *leaving)


def _emptied_first(declared: PoolFacts, held: PoolFacts | None) -> PoolFacts:
    """A pool in use stays what it was while its documents ask for other nodes: those it has would be taken away."""
    if held is None or not cloud_cluster.has_other_nodes(held.recipe, declared.recipe):
        return declared
    return held.model_copy(update={"replacing": True})


def _with_recipe(documents: FleetDocuments, cluster: InferenceCluster, facts: PoolFacts) -> PoolFacts:
    """On a cloud the pool keeps how it is made, so that it can stay when its documents are gone."""
    if cluster.spec.cluster.existing is not None:
        return facts
    pool = next(pool for pool in cluster.spec.node_pools or () if pool.name == facts.name)
    return facts.model_copy(update={"recipe": cloud_cluster.recipe_of(documents, pool)})
