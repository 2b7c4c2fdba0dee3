"""Endpoints in use and how services split over them. A pure function of documents and stacks' outputs.

An endpoint is in use while its replica is ready, its cluster's gateway has an address, and the cluster has not been
unreachable for longer than the fleet waits. A retiring replica whose
successor waits for its nodes, or that has none, leaves at once; any other stays until the successor's endpoint is in
use (design, "Retiring").
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, cast

from api import names
from api.documents import FleetDocuments
from api.routing import MOST_BACKENDS, Address, endpoint_address
from api.selection import LabelIndex
from api.terms import LabelSelector
from components.weights import spread
from programs.outputs import (
    UNKNOWN,
    ClusterOutputs,
    GatewayOutputs,
    Ledger,
    LedgerReplica,
    MaybeText,
    ServingOutputs,
    WorkloadsOutputs,
)

UNKNOWN_ADDRESS = Address("http", UNKNOWN.value, 80, cast("Literal['FQDN']", UNKNOWN.value))
"""Every replica is behind its cluster's gateway, on port 80; where that is turns out when the gateway is up."""


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """One endpoint in use, a replica's or a hand-written one."""

    namespace: str
    name: str
    url: MaybeText
    """Unknown in a preview that cannot know the address yet."""
    address: Address
    labels: Mapping[str, str]
    rewrite_path: str | None
    cluster: str | None = None

    @property
    def key(self) -> str:
        """`<namespace>/<name>`."""
        return f"{self.namespace}/{self.name}"

    @property
    def backend(self) -> str:
        """Name of its Service on the hub."""
        return names.endpoint_service(self.name)


@dataclass(frozen=True, kw_only=True)
class Backend:
    """One endpoint's share of a service."""

    endpoint: Endpoint
    weight: int


@dataclass(frozen=True, kw_only=True)
class Route:
    """One service: its weighted backends, and the entries that have none."""

    namespace: str
    name: str
    backends: tuple[Backend, ...]
    empty_entries: tuple[int, ...]
    matched: int
    notes: tuple[str, ...] = ()
    """What its reader should know: endpoints that several entries match, endpoints that are left out."""

    @property
    def key(self) -> str:
        """`<namespace>/<name>`."""
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, kw_only=True)
class Routing:
    """Everything the hub shows."""

    endpoints: tuple[Endpoint, ...]
    routes: tuple[Route, ...]
    withdrawn: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Observed:
    """Outputs that routing reads; an absent stack is absent here too."""

    gateway: GatewayOutputs | None = None
    serving: Mapping[str, ServingOutputs] = field(default_factory=dict)
    workloads: Mapping[str, WorkloadsOutputs] = field(default_factory=dict)
    in_use: frozenset[str] = frozenset()
    """Endpoints that routing's own last outputs list: one whose readiness is not known stays as it was."""
    urls: Mapping[str, MaybeText] = field(default_factory=dict)
    """Their URLs: a preview keeps one where the address in it is not known."""
    sick: frozenset[str] = frozenset()
    """Replicas that are seen not to be ready, whatever their stack exported last."""
    silent: frozenset[str] = frozenset()
    """Clusters that have not answered for longer than the fleet waits: their endpoints are withdrawn."""


def silent_clusters(clusters: Mapping[str, ClusterOutputs], withdraw_after: int | None, now: str) -> frozenset[str]:
    """Clusters that have been unreachable for at least `withdraw_after` seconds; none where that is None (the default).

    `now` is the time of the run, RFC 3339, as `unreachableSince` of a cluster's outputs is. `Fleet.spec.unreachable`.
    """
    if withdraw_after is None:
        return frozenset()
    at = datetime.fromisoformat(now)
    return frozenset(
        name
        for name, outputs in clusters.items()
        if not outputs.reachable
        and outputs.unreachable_since is not None
        and (at - datetime.fromisoformat(outputs.unreachable_since)).total_seconds() >= withdraw_after
    )


def plan_routing(documents: FleetDocuments, ledger: Ledger, observed: Observed, *, preview: bool = False) -> Routing:
    """Endpoints, routes, and the replicas kept out of rotation."""
    usable = {
        entry.key: endpoint
        for entry in ledger.replicas
        if (endpoint := _replica_endpoint(entry, observed, preview=preview)) is not None
    }
    entries = {entry.key: entry for entry in ledger.replicas}
    in_use = {
        key: endpoint
        for key, endpoint in usable.items()
        if entries[key].state == "active" or not _goes_now(entries[key], entries, usable)
    }
    written = tuple(
        Endpoint(
            namespace=document.namespace,
            name=document.name,
            url=document.spec.url,
            address=endpoint_address(document.spec.url),
            labels=dict(document.metadata.labels),
            rewrite_path=document.spec.rewrite_path,
        )
        for _, document in sorted(documents.endpoints.items())
    )
    endpoints = tuple(sorted([*in_use.values(), *written], key=lambda endpoint: endpoint.key))
    selectable = {
        namespace: _Selectable(each for each in endpoints if each.namespace == namespace)
        for namespace in sorted({endpoint.namespace for endpoint in endpoints})
    }
    routes = tuple(
        _route(namespace, name, document.spec.endpoints, selectable.get(namespace, _Selectable(())))
        for (namespace, name), document in sorted(documents.services.items())
    )
    withdrawn = tuple(sorted(set(entries) - set(in_use)))
    return Routing(endpoints=endpoints, routes=routes, withdrawn=withdrawn)


