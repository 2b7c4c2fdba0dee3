"""Routes of a service with more backends than one rule of Gateway API takes, as plain data.

Backends are put into parts that each have a route of their own. The service's route splits over the parts by the sums
of their weights, and leads to them through the gateway itself: what a backend gets of all requests stays the same. Up
to the limit of one rule a service has one route and no parts. Where nothing is behind a service, its URL stays.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import ceil
from typing import Any

from api import names
from api.routing import MOST_BACKENDS, MOST_IN_A_RULE, Address
from components.gateway_manifests import (
    GATEWAY_API,
    backend,
    empty_slice,
    endpoint_service,
    endpoint_slice,
    service_path,
    service_route,
)
from components.weights import lowered

Plain = dict[str, Any]

NOBODY = "nobody"
"""What the Service is called, after the service, that stands in where there is nothing behind it."""


@dataclass(frozen=True, kw_only=True)
class GatewayService:
    """The Service in front of the hub's gateway."""

    namespace: str
    name: str
    port: int = 80


Door = GatewayService | Address
"""How the hub's gateway is reached from itself: by its Service or, where that is not ours, by an address."""


@dataclass(frozen=True, kw_only=True)
class Share:
    """One endpoint behind a service. `host` is what it wants to be called where that is not what the client wrote."""

    service: str
    port: int
    weight: int
    rewrite_path: str | None = None
    host: str | None = None


@dataclass(frozen=True, kw_only=True)
class ServiceObjects:
    """`parts` are there before the service's own route."""

    route: Plain
    parts: dict[str, Plain] = field(default_factory=dict)
    """By a short name."""


def service_objects(
    namespace: str, name: str, shares: Sequence[Share], door: Door | None, labels: dict[str, str]
) -> ServiceObjects:
    """Everything of one ModelService on the hub. `door` is needed for more shares than one rule takes.

    Shares beyond MOST_BACKENDS are left out; the caller says so.
    """
    if not shares:
        return _of_nobody(namespace, name, labels)
    if len(shares) <= MOST_IN_A_RULE:
        return ServiceObjects(route=service_route(namespace, name, [_backend(share) for share in shares], labels))
    if door is None:
        raise ValueError(f"{namespace}/{name} has {len(shares)} backends and no way to its gateway")
    entrance, objects = _entrance(namespace, name, door, labels)
    groups = _groups(shares[:MOST_BACKENDS])
    refs = []
    for number, (group, weight) in enumerate(
        zip(groups, lowered([sum(each.weight for each in group) for group in groups]), strict=True)
    ):
        path = f"{service_path(namespace, name)}.part-{number}/"
        kept = [_backend(share, otherwise=service_path(namespace, name)) for share in group]
        own = names.child(name, f"part-{number}")
        objects[f"part-{number}"] = service_route(namespace, own, kept, labels, path=path)
        refs.append(backend(entrance.name, entrance.port, weight, path, namespace=entrance.namespace))
    return ServiceObjects(route=service_route(namespace, name, refs, labels), parts=objects)


def _of_nobody(namespace: str, name: str, labels: dict[str, str]) -> ServiceObjects:
    """A service whose URL stays and answers 503. A rule without backends answers 500, as for a fault of the gateway."""
    nobody, port = names.child(name, NOBODY), 80
    parts = {
        "nobody": endpoint_service(namespace, nobody, Address("http", "", port, "IPv4"), labels),
        "nobody-slice": empty_slice(namespace, nobody, port, labels),
    }
    return ServiceObjects(route=service_route(namespace, name, [backend(nobody, port, 1, None)], labels), parts=parts)


def _groups(shares: Sequence[Share]) -> list[Sequence[Share]]:
    """As few groups as there can be, of sizes that differ by one at most."""
    count = ceil(len(shares) / MOST_IN_A_RULE)
    size, more = divmod(len(shares), count)
    starts = [number * size + min(number, more) for number in range(count + 1)]
    return [shares[start:end] for start, end in pairwise(starts)]


def _backend(share: Share, otherwise: str | None = None) -> Plain:
    return backend(share.service, share.port, share.weight, share.rewrite_path or otherwise, host=share.host)


def _entrance(namespace: str, name: str, door: Door, labels: dict[str, str]) -> tuple[GatewayService, dict[str, Plain]]:
    """What the parts are reached by, and the objects that this takes."""
    if isinstance(door, GatewayService):
        grant = {
            "apiVersion": "gateway.networking.k8s.io/v1beta1",
            "kind": "ReferenceGrant",
            "metadata": {"name": names.child(namespace, name), "namespace": door.namespace, "labels": labels},
            "spec": {
                "from": [{"group": GATEWAY_API.partition("/")[0], "kind": "HTTPRoute", "namespace": namespace}],
                "to": [{"group": "", "kind": "Service", "name": door.name}],
            },
        }
        return door, {"grant": grant}
    own = names.child(name, "gateway")
    objects = {
        "gateway": endpoint_service(namespace, own, door, labels),
        "gateway-slice": endpoint_slice(namespace, own, door, labels),
    }
    return GatewayService(namespace="", name=own, port=door.port), objects
