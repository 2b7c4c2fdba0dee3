"""The `routing` stack: endpoints and services on the hub."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import pulumi
from pulumi import ResourceOptions

from api import names
from api.errors import MissingInput
from api.routing import MOST_IN_A_RULE, endpoint_address
from components.kubernetes_objects import namespace_manifest, provider, register
from components.model_endpoint import ModelEndpoint, ModelEndpointArgs
from components.model_service import ModelService, ModelServiceArgs
from components.serving_plan import TRAEFIK_SERVICE
from components.shares import Door, Share
from programs.conditions import condition, dated
from programs.context import Context
from programs.gateway import HUB
from programs.guard import guard
from programs.outputs import (
    UNKNOWN,
    ClusterOutputs,
    EndpointState,
    GatewayOutputs,
    PlacementOutputs,
    RoutingOutputs,
    ServiceBackend,
    ServiceState,
    ServingOutputs,
    WorkloadsOutputs,
)
from programs.routing_plan import (
    UNKNOWN_ADDRESS,
    Backend,
    Endpoint,
    Observed,
    Route,
    Routing,
    http_url,
    plan_routing,
    silent_clusters,
)
from programs.workloads_plan import ledger_or_refuse


@dataclass(frozen=True, kw_only=True)
class Decision:
    """What the hub is to show, and out of what."""

    gateway: GatewayOutputs
    plan: Routing
    last: RoutingOutputs


def program(context: Context) -> None:
    """Register endpoints and routes on the hub and export each service's URL.

    Raises:
        MissingInput: as `decide` does.
        DeletionRefused: as `decide` does.

    """
    decision = decide(context)
    states = _register(context, decision)
    outputs = planned_outputs(decision)
    for key, value in outputs.model_copy(update={"services": {}}).plain().items():
        pulumi.export(key, value)
    pulumi.export("services", {key: {**state.plain(), **states[key]} for key, state in outputs.services.items()})


def decide(context: Context) -> Decision:
    """What the hub is to show. Nothing is registered.

    Raises:
        MissingInput: the gateway stack has not been brought up.
        DeletionRefused: there is no ledger while this stack lists endpoints.

    """
    gateway = context.read(GatewayOutputs, "gateway")
    if gateway is None:
        raise MissingInput(
            f"the outputs of {context.stack('gateway')} are not there yet", hint="bring that stack up first"
        )
    last = context.last(RoutingOutputs) or RoutingOutputs()
    ledger = ledger_or_refuse(
        context.read(PlacementOutputs, "placement"),
        lists_anything=any(
            state.cluster is not None and state.cluster not in context.permissions.leaving
            for state in last.endpoints.values()
        ),
        stack=context.stack("routing"),
    )
    clusters = {entry.cluster for entry in ledger.replicas}
    observed = Observed(
        gateway=gateway,
        serving=context.read_all(ServingOutputs, "serving", clusters),
        workloads=context.read_all(WorkloadsOutputs, "workloads", clusters),
        in_use=frozenset(last.endpoints),
        urls={key: state.url for key, state in last.endpoints.items()},
        sick=context.sick,
        silent=_silent(context, clusters),
    )
    plan = plan_routing(context.documents, ledger, observed, preview=context.preview)
    _refuse_deletions(context, last, plan)
    return Decision(gateway=gateway, plan=plan, last=last)


def _silent(context: Context, clusters: Collection[str]) -> frozenset[str]:
    seconds = context.fleet.spec.unreachable.withdraw_after_seconds
    if seconds is None:
        return frozenset()
    return silent_clusters(context.read_all(ClusterOutputs, "cluster", clusters), seconds, context.now)


def planned_outputs(decision: Decision) -> RoutingOutputs:
    """The exports as far as they are known before the stack runs: all but what the gateway says of its routes."""
    plan = decision.plan
    return RoutingOutputs(
        endpoints={endpoint.key: _endpoint_state(endpoint) for endpoint in plan.endpoints},
        services={route.key: _service_state(route, decision.gateway) for route in plan.routes},
        withdrawn=plan.withdrawn,
    )


def _refuse_deletions(context: Context, last: RoutingOutputs, plan: Routing) -> None:
    """Services and hand-written endpoints go only with their documents; a replica's endpoint follows the ledger."""
    share = context.fleet.spec.deletion.share
    allowed = context.permissions.deletions
    services = [f"service {key}" for key in last.services if key not in {route.key for route in plan.routes}]
    guard("services", services, len(last.services), share, allowed)
    written = [key for key, state in last.endpoints.items() if state.cluster is None]
    kept = {endpoint.key for endpoint in plan.endpoints}
    endpoints = [f"endpoint {key}" for key in written if key not in kept]
    guard("hand-written endpoints", endpoints, len(written), share, allowed)


