"""What a serving cluster and the hub get, part by part, as pure functions: charts, definitions, objects and needs."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from api import names
from api.fleets import FleetGateway, ServingStackSettings
from api.routing import Traefik
from api.terms import Stack
from api.versions import GATEWAY_API, MODEL_EXPRESS
from components.charts import (
    NAMESPACES,
    POOL_READERS,
    HelmRelease,
    Mirrors,
    hub_releases,
    resolves_pools,
    serving_releases,
)
from components.definitions import applied, serving_definitions
from components.gateway_manifests import HUB_LISTENER_PORT, gateway
from components.installation import Part
from components.kubernetes_objects import namespace_manifest
from components.serving_manifests import (
    QUEUE,
    ROOT_QUEUE,
    critical_pods,
    envoy_class,
    envoy_proxy,
    gateway_class,
    model_express,
    pool_readers,
    queue,
)
from components.shares import GatewayService

Plain = dict[str, Any]

LISTENER_PORT = 80
HUB_CLASS = "traefik"
HUB_CONTROLLER = "traefik.io/gateway-controller"
TRAEFIK_SERVICE = GatewayService(namespace=NAMESPACES["traefik"], name="traefik")
"""As the chart's values name it."""
GATEWAY = "gateway"
"""Key of the Gateway among the parts."""


@dataclass(frozen=True, kw_only=True)
class Site:
    """One cluster that parts are meant for, and what of it is somebody else's."""

    fleet: str
    mirrors: Mirrors = field(default_factory=Mirrors)
    definitions: Mapping[str, Mapping[str, Plain]]
    """Definitions by their source's name and their own."""
    foreign_namespaces: frozenset[str] = frozenset()
    foreign_definitions: frozenset[str] = frozenset()
    """Namespaces and definitions that are there and not this fleet's: they are used and never registered."""
    driver_root: str = "/"

    @property
    def labels(self) -> dict[str, str]:
        """Labels of everything that is made."""
        return {names.LABEL_FLEET: self.fleet}


def serving_parts(stack: Stack, settings: ServingStackSettings, site: Site) -> tuple[Part, ...]:
    """All parts of one serving cluster, its Gateway last."""
    releases = serving_releases(stack, settings, site.mirrors, site.driver_root)
    charts = {release.key for release in releases}
    parts = [*_releases(releases, site)]
    if settings.crds.enabled:
        parts += _definitions([source.name for source in serving_definitions(stack)], site)
    if "dra-driver" in charts:
        manifest = critical_pods(NAMESPACES["dra-driver"], site.labels)
        parts.append(Part(key="critical-pods", content=manifest, needs=("dra-driver",)))
    if stack == "Dynamo":
        parts += _dynamo(site)
    if "envoy-gateway" in charts:
        parts += _envoy(settings, site)
    listener = {"name": "http", "protocol": "HTTP", "port": LISTENER_PORT}
    manifest = gateway(names.WORKLOAD_GATEWAY, settings.gateway_class_name, [listener], site.labels)
    parts.append(Part(key=GATEWAY, content=manifest, needs=("gateway-class", "envoy-gateway", "ai-gateway")))
    return _in_namespaces(parts, site)


def hub_parts(traefik: Traefik, settings: FleetGateway, site: Site) -> tuple[Part, ...]:
    """All parts of the hub, its Gateway last."""
    releases = hub_releases(traefik, settings.charts, site.mirrors)
    parts = [*_releases(releases, site)]
    if settings.crds.enabled:
        parts += _definitions([GATEWAY_API.name], site)
    if traefik.load_balancer == "MetalLB" and traefik.metallb:
        parts += _metallb(traefik.metallb.address_pool, site)
    if settings.charts.traefik.enabled:
        manifest = gateway_class(HUB_CLASS, HUB_CONTROLLER, site.labels)
        parts.append(Part(key="gateway-class", content=manifest, needs=("traefik",)))
    listener = {"name": "web", "protocol": "HTTP", "port": HUB_LISTENER_PORT}
    manifest = gateway(names.HUB_GATEWAY, HUB_CLASS, [listener], site.labels)
    needs = ("gateway-class", "traefik", "metallb-advertisement", *_expanded(GATEWAY_API.name, site))
    parts.append(Part(key=GATEWAY, content=manifest, needs=needs))
    return _in_namespaces(parts, site)


