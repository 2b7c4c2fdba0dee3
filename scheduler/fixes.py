"""What would give a deployment the replicas it lacks: nodes, a toleration, a label, a cluster brought up.

A fix is a list of edits (`what_if`) and is *certified* on the fleet in which everybody keeps what the plan gives: with
the fix the deployment is placed as wanted; with one node less, or without one of its edits, it is not. What cannot be
changed by such edits has no fix here: hardware that matches nowhere, a serving stack, a cache's clusters.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import permutations

from scheduler.decide import schedule
from scheduler.demand import Demand, demand_of
from scheduler.headroom import settled
from scheduler.ledger import node_costs
from scheduler.plan import Plan, ReasonCode, Verdict
from scheduler.snapshot import Cluster, DeploymentKey, Snapshot
from scheduler.taints import untolerated
from scheduler.what_if import Edit, apply, label_edit, pool_edit, ready_edit, toleration_edit

NEAREST = 8
"""How many clusters are looked at, those that lack least; each takes some runs of the scheduler."""

_MOST_POOLS = 3
"""Up to how many pools of a cluster every order of saving nodes is tried."""

_OPENED = {
    ReasonCode.LABEL_MISMATCH,
    ReasonCode.NOT_READY,
    ReasonCode.UNREACHABLE,
    ReasonCode.TAINTED,
    ReasonCode.INSUFFICIENT_NODES,
}
"""Reasons that edits can take away."""


@dataclass(frozen=True, kw_only=True)
class Fix:
    """Edits that together place what is wanted, none of which can be left out or made smaller."""

    edits: tuple[Edit, ...]
    nodes: int
    """Nodes that are added."""

    def __str__(self) -> str:
        """The edits as `what_if.parse` reads them."""
        return "; ".join(str(edit) for edit in self.edits)


@dataclass(frozen=True)
class _Step:
    """One edit on trial; for a pool the edit is open, and `nodes` says how many it gets."""

    open_edit: Edit
    nodes: int = 0

    @property
    def edit(self) -> Edit:
        return self.open_edit if not self.nodes else pool_edit(self.open_edit.words[1], self.nodes)


def fixes(snapshot: Snapshot, key: DeploymentKey, cluster: str | None = None) -> tuple[Fix, ...]:
    """Certified fixes for a deployment that is short, the cheapest first; none where none is known.

    Cheap is what adds the fewest nodes, then what takes the fewest edits; labels before tolerations before clusters
    brought up. With `cluster`, only edits of that cluster, and of what the deployment tolerates, are looked for.

    Raises:
        KeyError: the deployment is not in the snapshot.

    """
    search = _Search(snapshot, key)
    if not search.is_short:
        return ()
    found = {fix.edits: fix for steps in search.candidates(cluster) if (fix := search.certified(steps))}
    return tuple(sorted(found.values(), key=_cost))


def cheapest_fix(snapshot: Snapshot, key: DeploymentKey) -> Fix | None:
    """The first of `fixes`."""
    return next(iter(fixes(snapshot, key)), None)


def smaller(fix: Fix) -> Iterator[tuple[Edit, ...]]:
    """Every way in which a fix can be one less: a node less in one pool, or one edit left out."""
    for position, edit in enumerate(fix.edits):
        before, after = fix.edits[:position], fix.edits[position + 1 :]
        nodes = _nodes(edit)
        if nodes > 1:
            yield (*before, pool_edit(edit.words[1], nodes - 1), *after)
        else:
            yield (*before, *after)


def is_short(plan: Plan, key: DeploymentKey) -> bool:
    """Whether a deployment has fewer replicas than it wants."""
    mine = plan.deployments[key]
    return len(mine.placements) < mine.wanted


class _Search:
    """The search for fixes of one deployment."""

    def __init__(self, snapshot: Snapshot, key: DeploymentKey) -> None:
        self._given = snapshot
        self._key = key
        self._before = schedule(snapshot)
        self._snapshot = settled(snapshot, self._before)
        self._plan = self._before.deployments[key]
        self._clusters = {each.name: each for each in snapshot.clusters}
        self._known: dict[tuple[_Step, ...], bool] = {}
        document = next(each for each in snapshot.deployments if (each.namespace, each.name) == key)
        self._demand: Demand = demand_of(document, snapshot.caches)
        self._plenty = 1 + _nodes_of_everything(snapshot)

    @property
    def is_short(self) -> bool:
        return self._plan.invalid_selector is None and is_short(self._before, self._key)

    def candidates(self, only: str | None) -> Iterator[list[_Step]]:
        """Steps that may do: of each of the nearest clusters alone, with nodes and without; then of all together."""
        openable = [
            verdict
            for verdict in self._plan.verdicts
            if only in {None, verdict.cluster} and {each.code for each in verdict.reasons} <= _OPENED
        ]
        together: list[_Step] = []
        for verdict in sorted(openable, key=_distance)[:NEAREST]:
            opening = self._opening(self._clusters[verdict.cluster])
            if opening:
                together += [step for step in opening if step not in together]
                yield opening
                if self._helps(opening):
                    continue  # nodes besides would only be saved again
            for pools in self._pools(self._clusters[verdict.cluster]):
                yield [*opening, *pools]
        if together:
            yield together

    def certified(self, steps: Sequence[_Step]) -> Fix | None:
        """The least of these steps that helps, or None where not even all of them do."""
        if not self._helps(steps):
            return None
        left = list(steps)
        while True:  # a step that was needed may not be once another has gone
            before = left
            for step in list(left):
                left = self._less(left, step)
            if left == before:
                break
        edits = tuple(step.edit for step in left)
        if is_short(schedule(apply(self._given, edits)), self._key):
            return None  # it would take that what is planned is there first
        return Fix(edits=edits, nodes=sum(step.nodes for step in left))

    def _less(self, steps: list[_Step], step: _Step) -> list[_Step]:
        """The same with as little of one step as helps: what is left of it, and one less of it does not."""
        without = [each for each in steps if each != step]
        if self._helps(without):
            return without
        low, high = 0, step.nodes  # `low` does not help, `high` does
        while high - low > 1:
            middle = (low + high) // 2
            if self._helps(_with(steps, step, middle)):
                high = middle
            else:
                low = middle
        return _with(steps, step, high)

    def _helps(self, steps: Sequence[_Step]) -> bool:
        tried = tuple(steps)
        if tried not in self._known:
            after = schedule(apply(self._snapshot, [step.edit for step in tried]))
            self._known[tried] = not is_short(after, self._key)
        return self._known[tried]

    def _opening(self, cluster: Cluster) -> list[_Step]:
        """Edits that take away everything but a lack of nodes."""
        wanted = {**self._demand.labels, **(self._demand.footprint.match_labels if self._demand.footprint else {})}
        labels = [
            label_edit(cluster.name, key, value)
            for key, value in sorted(wanted.items())
            if cluster.labels.get(key) != value
        ]
        tolerations = [
            toleration_edit(self._key, taint) for taint in untolerated(cluster.taints, self._demand.tolerations)
        ]
        up = cluster.ready and cluster.reachable and cluster.gateway_address
        return [_Step(edit) for edit in (*labels, *tolerations, *([] if up else [ready_edit(cluster.name)]))]

    def _pools(self, cluster: Cluster) -> Iterator[list[_Step]]:
        """Enough nodes for everything there is: for each pool alone, then for all, in every order of saving."""
        steps = [
            _Step(Edit(("pool", f"{cluster.name}/{pool.name}", "")), self._plenty)
            for pool in cluster.pools
            if not pool.leaving and pool.devices
        ]
        yield from ([step] for step in steps)
        if len(self._demand.engines) > 1 and len(steps) > 1:
            orders = permutations(steps) if len(steps) <= _MOST_POOLS else (steps, steps[::-1])
            yield from (list(order) for order in orders)


def _distance(verdict: Verdict) -> tuple[int, int, str]:
    """How much a cluster lacks: gates first, then nodes."""
    short = sum(reason.short for reason in verdict.reasons)
    gates = sum(reason.code != ReasonCode.INSUFFICIENT_NODES for reason in verdict.reasons)
    return gates, short, verdict.cluster


def _with(steps: Sequence[_Step], step: _Step, nodes: int) -> list[_Step]:
    return [replace(each, nodes=nodes) if each == step else each for each in steps]


def _nodes_of_everything(snapshot: Snapshot) -> int:
    """Nodes that all replicas there are and all that are wanted would take at most."""
    wanted = sum(
        deployment.spec.replicas * sum(member.nodes for member in engine.members) * engine.copies
        for deployment in snapshot.deployments
        for engine in deployment.spec.template.spec.engines
    )
    return wanted + sum(nodes for replica in snapshot.replicas for _, nodes in node_costs(replica.engines))


_RANK = ("pool", "label", "tolerate", "ready")


def _cost(fix: Fix) -> tuple[object, ...]:
    ranks = tuple(_RANK.index(edit.words[0]) for edit in fix.edits)
    return fix.nodes, len(fix.edits), max(ranks), str(fix)


def _nodes(edit: Edit) -> int:
    return int(edit.words[2]) if edit.words[0] == "pool" else 0
