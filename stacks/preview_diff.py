"""How a preview's plan differs from what was applied last: the ledger's replicas and the services' weights. Pure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from programs.outputs import Ledger, LedgerCache, LedgerReplica, RoutingOutputs

Kind = Literal["place", "retire", "change"]


@dataclass(frozen=True, kw_only=True)
class LedgerChange:
    """One replica or cache that comes, goes or changes in the ledger."""

    kind: Kind
    subject: Literal["replica", "cache"] = "replica"
    key: str
    """`<namespace>/<name>`."""
    cluster: str
    pools: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    """Of a change: what of the entry differs."""
    reason: str = ""
    """Of one that goes: why."""
    successor: str | None = None
    """Of one that goes: the replica that takes its place."""

    def plain(self) -> dict[str, Any]:
        """The change for programs."""
        found = {
            "operation": self.kind,
            "subject": self.subject,
            "name": self.key,
            "cluster": self.cluster,
            "pools": list(self.pools),
            "fields": list(self.fields),
            "reason": self.reason,
            "successor": self.successor,
        }
        return {key: value for key, value in found.items() if value}


@dataclass(frozen=True, kw_only=True)
class WeightChange:
    """One endpoint's weight in one service; None where the endpoint is not among its backends."""

    service: str
    endpoint: str
    before: int | None
    after: int | None

    @property
    def is_one(self) -> bool:
        """Whether the weight changes."""
        return self.before != self.after


def ledger_changes(before: Ledger, after: Ledger, retired: Mapping[str, LedgerReplica]) -> tuple[LedgerChange, ...]:
    """What comes, goes and changes from one ledger to the next, sorted; `retired` says why replicas went."""
    old = {entry.key: entry for entry in before.replicas}
    new = {entry.key: entry for entry in after.replicas}
    found = [_one("place", new[key]) for key in new.keys() - old.keys()]
    for key in old.keys() - new.keys():
        left = retired.get(key, old[key])
        found.append(_one("retire", old[key], reason=left.reason, successor=left.successor))
    differing = {key: _differing(old[key], new[key]) for key in old.keys() & new.keys()}
    found += [_one("change", new[key], fields=fields) for key, fields in differing.items() if fields]
    found += _caches(before, after)
    return tuple(sorted(found, key=lambda change: (change.subject != "replica", change.key, change.cluster)))


def _one(kind: Kind, entry: LedgerReplica, **more: Any) -> LedgerChange:
    pools = {member.node_pool_name for engine in entry.engines for member in engine.members}
    return LedgerChange(kind=kind, key=entry.key, cluster=entry.cluster, pools=tuple(sorted(pools)), **more)


def _caches(before: Ledger, after: Ledger) -> list[LedgerChange]:
    def by_cluster(ledger: Ledger) -> dict[tuple[str, str], LedgerCache]:
        return {
            (f"{cache.namespace}/{cache.name}", cluster): cache for cache in ledger.caches for cluster in cache.clusters
        }

    def one(kind: Kind, key: tuple[str, str], fields: tuple[str, ...] = ()) -> LedgerChange:
        return LedgerChange(kind=kind, subject="cache", key=key[0], cluster=key[1], fields=fields)

    old, new = by_cluster(before), by_cluster(after)
    found = [one("place", key) for key in new.keys() - old.keys()]
    found += [one("retire", key) for key in old.keys() - new.keys()]
    found += [one("change", key, ("spec",)) for key in old.keys() & new.keys() if old[key].spec != new[key].spec]
    return found


_FIELDS: Mapping[str, Callable[[LedgerReplica], Any]] = {
    "state": lambda entry: entry.state,
    "template": lambda entry: [[member.template for member in engine.members] for engine in entry.engines],
    "pools": lambda entry: [[member.node_pool_name for member in engine.members] for engine in entry.engines],
    "devices": lambda entry: [[member.device_requests for member in engine.members] for engine in entry.engines],
    "facts": lambda entry: [[member.facts for member in engine.members] for engine in entry.engines],
    "engines": lambda entry: [
        [engine.name, engine.copies, engine.phase, [[member.role, member.nodes] for member in engine.members]]
        for engine in entry.engines
    ],
    "labels": lambda entry: entry.labels,
    "cache": lambda entry: entry.model_cache_ref,
    "startsEarly": lambda entry: entry.starts_early,
    "serving": lambda entry: entry.serving_mode,
    "waitsFor": lambda entry: entry.waits_for,
    "successor": lambda entry: entry.successor,
}


def _differing(before: LedgerReplica, after: LedgerReplica) -> tuple[str, ...]:
    return tuple(name for name, of in _FIELDS.items() if of(before) != of(after))


def weight_changes(before: RoutingOutputs, after: RoutingOutputs) -> tuple[WeightChange, ...]:
    """Weights of every backend of every service, those that stay included, in the order they have or had."""
    found = []
    for service in sorted({*before.services, *after.services}):
        old = _weights(before, service)
        new = _weights(after, service)
        found += [
            WeightChange(service=service, endpoint=endpoint, before=old.get(endpoint), after=new.get(endpoint))
            for endpoint in {**new, **old}
        ]
    return tuple(found)


def _weights(routing: RoutingOutputs, service: str) -> dict[str, int]:
    state = routing.services.get(service)
    return {backend.endpoint: backend.weight for backend in state.backends} if state else {}
