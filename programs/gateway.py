"""The `gateway` stack: the fleet's front door on the hub."""

from collections.abc import Iterable

import pulumi
from pulumi import ResourceOptions

from api import names
from api.base import Condition
from api.routing import Traefik
from api.versions import GATEWAY_API
from components.charts import HelmRelease, Mirrors, hub_releases
from components.definitions import DEFINITIONS
from components.inference_gateway import InferenceGateway, InferenceGatewayArgs
from components.kubernetes_objects import provider
from components.serving_plan import Site, hub_parts
from programs.conditions import condition, dated
from programs.context import Context
from programs.definitions import definitions
from programs.outputs import GatewayOutputs, RoutingOutputs
from programs.probe import probe
from programs.put_back import put_back
from programs.releases import unlock
from programs.requirements import wanted_of_hub
from programs.secret_values import secret_value

HUB = "hub"
GATEWAY_CONDITIONS = {"ControllerReady", "Ready"}
"""Conditions of the InferenceGateway itself; the others are of the cluster it is on."""


def program(context: Context) -> None:
    """Register Traefik, MetalLB, their definitions and the Gateway; export where clients find it.

    Raises:
        UnreadableDefinitions: definitions that are to be applied cannot be had.

    """
    settings = context.fleet.spec.gateway
    reference = settings.kubeconfig_secret_ref
    if reference is None:
        raise AssertionError("preflight refuses a fleet without a hub")
    kubeconfig = secret_value(context, reference.name, reference.key, names.SYSTEM_NAMESPACE)
    last = context.last(GatewayOutputs)
    site, fitness = _site(context, kubeconfig, last)
    parts = hub_parts(_traefik(context), settings, site)
    if not context.preview:
        releases = [part.content for part in parts if isinstance(part.content, HelmRelease)]
        unlock(kubeconfig, releases)
        put_back(kubeconfig, releases)
    access = provider(HUB, context.kubeconfig(kubeconfig), f"{site.fleet}/{HUB}", ResourceOptions())
    args = InferenceGatewayArgs(fleet=site.fleet, parts=parts)
    door = InferenceGateway("gateway", args, ResourceOptions(providers=[access]))
    declared = GatewayOutputs(
        kubeconfig="",
        foreign_namespaces=tuple(sorted(site.foreign_namespaces)),
        foreign_definitions=tuple(sorted(site.foreign_definitions)),
    )
    before = last.conditions if last else ()
    exports = {
        **declared.plain(),
        "kubeconfig": pulumi.Output.secret(kubeconfig),
        "address": pulumi.Output.from_input(settings.address) if settings.address else door.address,
        "ownAddress": door.address,
        "ready": door.address.apply(lambda own: own is not None),
        "conditions": pulumi.Output.all(door.address, door.is_controlled).apply(
            lambda found: _plain(dated([*_conditions(*found), *fitness], before, context.now))
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
    releases = hub_releases(_traefik(context), context.fleet.spec.gateway.charts, Mirrors())
    charts = {release.namespace for release in releases}
    return {names.SYSTEM_NAMESPACE, *charts, *(namespace for namespace, _ in written), *held}


def _site(context: Context, kubeconfig: str, last: GatewayOutputs | None) -> tuple[Site, tuple[Condition, ...]]:
    """The hub and, where it was asked, what was found of its fitness; else what was found last."""
    fitness = tuple(each for each in last.conditions if each.type not in GATEWAY_CONDITIONS) if last else ()
    namespaces = last.foreign_namespaces if last else ()
    found = last.foreign_definitions if last else ()
    wanted = (GATEWAY_API,) if context.fleet.spec.gateway.crds.enabled else ()
    if not context.preview:
        answer = probe(
            kubeconfig,
            fleet=context.fleet.name,
            namespaces=namespaces_used(context),
            definitions=[name for source in wanted for name in DEFINITIONS[source.name]],
            wanted=wanted_of_hub(context.documents),
            pools=False,
        )
        fitness = answer.conditions
        if answer.reachable:
            namespaces, found = answer.foreign_namespaces, answer.foreign_definitions
    site = Site(
        fleet=context.fleet.name,
        mirrors=context.mirrors,
        definitions=definitions(context, wanted),
        foreign_namespaces=frozenset(namespaces),
        foreign_definitions=frozenset(found),
    )
    return site, fitness


def _traefik(context: Context) -> Traefik:
    document = context.documents.gateway
    if document is None or document.spec.traefik is None:
        raise AssertionError("preflight refuses a fleet without a gateway")
    return document.spec.traefik


def _conditions(address: str | None, is_controlled: bool) -> list[Condition]:  # noqa: FBT001 - what a component found
    """ControllerReady and Ready of the InferenceGateway."""
    found = address is not None
    controller = "ControllerHealthy" if is_controlled else "Installing"
    return [
        condition("ControllerReady", status=is_controlled, reason=controller),
        condition("Ready", status=found, reason="Available" if found else "Installing"),
    ]


def _plain(conditions: Iterable[Condition]) -> list[dict[str, str]]:
    return [found.model_dump(by_alias=True, mode="json") for found in conditions]
