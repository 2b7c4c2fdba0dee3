"""The `serving.<c>` stack: what a cluster needs before replicas can be placed on it."""

import pulumi
from pulumi import ResourceOptions

from api.clusters import InferenceCluster
from api.errors import MissingInput
from api.fixed import cluster_changes
from api.fleets import ServingStackSettings, serving_stack_for
from api.terms import Stack
from components.charts import HelmRelease, Mirrors, driver_root, serving_releases
from components.definitions import serving_definitions
from components.gang_manifests import GANG_SOFTWARE
from components.installation import versions
from components.kubernetes_objects import provider
from components.serving_plan import Site, serving_parts
from components.serving_stack import ServingStack, ServingStackArgs
from programs.context import Context
from programs.definitions import definitions
from programs.deployed import deployed_cluster, refuse_changes
from programs.outputs import Capabilities, ClusterOutputs, ServingOutputs
from programs.put_back import put_back
from programs.releases import unlock


def program(context: Context) -> None:
    """Register the cluster's charts, definitions and gateway; export its address and what it can do.

    Raises:
        MissingInput: the cluster stack has not been brought up.
        InvocationError: the cluster is not in the documents, or asks for another stack than it was made with.
        UnreadableDefinitions: definitions that are to be applied cannot be had.

    """
    name = context.cluster_name
    cluster = context.read(ClusterOutputs, "cluster", name)
    if cluster is None:
        raise MissingInput(
            f"the outputs of {context.stack('cluster', name)} are not there yet", hint="bring that stack up first"
        )
    document = _document(context, cluster)
    settings = serving_stack_for(context.fleet, name)
    sources = serving_definitions(document.spec.stack) if settings.crds.enabled else ()
    site = Site(
        fleet=context.fleet.name,
        mirrors=context.mirrors,
        definitions=definitions(context, sources),
        foreign_namespaces=frozenset(cluster.foreign_namespaces),
        foreign_definitions=frozenset(cluster.foreign_definitions),
        driver_root=driver_root(document.spec.cluster.source),
    )
    parts = serving_parts(document.spec.stack, settings, site)
    if not context.preview:
        releases = [part.content for part in parts if isinstance(part.content, HelmRelease)]
        unlock(cluster.kubeconfig, releases)
        put_back(cluster.kubeconfig, releases)
    access = provider(name, context.kubeconfig(cluster.kubeconfig), f"{site.fleet}/{name}", ResourceOptions())
    stack = ServingStack(
        f"serving-{name}", ServingStackArgs(cluster=name, parts=parts), ResourceOptions(providers=[access])
    )
    capabilities = capabilities_of(document.spec.stack, settings, cluster)
    found = {**versions(parts), **{source.name: source.version for source in sources}}
    exports = {
        **ServingOutputs(cluster=name, capabilities=capabilities, versions=found).plain(),
        "gatewayAddress": stack.gateway_address,
        "ready": stack.gateway_address.apply(lambda address: address is not None),
    }
    for key, value in exports.items():
        pulumi.export(key, value)


def capabilities_of(stack: Stack, settings: ServingStackSettings, cluster: ClusterOutputs) -> Capabilities:
    """What replicas find on the cluster. Software for gangs is there with its chart, or where the cluster shows it."""
    chart, definition = GANG_SOFTWARE[stack]
    installed = {release.key for release in serving_releases(stack, settings, Mirrors())}
    return Capabilities(
        inference_pools=settings.inference_pools,
        gangs=chart in installed or definition in cluster.foreign_definitions,
        rank=stack == "Standard",
    )


def _document(context: Context, cluster: ClusterOutputs) -> InferenceCluster:
    document = context.cluster_document()
    refuse_changes(document, cluster_changes(document, deployed_cluster(cluster.inputs)))
    return document
