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


def program(context: Context) -> None:
    """Register the cluster's gateway objects and export its address and capabilities.

    Raises:
        MissingInput: the cluster stack has not been brought up.

    """
    name = context.cluster_name
    cluster = context.read(ClusterOutputs, "cluster", name)
    if cluster is None:
        raise MissingInput(
            f"the outputs of {context.stack('cluster', name)} are not there yet", hint="bring that stack up first"
        )
    if name not in context.documents.clusters:
        raise InvocationError(
            f"cluster {name} is not in the documents any more",
            where=str(context.documents.directory),
            hint=f"put its document back, or take it out with `modelplane up --delete-cluster {name}`",
            code="MP132",
        )
    settings = serving_stack_for(context.fleet, name)
    fleet = context.fleet.name
    access = provider(name, context.kubeconfig(cluster.kubeconfig), f"{fleet}/{name}", ResourceOptions())
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