def _replica_endpoint(entry: LedgerReplica, observed: Observed, *, preview: bool) -> Endpoint | None:
    serving = observed.serving.get(entry.cluster)
    workloads = observed.workloads.get(entry.cluster)
    state = workloads.replicas.get(entry.key) if workloads else None
    if (state is None and not preview) or entry.key in observed.sick:
        return None
    known = None if state is None or state.ready is UNKNOWN else state.ready
    ready = known is True if known is not None else preview or entry.key in observed.in_use
    prefix = names.replica_prefix(entry.namespace, entry.name)
    address: MaybeText = serving.gateway_address if serving else UNKNOWN if preview else None
    url: MaybeText = f"{http_url(address)}{prefix}v1" if isinstance(address, str) else None
    if preview and address is UNKNOWN:
        url = observed.urls.get(entry.key, UNKNOWN)
    if not ready or url is None or entry.cluster in observed.silent:
        return None
    return Endpoint(
        namespace=entry.namespace,
        name=entry.name,
        url=url,
        address=endpoint_address(url) if isinstance(url, str) else UNKNOWN_ADDRESS,
        labels=entry.labels,
        rewrite_path=prefix,
        cluster=entry.cluster,
    )


def http_url(address: str) -> str:
    """The URL of what listens there on port 80."""
    return f"http://[{address}]" if ":" in address and not address.startswith("[") else f"http://{address}"


def _goes_now(entry: LedgerReplica, entries: Mapping[str, LedgerReplica], usable: Mapping[str, Endpoint]) -> bool:
    if is_delete_first(entry, entries):
        return True
    return entry.successor in usable


def is_delete_first(entry: LedgerReplica, entries: Mapping[str, LedgerReplica]) -> bool:
    """Whether a retiring replica has to go before anything can take its place.

    True when it has no successor, or when the successor waits for it: directly, or through what those it waits for
    are themselves succeeded by.
    """
    if entry.successor is None or entry.successor not in entries:
        return True
    seen: set[str] = set()
    open_ends = [entry.successor]
    while open_ends:
        key = open_ends.pop()
        if key in seen or key not in entries:
            continue
        seen.add(key)
        waited = entries[key].waits_for
        if entry.key in waited:
            return True
        open_ends += [successor for name in waited if name in entries and (successor := entries[name].successor)]
    return False


class _Selectable:
    """Endpoints of one namespace, found by their labels."""

    def __init__(self, endpoints: Iterable[Endpoint]) -> None:
        self._by_key = {endpoint.key: endpoint for endpoint in endpoints}
        self._index = LabelIndex((key, endpoint.labels) for key, endpoint in self._by_key.items())

    def by(self, selector: LabelSelector) -> list[Endpoint]:
        """Those that a selector takes, in order of their keys."""
        return [self._by_key[key] for key in sorted(self._index.selected(selector))]


def _route(namespace: str, name: str, document_entries: Sequence[object], endpoints: _Selectable) -> Route:
    """First match wins: an endpoint belongs to the first entry that selects it, in the service's namespace only."""
    taken: dict[str, int] = {}
    groups: list[tuple[int, list[Endpoint]]] = []
    notes = []
    for position, entry in enumerate(document_entries):
        weight, selector = entry.weight, entry.selector  # type: ignore[attr-defined]  # ServiceEntry
        found = endpoints.by(selector)
        notes += [
            f"endpoints[{position}] matches {each.key} too, which belongs to endpoints[{taken[each.key]}]"
            for each in found
            if each.key in taken
        ]
        matched = [each for each in found if each.key not in taken][: MOST_BACKENDS - len(taken)]
        taken |= {each.key: position for each in matched}
        groups.append((weight, matched))
    if len(taken) == MOST_BACKENDS:
        notes.append(f"a service takes {MOST_BACKENDS} endpoints, any more are left out")
    weights = spread([(weight, len(matched)) for weight, matched in groups])
    backends = tuple(
        Backend(endpoint=endpoint, weight=share)
        for (_, matched), shares in zip(groups, weights, strict=True)
        for endpoint, share in zip(matched, shares, strict=True)
    )
    empty = tuple(position for position, (_, matched) in enumerate(groups) if not matched)
    return Route(
        namespace=namespace, name=name, backends=backends, empty_entries=empty, matched=len(taken), notes=tuple(notes)
    )