def namespaces_of(parts: Iterable[Part]) -> set[str]:
    """Namespaces that the parts are in."""
    found = {_namespace(part) for part in parts}
    return {name for name in found if name}


def _releases(releases: Iterable[HelmRelease], site: Site) -> Iterator[Part]:
    for release in releases:
        needs = [need for each in release.needs for need in _expanded(each, site)]
        yield Part(key=release.key, content=release, needs=tuple(needs))


def _definitions(sources: Iterable[str], site: Site) -> Iterator[Part]:
    for source in sources:
        for name, definition in sorted(site.definitions[source].items()):
            if name not in site.foreign_definitions:
                yield Part(key=name, content=applied(definition, site.labels))


def _expanded(need: str, site: Site) -> tuple[str, ...]:
    """A need of a source of definitions is one of each of them."""
    return tuple(sorted(site.definitions[need])) if need in site.definitions else (need,)


def _envoy(settings: ServingStackSettings, site: Site) -> Iterator[Part]:
    if resolves_pools(settings):
        for manifest in pool_readers(NAMESPACES["envoy-gateway"], site.labels):
            is_role = manifest["kind"] == "ClusterRole"
            yield Part(
                key="pool-reading" if is_role else POOL_READERS,
                content=manifest,
                needs=() if is_role else ("pool-reading",),
            )
    yield Part(key="envoy-proxy", content=envoy_proxy(site.labels), needs=("envoy-gateway",))
    manifest = envoy_class(settings.gateway_class_name, site.labels)
    yield Part(key="gateway-class", content=manifest, needs=("envoy-gateway", "envoy-proxy"))


def _dynamo(site: Site) -> Iterator[Part]:
    yield Part(key=ROOT_QUEUE, content=queue(ROOT_QUEUE, site.labels), needs=("kai-scheduler",))
    yield Part(key=QUEUE, content=queue(QUEUE, site.labels, parent=ROOT_QUEUE), needs=("kai-scheduler", ROOT_QUEUE))
    objects = model_express(site.labels, site.mirrors.images)
    definitions = _expanded(MODEL_EXPRESS.name, site)
    for kind, manifest in objects.items():
        others = ("modelexpress-serviceaccount", "modelexpress-rolebinding", *definitions)
        needs = {"Deployment": others, "RoleBinding": ("modelexpress-serviceaccount", "modelexpress-role")}
        yield Part(key=f"modelexpress-{kind.lower()}", content=manifest, needs=needs.get(kind, ()))


def _metallb(address_pool: str, site: Site) -> Iterator[Part]:
    def manifest(kind: str, spec: Plain) -> Plain:
        metadata = {"name": "modelplane", "namespace": NAMESPACES["metallb"], "labels": site.labels}
        return {"apiVersion": "metallb.io/v1beta1", "kind": kind, "metadata": metadata, "spec": spec}

    pool = manifest("IPAddressPool", {"addresses": [address_pool]})
    yield Part(key="metallb-pool", content=pool, needs=("metallb",))
    advertisement = manifest("L2Advertisement", {"ipAddressPools": ["modelplane"]})
    yield Part(key="metallb-advertisement", content=advertisement, needs=("metallb", "metallb-pool"))


def _in_namespaces(parts: list[Part], site: Site) -> tuple[Part, ...]:
    """The parts and the namespaces they are in, where those are ours to make; each after its own."""
    made = namespaces_of(parts) - site.foreign_namespaces
    spaces = [
        Part(key=_space_key(name), content=namespace_manifest(name, site.fleet, names.LABEL_FLEET), is_retained=True)
        for name in sorted(made)
    ]
    inside = [
        replace(part, needs=(*part.needs, _space_key(space))) if (space := _namespace(part)) else part for part in parts
    ]
    return (*spaces, *inside)


def _space_key(namespace: str) -> str:
    """Key of a namespace; some are called like a chart."""
    return namespace if namespace == names.SYSTEM_NAMESPACE else f"namespace-{namespace}"


def _namespace(part: Part) -> str | None:
    content = part.content
    if isinstance(content, HelmRelease):
        return content.namespace
    found: str | None = content["metadata"].get("namespace")
    return found
