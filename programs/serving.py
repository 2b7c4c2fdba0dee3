"""The `serving.<c>` stack: what a cluster needs before replicas can be placed on it."""

import pulumi
from pulumi import ResourceOptions

from api import names
from api.errors import InvocationError, MissingInput
from api.fleets import serving_stack_for
from components.kubernetes_objects import provider
from components.serving_stack import ServingStack, ServingStackArgs
from programs.context import Context
from programs.outputs import Capabilities, ClusterOutputs, ServingOutputs
from programs.unsupported import refuse_charts

CHARTS = {
    "Standard": (
        "cert-manager",
        "envoy-gateway",
        "ai-gateway-crds",
        "ai-gateway",
        "prometheus",
        "leader-worker-set",
        "node-feature-discovery",
        "dra-driver",
    )
}
"""Charts a serving stack is made of; each has to be switched off while this release installs none."""


def program(context: Context) -> None:
    """Register the cluster's gateway objects and export its address and capabilities.

    Raises:
        MissingInput: the cluster stack has not been brought up.
        InvocationError: the documents ask for a stack or a chart this release does not install.

    """
    name = context.cluster_name
    cluster = context.read(ClusterOutputs, "cluster", name)
    if cluster is None:
        raise MissingInput(
            f"the outputs of {context.stack('cluster', name)} are not there yet", hint="bring that stack up first"
        )
    settings = serving_stack_for(context.fleet, name)
    if cluster.stack not in CHARTS:
        raise InvocationError(
            f"spec.stack: this release serves Standard clusters and cannot install {cluster.stack}",
            where=f"InferenceCluster {name}",
            code="MP117",
        )
    refuse_charts(context.fleet.subject, "spec.servingStack.charts", CHARTS[cluster.stack], settings.charts)
    if settings.inference_pools:
        raise InvocationError(
            "spec.servingStack.inferencePools: this release routes to Services and installs no InferencePools",
            where=context.fleet.subject,
            hint="set spec.servingStack.inferencePools: false",
            code="MP118",
        )
    fleet = context.fleet.name
    access = provider(name, cluster.kubeconfig, f"{fleet}/{name}", ResourceOptions())
    args = ServingStackArgs(
        fleet=fleet,
        cluster=name,
        gateway_class=settings.gateway_class_name,
        own_namespace=names.SYSTEM_NAMESPACE not in cluster.foreign_namespaces,
        labels={names.LABEL_FLEET: fleet},
    )
    stack = ServingStack(f"serving-{name}", args, ResourceOptions(providers=[access]))
    capabilities = Capabilities(inference_pools=False, gangs=False, rank=False)
    exports = {
        **ServingOutputs(cluster=name, capabilities=capabilities).plain(),
        "gatewayAddress": stack.gateway_address,
        "ready": stack.gateway_address.apply(lambda address: address is not None),
    }
    for key, value in exports.items():
        pulumi.export(key, value)
