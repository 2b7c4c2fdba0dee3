"""What would give a deployment the replicas it lacks: nodes, a toleration, a label, a cluster brought up.

A fix is a list of edits (`what_if`) and is *certified* on the fleet in which everybody keeps what the plan gives: with
the fix the deployment is placed as wanted; with one node less, or without one of its edits, it is not. What cannot be
changed by such edits has no fix here: hardware that matches nowhere, a serving stack, a cache's clusters.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import permutations

from api.clusters import MOST_NODES
from scheduler.decide import schedule
from scheduler.demand import Demand, demand_of
from scheduler.headroom import scaled, settled
from scheduler.ledger import node_costs
from scheduler.plan import Plan, ReasonCode, Verdict
from scheduler.snapshot import Cluster, DeploymentKey, Snapshot
from scheduler.taints import untolerated
from scheduler.what_if import Edit, apply, label_edit, pool_edit, ready_edit, toleration_edit

NEAREST = 8
"""How many clusters are looked at, those that lack least."""

_TRIED = 400
"""About how many missing replicas times clusters are worth looking at; where more are missing, fewer clusters are."""

MOST = 6
"""How many fixes of one deployment are certified, the cheapest that were found."""

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


def fixes(
    snapshot: Snapshot, key: DeploymentKey, cluster: str | None = None, *, most: int = MOST, plan: Plan | None = None
) -> tuple[Fix, ...]:
    """Certified fixes for a deployment that is short, the cheapest first; none where none is known.

    Cheap is what adds the fewest nodes, then what takes the fewest edits; labels before tolerations before clusters
    brought up. With `cluster`, only edits of that cluster, and of what the deployment tolerates, are looked for. `plan`
    is that of the snapshot where it is known already.

    Raises:
        KeyError: the deployment is not in the snapshot.

    """
    before = plan or schedule(snapshot)
    if before.deployments[key].invalid_selector is not None or not is_short(before, key):
        return ()
    search = _Search(snapshot, key, before, cluster)
    found: dict[tuple[Edit, ...], Fix] = {}
    for steps in search.likely():
        fix = search.certified(steps)
        if fix is not None:
            found[fix.edits] = fix
        if len(found) == most:
            break
    return tuple(sorted(found.values(), key=_cost))


def cheapest_fix(snapshot: Snapshot, key: DeploymentKey, plan: Plan | None = None) -> Fix | None:
    """The first of `fixes`."""
    return next(iter(fixes(snapshot, key, most=1, plan=plan)), None)


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


class _World:
    """A fleet on which steps are tried for one deployment, each combination once."""

    def __init__(self, snapshot: Snapshot, key: DeploymentKey) -> None:
        self._snapshot = snapshot
        self._key = key
        self._known: dict[tuple[_Step, ...], bool] = {}

    def is_helped(self, steps: Sequence[_Step]) -> bool:
        """Whether all is placed with these steps."""
        tried = tuple(steps)
        if tried not in self._known:
            after = schedule(apply(self._snapshot, [step.edit for step in tried]))
            self._known[tried] = not is_short(after, self._key)
        return self._known[tried]

    def least(self, steps: Sequence[_Step]) -> list[_Step]:
        """What is needed of steps that help."""
        left = list(steps)
        while True:  # a step that was needed may not be once another has gone
            before = left
            for step in before:
                left = self._less(left, step)
            if left == before:
                return left

    def _less(self, steps: list[_Step], step: _Step) -> list[_Step]:
        """The same with as little of one step as helps: what is left of it, and one less of it does not."""
        without = [each for each in steps if each != step]
        if self.is_helped(without):
            return without
        low, high = 0, step.nodes  # `low` does not help, `high` does
        while high - low > 1:
            middle = (low + high) // 2
            if self.is_helped(_with(steps, step, middle)):
                high = middle
            else:
                low = middle
        return _with(steps, step, high) if step.nodes else steps


class _Search:
    """The search for fixes of one deployment: on the nearest clusters alone, and certified on the whole fleet."""

    def __init__(self, snapshot: Snapshot, key: DeploymentKey, plan: Plan, only: str | None) -> None:
        self._given = snapshot
        self._key = key
        document = next(each for each in snapshot.deployments if (each.namespace, each.name) == key)
        self._demand: Demand = demand_of(document, snapshot.caches)
        openable = [
            verdict
            for verdict in plan.deployments[key].verdicts
            if only in {None, verdict.cluster} and {each.code for each in verdict.reasons} <= _OPENED
        ]
        missing = sum(max(0, each.wanted - len(each.placements)) for each in plan.deployments.values())
        looked_at = max(1, min(NEAREST, _TRIED // missing))
        nearest = [verdict.cluster for verdict in sorted(openable, key=_distance)[:looked_at]]
        clusters = {each.name: each for each in snapshot.clusters}
        self._clusters = [clusters[name] for name in nearest]
        there = settled(snapshot, plan)
        near = _near(there, plan, frozenset(nearest))
        self._whole = _World(there, key)
        self._near = _World(near, key)
        plenty = 1 + _nodes_of_everything(near)
        self._spare = {
            f"{each.name}/{pool.name}": min(plenty, MOST_NODES - pool.nodes)
            for each in self._clusters
            for pool in each.pools
            if not pool.leaving and pool.devices and pool.nodes < MOST_NODES
        }

    def likely(self) -> list[list[_Step]]:
        """What helps on the nearest clusters, the cheapest first."""
        found = (self._near.least(steps) for steps in self._candidates() if self._near.is_helped(steps))
        unique = {tuple(step.edit for step in steps): steps for steps in found}
        return sorted(unique.values(), key=lambda steps: _cost(_fix(steps)))

    def certified(self, steps: list[_Step]) -> Fix | None:
        """The least that helps the whole fleet: these steps, or where they are not quite that, what is needed."""
        if not self._is_least(steps):
            plenty = [
                replace(step, nodes=self._spare[step.open_edit.words[1]]) if step.nodes else step for step in steps
            ]
            if not self._whole.is_helped(plenty):
                return None
            steps = self._whole.least(plenty)
        fix = _fix(steps)
        # Without what is planned in its place, too: it has to be true of the fleet as it is given.
        return None if is_short(schedule(apply(self._given, fix.edits)), self._key) else fix

    def _is_least(self, steps: list[_Step]) -> bool:
        return self._whole.is_helped(steps) and not any(
            self._whole.is_helped(
                _with(steps, step, step.nodes - 1) if step.nodes > 1 else [each for each in steps if each != step]
            )
            for step in steps
        )

    def _candidates(self) -> Iterator[list[_Step]]:
        """Steps that may do: of each cluster alone, with nodes and without; then what opens them, together."""
        together: list[_Step] = []
        for cluster in self._clusters:
            opening = self._opening(cluster)
            if opening:
                together += [step for step in opening if step not in together]
                yield opening
                if self._near.is_helped(opening):
                    continue  # nodes besides would only be saved again
            for pools in self._pools(cluster):
                yield [*opening, *pools]
        if together:
            yield together

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
        places = [f"{cluster.name}/{pool.name}" for pool in cluster.pools]
        steps = [_Step(Edit(("pool", place, "")), self._spare[place]) for place in places if place in self._spare]
        yield from ([step] for step in steps)
        if len(self._demand.engines) > 1 and len(steps) > 1:
            orders = permutations(steps) if len(steps) <= _MOST_POOLS else (steps, steps[::-1])
            yield from (list(order) for order in orders)


def _near(there: Snapshot, plan: Plan, names: frozenset[str]) -> Snapshot:
    """A few clusters of a fleet in which a plan has come true, with what is there and what is still missing."""
    replicas = tuple(each for each in there.replicas if each.key.cluster in names)
    here = Counter((each.key.namespace, each.key.deployment) for each in replicas)
    missing = {
        key: 0 if each.invalid_selector else max(0, each.wanted - len(each.placements))
        for key, each in plan.deployments.items()
    }
    wanted = {key: here[key] + missing[key] for key in missing}
    return replace(
        there,
        clusters=tuple(each for each in there.clusters if each.name in names),
        deployments=tuple(
            scaled(each, wanted[each.namespace, each.name])
            for each in there.deployments
            if wanted[each.namespace, each.name]
        ),
        replicas=replicas,
    )


def _fix(steps: Sequence[_Step]) -> Fix:
    return Fix(edits=tuple(step.edit for step in steps), nodes=sum(step.nodes for step in steps))


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