def _register(context: Context, decision: Decision) -> dict[str, dict[str, Any]]:
    """Register everything; by service, what its live route tells."""
    fleet, gateway, plan = context.fleet.name, decision.gateway, decision.plan
    labels = {names.LABEL_FLEET: fleet}
    access = provider(HUB, context.kubeconfig(gateway.kubeconfig), f"{fleet}/{HUB}", ResourceOptions())
    used = {endpoint.namespace for endpoint in plan.endpoints} | {route.namespace for route in plan.routes}
    own = ResourceOptions(provider=access, retain_on_delete=True)
    namespaces = {
        name: register(namespace_manifest(name, fleet, names.LABEL_FLEET), name, own)
        for name in sorted(used - set(gateway.foreign_namespaces))
    }
    backends: dict[str, list[pulumi.Resource]] = {}
    for endpoint in plan.endpoints:
        args = ModelEndpointArgs(
            namespace=endpoint.namespace, service=endpoint.backend, address=endpoint.address, labels=labels
        )
        needs = [namespaces[endpoint.namespace]] if endpoint.namespace in namespaces else None
        component = ModelEndpoint(endpoint.key, args, ResourceOptions(providers=[access], depends_on=needs))
        backends[endpoint.key] = component.objects
    services = {}
    for route in plan.routes:
        parts: list[pulumi.Resource] = [found for share in route.backends for found in backends[share.endpoint.key]]
        parts += [namespaces[route.namespace]] if route.namespace in namespaces else []
        service = ModelService(
            f"service:{route.key}",
            ModelServiceArgs(
                namespace=route.namespace,
                service=route.name,
                shares=[_share(found) for found in route.backends],
                door=_door(context, gateway) if len(route.backends) > MOST_IN_A_RULE else None,
                labels=labels,
            ),
            ResourceOptions(providers=[access], depends_on=parts),
        )
        services[route.key] = _live_state(route, service, decision.last.services.get(route.key), context.now)
    return services


def _share(found: Backend) -> Share:
    """An endpoint by a name is asked for by that name: what is behind it often tells its hosts apart."""
    endpoint = found.endpoint
    by_name = endpoint.cluster is None and endpoint.address.family == "FQDN"
    return Share(
        service=endpoint.backend,
        port=endpoint.address.port,
        weight=found.weight,
        rewrite_path=endpoint.rewrite_path,
        host=endpoint.address.host if by_name else None,
    )


def _door(context: Context, gateway: GatewayOutputs) -> Door:
    """How the hub's gateway reaches itself."""
    if context.fleet.spec.gateway.charts.traefik.enabled:
        return TRAEFIK_SERVICE
    if gateway.own_address is None:
        raise MissingInput(
            f"{context.stack('gateway')} exports no address of the Gateway, which a service with more than "
            f"{MOST_IN_A_RULE} endpoints needs",
            hint="bring that stack up again",
        )
    return UNKNOWN_ADDRESS if gateway.own_address is UNKNOWN else endpoint_address(http_url(str(gateway.own_address)))


def _endpoint_state(endpoint: Endpoint) -> EndpointState:
    return EndpointState(
        url=endpoint.url, cluster=endpoint.cluster, backend=endpoint.backend, port=endpoint.address.port
    )


def _service_state(route: Route, gateway: GatewayOutputs) -> ServiceState:
    known = isinstance(gateway.address, str)
    return ServiceState(
        address=f"http://{gateway.address}/{route.namespace}/{route.name}" if known else gateway.address,
        backends=tuple(ServiceBackend(endpoint=share.endpoint.key, weight=share.weight) for share in route.backends),
        empty_entries=route.empty_entries,
        accepted=UNKNOWN,
    )


def _live_state(route: Route, service: ModelService, last: ServiceState | None, now: str) -> dict[str, Any]:
    before = last.conditions if last else ()
    return {
        "accepted": service.accepted,
        "conditions": service.accepted.apply(
            lambda accepted: [
                found.model_dump(by_alias=True, mode="json")
                for found in dated(_service_conditions(route, accepted=accepted), before, now)
            ]
        ),
    }


def _service_conditions(route: Route, *, accepted: bool) -> list[Any]:
    text = "; ".join([f"Matched {route.matched} endpoint(s)", *route.notes])
    if route.matched:
        resolved = condition("EndpointsResolved", status=True, reason="Resolved", message=text)
    else:
        resolved = condition("EndpointsResolved", status=False, reason="NoEndpoints", message=text)
    usable = accepted and bool(route.backends)
    routing = condition("RoutingReady", status=usable, reason="RouteConfigured" if usable else "Configuring")
    ready = condition("Ready", status=usable, reason="Available" if usable else resolved.reason)
    return [resolved, routing, ready]
