"""What traffic meets: InferenceGateway, the one front door; ModelService, a public URL; ModelEndpoint, a backend."""

import ipaddress
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal
from urllib.parse import SplitResult, urlsplit

from pydantic import Field

from api.base import API_VERSION, Fault, Kind, Model
from api.grammar import Integer, Text, is_dns_subdomain, is_match
from api.terms import LabelSelector, selector_faults

GATEWAY_NAME = "default"
MOST_IN_A_RULE = 16
"""Backends of one rule of an HTTPRoute."""
MOST_BACKENDS = MOST_IN_A_RULE * MOST_IN_A_RULE
"""Endpoints of one service: one rule leads to others."""
COMPOSED_LABELS = ("modelplane.ai/deployment", "modelplane.ai/cluster", "modelplane.ai/replica-index")


class MetalLB(Model):
    """The addresses that MetalLB may hand out."""

    address_pool: Text
    """Addresses to hand out: first-last, as in 172.18.255.200-172.18.255.250, or a CIDR."""

    def faults(self) -> Iterator[Fault]:
        """IG-N2."""
        if not _is_address_pool(self.address_pool):
            hint = "write 172.18.255.200-172.18.255.250, or 172.18.255.0/24"
            yield Fault("IG-N2", ("addressPool",), "expected first-last or a CIDR", hint)


class Traefik(Model):
    """The version of the Traefik chart, and MetalLB where no cloud assigns addresses."""

    version: Text
    """Version of the Traefik chart, as in 40.2.0."""
    load_balancer: Literal["MetalLB"] | None = None
    """MetalLB on machines of your own; leave it out where a cloud assigns addresses."""
    metallb: MetalLB | None = None
    """Settings of MetalLB."""

    def faults(self) -> Iterator[Fault]:
        """IG-V2 and IG-N3."""
        if self.load_balancer == "MetalLB" and self.metallb is None:
            yield Fault("IG-V2", ("metallb",), "loadBalancer MetalLB needs an address pool", "add metallb.addressPool")
        if self.load_balancer is None and self.metallb is not None:
            hint = "set loadBalancer: MetalLB, or remove the block"
            yield Fault("IG-N3", ("metallb",), "has no effect unless loadBalancer is MetalLB", hint)


class InferenceGatewaySpec(Model):
    """The gateway's implementation."""

    backend: Literal["Traefik"]
    """The gateway's implementation; there is one."""
    traefik: Traefik | None = None
    """Settings of Traefik."""

    def faults(self) -> Iterator[Fault]:
        """IG-V1."""
        if self.traefik is None:
            yield Fault("IG-V1", ("traefik",), "backend Traefik needs its settings block", "add traefik.version")


class InferenceGateway(Kind):
    """The front door of the fleet on the hub; there is one, called default."""

    namespaced: ClassVar[bool] = False

    api_version: Literal["modelplane.ai/v1alpha1"] = API_VERSION
    """Group and version of the kind."""
    kind: Literal["InferenceGateway"] = "InferenceGateway"
    """The kind of the document."""
    spec: InferenceGatewaySpec
    """The front door that is wanted."""

    def faults(self) -> Iterator[Fault]:
        """IG-N1."""
        if self.name != GATEWAY_NAME:
            message = "the gateway is a singleton and must be called default"
            yield Fault("IG-N1", ("metadata", "name"), message, "rename it to default")


class ServiceEntry(Model):
    """Endpoints of the service's namespace that carry all labels, and their share relative to other entries."""

    weight: Annotated[Integer, Field(ge=1, le=1_000_000)] = 1
    """Share of the requests relative to the other entries, spread evenly over the endpoints of the entry."""
    selector: LabelSelector
    """Endpoints of the service's namespace that the entry takes."""

    def faults(self) -> Iterator[Fault]:
        """MS-N1 and MS-N2."""
        if not self.selector.match_labels:
            message = "an empty selector would take every endpoint"
            yield Fault("MS-N1", ("selector", "matchLabels"), message, "name the label of the endpoints that are meant")
        yield from selector_faults(self.selector, "MS-N2", ("selector",))


class ModelServiceSpec(Model):
    """The entries of a service; an endpoint that several match belongs to the first."""

    endpoints: Annotated[tuple[ServiceEntry, ...], Field(min_length=1)]
    """Entries with their shares; an entry without a usable endpoint gives its share to the others."""


class ModelService(Kind):
    """One URL for clients, and how requests split over the endpoints behind it."""

    api_version: Literal["modelplane.ai/v1alpha1"] = API_VERSION
    """Group and version of the kind."""
    kind: Literal["ModelService"] = "ModelService"
    """The kind of the document."""
    spec: ModelServiceSpec
    """The public URL that is wanted, and what is behind it."""


@dataclass(frozen=True)
class Address:
    """Where a backend listens. `host` has no brackets; `family` is the form it is written in."""

    scheme: Literal["http", "https"]
    host: str
    port: int
    family: Literal["IPv4", "IPv6", "FQDN"]


