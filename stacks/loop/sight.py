"""What a look at clusters shows, and where that is not what the stacks last exported. Pure.

Only differences count: what a run of ours has just made and exported is none, and so starts no further run.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from api import names
from api.routing import MOST_IN_A_RULE
from components.shares import NOBODY
from programs.outputs import ClusterOutputs, LedgerReplica, RoutingOutputs, WorkloadsOutputs
from programs.replica_state import workload_name

HUB = ""
"""What the hub is called among clusters that are looked at."""
ROUTE = "HTTPRoute"


@dataclass(frozen=True, kw_only=True)
class Seen:
    """One live object: whether it is ready (of a route: accepted), and what others may have set on it."""

    ready: bool
    copies: int = 1
    serving: int | None = None
    """Of a workload: how many copies serve, whatever it is changing to; None where its status does not tell."""
    weights: frozenset[tuple[str, int]] = frozenset()
    """Of a route: its backends by name, each with its weight."""


@dataclass(frozen=True, kw_only=True)
class Sight:
    """What a look at one cluster shows: whether it answers (None: not looked yet), and the fleet's objects there."""

    answers: bool | None = None
    objects: Mapping[str, Seen] = field(default_factory=dict)
    """By `<Kind>/<namespace>/<name>`."""

    @property
    def is_unwell(self) -> bool:
        """Whether any object may be of a sick replica: most looks show none, and need no closer one."""
        return self.answers is True and any(not seen.ready or seen.serving == 0 for seen in self.objects.values())


def astray_replicas(
    rendered: Iterable[LedgerReplica],
    outputs: WorkloadsOutputs | None,
    cluster: ClusterOutputs | None,
    sight: Sight | None,
) -> frozenset[str]:
    """Replicas that are ready and were exported as not, or the other way round, or have another number of copies."""
    if outputs is None or cluster is None or sight is None or not sight.answers:
        return frozenset()
    found = set()
    for entry in rendered:
        state = outputs.replicas.get(entry.key)
        if state is None or not isinstance(state.ready, bool):
            continue
        live = []
        for engine in entry.engines:
            kind, name = workload_name(entry.name, engine, cluster.stack)
            seen = sight.objects.get(f"{kind}/{entry.namespace}/{name}")
            live.append(seen)
            if seen is not None and seen.copies != engine.copies:
                found.add(f"{entry.key} has {seen.copies} copies")
        ready = all(seen is not None and seen.ready for seen in live)
        if ready is not state.ready:
            found.add(f"{entry.key} is {'ready' if ready else 'not ready'}")
    return frozenset(found)


def sick(rendered: Iterable[LedgerReplica], cluster: ClusterOutputs, sight: Sight) -> frozenset[str]:
    """Replicas of which an engine serves with fewer copies than it is to have.

    One that is being changed, and serves meanwhile, is not sick, nor is one that is not seen at all: the look may lack
    it. Of those the stack's own run tells.
    """
    found = set()
    for entry in rendered:
        for engine in entry.engines:
            kind, name = workload_name(entry.name, engine, cluster.stack)
            seen = sight.objects.get(f"{kind}/{entry.namespace}/{name}")
            if seen is not None and seen.serving is not None and seen.serving < engine.copies:
                found.add(entry.key)
    return frozenset(found)


def astray_routes(outputs: RoutingOutputs | None, sight: Sight | None) -> frozenset[str]:
    """Routes that the gateway accepts and that were exported as not, or the other way round, or with other weights."""
    if outputs is None or sight is None or not sight.answers:
        return frozenset()
    found = set()
    for key, state in outputs.services.items():
        seen = sight.objects.get(f"{ROUTE}/{key}")
        accepted = seen is not None and seen.ready
        if accepted is not (state.accepted is True):
            found.add(f"{key} is {'accepted' if accepted else 'not accepted'}")
        planned = planned_weights(outputs, key)
        if seen is not None and planned is not None and seen.weights != planned:
            found.add(f"{key} has {sorted(seen.weights)}")
    return frozenset(found)


def planned_weights(outputs: RoutingOutputs, key: str) -> frozenset[tuple[str, int]] | None:
    """Backends of a service's route by name, each with its weight; None where it is split over several routes."""
    backends = outputs.services[key].backends
    if not backends:
        return frozenset({(names.child(key.partition("/")[2], NOBODY), 1)})
    if len(backends) > MOST_IN_A_RULE:
        return None
    return frozenset((outputs.endpoints[each.endpoint].backend, each.weight) for each in backends)
