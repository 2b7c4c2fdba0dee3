"""Which clusters pass the gates for a deployment, found once for all deployments that ask the same."""

from collections import defaultdict
from collections.abc import Sequence

from scheduler.demand import Demand
from scheduler.filters import condition_gates, selection_gates
from scheduler.plan import Reason
from scheduler.snapshot import Cluster

GateKey = tuple[object, ...]
"""What of a deployment its gates depend on."""


class Gates:
    """The clusters of one run, by position, and who may go where."""

    def __init__(self, clusters: Sequence[Cluster]) -> None:
        self._clusters = clusters
        kinds: dict[tuple[object, ...], int] = {}
        self._kinds = [kinds.setdefault(_kind(cluster), len(kinds)) for cluster in clusters]
        first = {kind: position for position, kind in reversed(list(enumerate(self._kinds)))}
        self._first_of_kind = [first[kind] for kind in range(len(kinds))]
        self._with_label: dict[tuple[str, str], list[int]] | None = None
        self._passing: dict[GateKey, tuple[int, ...]] = {}
        self._conditions: dict[GateKey, list[tuple[Reason, ...]]] = {}

    def passing(self, demand: Demand) -> tuple[int, ...]:
        """Return the positions of the clusters that pass all gates but hardware and room."""
        key = gate_key(demand)
        found = self._passing.get(key)
        if found is None:
            conditions = self._condition_reasons(demand)
            found = self._passing[key] = tuple(
                position
                for position in self._selectable(demand)
                if not conditions[self._kinds[position]]
                and next(selection_gates(demand, self._clusters[position]), None) is None
            )
        return found

    def failing(self, demand: Demand, position: int) -> tuple[Reason, ...]:
        """Return the gates that a cluster fails, most decisive first."""
        conditions = self._condition_reasons(demand)[self._kinds[position]]
        if not demand.labels and demand.cache is None:
            return conditions
        return (*selection_gates(demand, self._clusters[position]), *conditions)

    def _condition_reasons(self, demand: Demand) -> list[tuple[Reason, ...]]:
        key = _condition_key(demand)
        if key not in self._conditions:
            kinds = (self._clusters[position] for position in self._first_of_kind)
            self._conditions[key] = [tuple(condition_gates(demand, cluster)) for cluster in kinds]
        return self._conditions[key]

    def _selectable(self, demand: Demand) -> Sequence[int]:
        """Return a superset of the clusters that the labels select, in order."""
        wanted = {**(demand.footprint.match_labels if demand.footprint else {}), **demand.labels}
        if not wanted:
            return range(len(self._clusters))
        if self._with_label is None:
            self._with_label = defaultdict(list)
            for position, cluster in enumerate(self._clusters):
                for label in cluster.labels.items():
                    self._with_label[label].append(position)
        return min((self._with_label.get(label, []) for label in wanted.items()), key=len)


def gate_key(demand: Demand) -> GateKey:
    """Return a value that is the same for two deployments with the same gates, reasons included."""
    cache = (demand.key[0], demand.cache) if demand.cache is not None else None
    return (tuple(sorted(demand.labels.items())), cache, _condition_key(demand))


def _condition_key(demand: Demand) -> GateKey:
    return (demand.tolerations, demand.prefill_decode, demand.gang, demand.reads_rank)


def _kind(cluster: Cluster) -> tuple[object, ...]:
    """Return all of a cluster that `condition_gates` look at."""
    seen = (cluster.held, cluster.reachable, cluster.ready, bool(cluster.gateway_address))
    return (cluster.taints, cluster.stack, cluster.capabilities, *seen)