class ModelEndpointSpec(Model):
    """Where a backend is, and the prefix that takes the place of the service's own."""

    url: Text
    """Where the backend listens, http(s)://host[:port]; a path is ignored. 443 or 80 where no port is written."""
    rewrite_path: str | None = None
    """Prefix that takes the place of the service's own, with a slash at both ends; none keeps the path."""

    def faults(self) -> Iterator[Fault]:
        """ME-F1, ME-N1 and ME-N2."""
        try:
            address = endpoint_address(self.url)
            if address.family == "FQDN" and "." not in address.host:
                yield Fault("ME-F1", ("url",), f"{self.url!r} names a host without a domain", "write the whole name")
        except ValueError as error:
            hint = "write http(s)://host[:port][/path], an IPv6 address in brackets"
            rule = "ME-F1" if isinstance(error, UnreachableUrl) else "ME-N1"
            yield Fault(rule, ("url",), f"{error}", hint)
        path = self.rewrite_path
        if path is not None and not (path.startswith("/") and path.endswith("/")):
            yield Fault(
                "ME-N2", ("rewritePath",), "must start and end with /", f"write /{path.strip('/')}/".replace("//", "/")
            )

    def cautions(self) -> Iterator[Fault]:
        """ME-N3, ME-X1 (D03: a path that repeats the API's version) and ME-X2."""
        path = urlsplit(self.url).path.strip("/")
        rewrite = (self.rewrite_path or "").strip("/")
        if path not in ("", rewrite, f"{rewrite}/v1".strip("/")):
            message = f"the path /{path} is ignored; only rewritePath counts"
            yield Fault("ME-N3", ("url",), message, f"set rewritePath: /{path}/, or remove the path")
        address = endpoint_address(self.url)
        if address.scheme == "https" and address.family != "FQDN":
            message = f"the certificate must be issued for {address.host} itself, by an authority that the hub trusts"
            yield Fault("ME-X2", ("url",), message, "write the name that the certificate has")
        if is_match(r"v[0-9]+", rewrite.rpartition("/")[2]):
            message = f"clients ask for /v1/…, so the backend sees /{rewrite}/v1/…"
            yield Fault(
                "ME-X1", ("rewritePath",), message, "leave the version out where the backend's API begins with /v1"
            )


class ModelEndpoint(Kind):
    """An address that serves a model: one is made for every ready replica, others are written by hand."""

    api_version: Literal["modelplane.ai/v1alpha1"] = API_VERSION
    """Group and version of the kind."""
    kind: Literal["ModelEndpoint"] = "ModelEndpoint"
    """The kind of the document."""
    spec: ModelEndpointSpec
    """The backend."""


class UnreachableUrl(ValueError):
    """A URL without a host, or with a port that is none (ME-F1)."""


def endpoint_address(url: str) -> Address:
    """Scheme, host, port and family of an endpoint's URL; 443 and 80 where no port is written.

    Raises ValueError with what is wrong (ME-N1), UnreachableUrl for ME-F1; the path is ignored, as everywhere.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https"):
        message = f"{url!r} begins with neither http:// nor https://"
        raise ValueError(message) if parts.hostname else UnreachableUrl(message)
    _refuse_extras(url, parts)
    host = parts.hostname or ""
    bracketed = "[" in parts.netloc
    try:
        version: int | None = ipaddress.ip_address(host).version
    except ValueError:
        version = None
    if version != 6 and (bracketed or not is_dns_subdomain(host)):
        raise UnreachableUrl(f"{url!r} has no host that can be reached")
    port = _port(url, parts)
    scheme: Literal["http", "https"] = "https" if parts.scheme == "https" else "http"
    family: Literal["IPv4", "IPv6", "FQDN"] = "IPv4" if version == 4 else "IPv6" if version == 6 else "FQDN"
    return Address(scheme, host, port, family)


def _refuse_extras(url: str, parts: SplitResult) -> None:
    if not parts.hostname:
        raise UnreachableUrl(f"{url!r} has no host")
    if "@" in parts.netloc:
        raise ValueError("a user or password has no place in an endpoint's url")
    if parts.query or parts.fragment:
        raise ValueError(f"{url!r} has a query or fragment, which is never sent")
    if "[" not in parts.netloc and parts.netloc.count(":") > 1:
        raise ValueError(f"{url!r} has an IPv6 address without brackets")


def _port(url: str, parts: SplitResult) -> int:
    try:
        port = parts.port
    except ValueError:
        raise UnreachableUrl(f"{url!r} has a port that is no number from 1 to 65535") from None
    if port == 0 or parts.netloc.endswith(":"):
        raise ValueError(f"{url!r} has a port that is no number from 1 to 65535")
    return port or (443 if parts.scheme == "https" else 80)


def _is_address_pool(text: str) -> bool:
    first, dash, last = (part.strip() for part in text.partition("-"))
    try:
        if not dash:
            return "/" in text and ipaddress.ip_network(text, strict=False) is not None
        low, high = ipaddress.ip_address(first), ipaddress.ip_address(last)
    except ValueError:
        return False
    return low.version == high.version and int(low) <= int(high)
