"""Gateway API objects of the hub and of a serving cluster, as plain data (reference: routing, sections 2 to 4)."""

from collections.abc import Sequence
from typing import Any

from api import names
from api.routing import Address
from components.kubernetes_objects import SKIP_AWAIT, TIMEOUT, WAIT_FOR

GATEWAY_API = "gateway.networking.k8s.io/v1"
HUB_LISTENER_PORT = 8000
"""Traefik's own port of its `web` entry point; its Service shows it as 80."""
ADDRESS_TIMEOUT_SECONDS = 300

Plain = dict[str, Any]


def gateway(name: str, class_name: str, listeners: Sequence[Plain], labels: dict[str, str]) -> Plain:
    """A Gateway open to routes of all namespaces; it counts as up once it has an address."""
    return {
        "apiVersion": GATEWAY_API,
        "kind": "Gateway",
        "metadata": {
            "name": name,
            "namespace": names.SYSTEM_NAMESPACE,
            "labels": labels,
            "annotations": {
                WAIT_FOR: "jsonpath={.status.addresses[0].value}",
                TIMEOUT: str(ADDRESS_TIMEOUT_SECONDS),
            },
        },
        "spec": {
            "gatewayClassName": class_name,
            "listeners": [{**listener, "allowedRoutes": {"namespaces": {"from": "All"}}} for listener in listeners],
        },
    }


def endpoint_service(namespace: str, name: str, address: Address, labels: dict[str, str]) -> Plain:
    """The selectorless Service that stands for one ModelEndpoint on the hub; it says where TLS is spoken."""
    port: Plain = {"port": address.port, "protocol": "TCP"}
    if address.scheme == "https":
        port["appProtocol"] = "https"
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": _metadata(namespace, name, labels),
        "spec": {"type": "ClusterIP", "ports": [port]},
    }


def empty_slice(namespace: str, name: str, port: int, labels: dict[str, str]) -> Plain:
    """A Service that leads nowhere: what is sent to it is answered with 503."""
    nowhere = endpoint_slice(namespace, name, Address("http", "", port, "IPv4"), labels)
    return {**nowhere, "endpoints": []}


def endpoint_tls(namespace: str, name: str, address: Address, labels: dict[str, str]) -> Plain | None:
    """Which certificate an https endpoint has to show; none for an address, whose certificate must name the address.

    Authorities are those that the gateway's own system trusts.
    """
    if address.scheme != "https" or address.family != "FQDN":
        return None
    return {
        "apiVersion": GATEWAY_API,
        "kind": "BackendTLSPolicy",
        "metadata": _metadata(namespace, name, labels),
        "spec": {
            "targetRefs": [{"group": "", "kind": "Service", "name": name}],
            "validation": {"hostname": address.host, "wellKnownCACertificates": "System"},
        },
    }


def endpoint_slice(namespace: str, name: str, address: Address, labels: dict[str, str]) -> Plain:
    """Where that Service leads. `ready` is written out: Traefik passes over endpoints that leave it unset."""
    managed = {"kubernetes.io/service-name": name, "endpointslice.kubernetes.io/managed-by": "modelplane.ai"}
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": _metadata(namespace, name, {**labels, **managed}),
        "addressType": address.family,
        "endpoints": [{"addresses": [address.host], "conditions": {"ready": True}}],
        "ports": [{"name": "", "port": address.port, "protocol": "TCP"}],
    }


def backend(
    service: str, port: int, weight: int, rewrite_path: str | None, *, host: str | None = None, namespace: str = ""
) -> Plain:
    """One weighted backend of a route, with the prefix and the host that this endpoint wants to be asked for."""
    reference: Plain = {"name": service, "port": port, "weight": weight}
    if namespace:
        reference["namespace"] = namespace
    rewrite: Plain = {}
    if rewrite_path:
        rewrite["path"] = {"type": "ReplacePrefixMatch", "replacePrefixMatch": rewrite_path}
    if host:
        rewrite["hostname"] = host
    if rewrite:
        reference["filters"] = [{"type": "URLRewrite", "urlRewrite": rewrite}]
    return reference


def service_route(
    namespace: str, name: str, backends: Sequence[Plain], labels: dict[str, str], *, path: str = ""
) -> Plain:
    """A route of a ModelService, the only one where no other `path` is given."""
    matched = path or service_path(namespace, name)
    rule: Plain = {
        "matches": [{"path": {"type": "PathPrefix", "value": matched}}],
        "backendRefs": list(backends),
    }
    return {
        "apiVersion": GATEWAY_API,
        "kind": "HTTPRoute",
        "metadata": _metadata(namespace, name, labels),
        "spec": {
            "parentRefs": [{"name": names.HUB_GATEWAY, "namespace": names.SYSTEM_NAMESPACE}],
            "rules": [rule],
        },
    }


def service_path(namespace: str, name: str) -> str:
    """What the paths of a service's requests begin with."""
    return f"/{namespace}/{name}/"


def _metadata(namespace: str, name: str, labels: dict[str, str]) -> Plain:
    return {"name": name, "namespace": namespace, "labels": labels, "annotations": {SKIP_AWAIT: "true"}}
