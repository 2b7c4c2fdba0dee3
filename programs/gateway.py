"""The `gateway` stack: the fleet's front door on the hub."""

import pulumi
from pulumi import ResourceOptions

from api import names
from api.base import Condition
from components.inference_gateway import InferenceGateway, InferenceGatewayArgs
from components.kubernetes_objects import provider
from programs.conditions import condition, dated
from programs.context import Context
from programs.outputs import GatewayOutputs, RoutingOutputs
from programs.probe import probe
from programs.secret_values import secret_value

HUB = "hub"


def program(context: Context) -> None:
    """Register the hub's Gateway and export where clients find it."""
    fleet = context.fleet
    settings = fleet.spec.gateway
    reference = settings.kubeconfig_secret_ref
    if reference is None:
        raise AssertionError("preflight refuses a fleet without a hub")
    kubeconfig = secret_value(context, reference.name, reference.key, names.SYSTEM_NAMESPACE)
    last = context.last(GatewayOutputs)
    foreign = last.foreign_namespaces if last else ()
    if not context.preview:
        answer = probe(kubeconfig, fleet=fleet.name, namespaces=namespaces_used(context), pools=False)
        foreign = answer.foreign_namespaces if answer.reachable else foreign
    access = provider(HUB, context.kubeconfig(kubeconfig), f"{fleet.name}/{HUB}", ResourceOptions())
    args = InferenceGatewayArgs(
        fleet=fleet.name,
        own_namespace=names.SYSTEM_NAMESPACE not in foreign,
        labels={names.LABEL_FLEET: fleet.name},
    )
    door = InferenceGateway("gateway", args, ResourceOptions(providers=[access]))
    address = pulumi.Output.from_input(settings.address) if settings.address else door.address
    declared = GatewayOutputs(kubeconfig="", foreign_namespaces=foreign).plain()
    exports = {
        **declared,
        "kubeconfig": pulumi.Output.secret(kubeconfig),
        "address": address,
        "ready": door.address.apply(lambda own: own is not None),
        "conditions": door.address.apply(
            lambda own: [
                found.model_dump(by_alias=True, mode="json")
                for found in dated(_conditions(own), last.conditions if last else (), context.now)
            ]
        ),
    }
    for key, value in exports.items():
        pulumi.export(key, value)


def namespaces_used(context: Context) -> set[str]:
    """Namespaces this fleet would make on the hub; endpoints that outlive their documents keep theirs in use."""
    documents = context.documents
    routing = context.read(RoutingOutputs, "routing")
    held = {key.partition("/")[0] for key in routing.endpoints} if routing else set()
    written = (*documents.deployments, *documents.services, *documents.endpoints)
    return {names.SYSTEM_NAMESPACE, *(namespace for namespace, _ in written), *held}


def _conditions(address: str | None) -> list[Condition]:
    """ControllerReady and Ready of the InferenceGateway: a controller that gave an address is at work."""
    found = address is not None
    reason = "ControllerHealthy" if found else "Installing"
    return [
        condition("ControllerReady", status=found, reason=reason),
        condition("Ready", status=found, reason="Available" if found else reason),
    ]
