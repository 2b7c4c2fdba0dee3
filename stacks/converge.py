"""One pass over a fleet: infrastructure side by side, then placement, routing and workloads until nothing moves.

Each step is run when what it would do differs from what it last did, told by the same pure functions the programs
use. Replicas that are starting are waited for, within bounds; what becomes ready gets its endpoint in the next round.
One stack's failure is its own: the others go on.
"""

import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any

from api.documents import FleetDocuments
from api.errors import DeletionRefused, ModelplaneError
from api.names import StackName
from api.terms import Stack
from programs.context import Permissions
from programs.ledger import template_hash
from programs.outputs import (
    ClusterOutputs,
    GatewayOutputs,
    LedgerReplica,
    PlacementOutputs,
    RoutingOutputs,
    ServingOutputs,
    WorkloadsOutputs,
)
from stacks.costs import costs_of
from stacks.emptied import emptied
from stacks.engine import Engine
from stacks.intent import Intents
from stacks.live import Waiting, routes_accepted, wait_for_change
from stacks.operation import Operation, not_begun
from stacks.plan import fleet_stacks
from stacks.removal import destroy_cluster, forget, held, left_documents, tidy_after
from stacks.report import Report
from stacks.shortage import is_all_but_pools, told_by_pool
from stacks.skipping import Notes
from stacks.view import View
from stacks.waiting import counted_text, is_under_way, waiting_for_cache, waiting_for_replica

MOST_ROUNDS = 500
MOST_SEEN_READY = 3
"""How often one replica is waited for that was seen to be ready and was not any more when its stack looked."""
DRAIN_SECONDS = 5.0
"""Between taking endpoints out of rotation and ending what is behind them: a gateway applies routes within two."""
PATIENCE_SECONDS = 60.0
OWN_ENTRIES = 2
"""Entries a stack has without holding anything: its own, and the engine's default provider."""
NO_RESOURCES = frozenset({"placement"})
ACCEPT_SECONDS = 20.0

OnOperation = Callable[[Operation], None]
OnNote = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Options:
    """How a pass is run. `wait` is in seconds; `wait_given` says that the caller asked for that bound.

    After `patience` seconds clusters that are still being made are not waited for: the others go on meanwhile.
    """

    parallel: int = 3
    wait: float = 600.0
    wait_given: bool = False
    patience: float = PATIENCE_SECONDS
    drain: float = DRAIN_SECONDS
    left_out: frozenset[str] = frozenset()
    """Clusters whose stacks are not brought up; what they exported last is still read."""
    permissions: Permissions = field(default_factory=Permissions)


class Pass:
    """One run of `up` over a fleet."""

    def __init__(
        self,
        documents: FleetDocuments,
        engine: Engine,
        options: Options,
        on_operation: OnOperation,
        on_note: OnNote,
        notes: Notes | None = None,
    ) -> None:
        if documents.fleet is None:
            raise AssertionError("a pass is made for a fleet that has its Fleet document")
        self.documents = documents
        self.fleet = documents.fleet.name
        self.engine = engine
        self.options = options
        self.view = View(engine, self.fleet)
        self._intents = Intents(documents, self.view, options.permissions)
        self.operations: list[Operation] = []
        self.failures: list[ModelplaneError] = []
        self._done: dict[StackName, str] = {}
        self._held: dict[StackName, int] = {}
        self._note = on_note
        self._on_operation = on_operation
        self._notes = notes
        self._gone_quiet: set[str] = set()
        self._seen_ready: Counter[tuple[str, str]] = Counter()
        self._broken: set[str] = set()
        self._emptied: dict[str, frozenset[str]] = {}
        self._drained_at = -math.inf
        engine.permissions = options.permissions

    def run(self) -> Report:
        """Bring the fleet to what its documents say, as far as it goes within the bounds."""
        self._held = self.engine.stacks()
        mine = [stack for stack in self._held if stack.fleet == self.fleet]
        self.view.renew_all(mine, self.options.parallel)
        before = self.view.by_cluster(ClusterOutputs, "cluster")
        self._forget()
        self._infrastructure()
        deadline = time.monotonic() + self.options.wait
        self._rounds(deadline)
        if not self.engine.stop.requested:
            self._routes_accepted()
            self._remove_clusters()
            done = [each for each in self.operations if each.action == "up" and each.changes.get("delete")]
            tidy_after((each.stack for each in done), self.view, self._note)
        if self._notes is not None:
            self._notes.keep()
        return self._report(deadline, before)

    def _infrastructure(self) -> None:
        """Gateway and clusters side by side. While some take long, the fleet goes on with those that are there."""
        with ThreadPoolExecutor(self.options.parallel) as pool:
            begun: list[Future[Any]] = [pool.submit(self._up, StackName(self.fleet, "gateway"))]
            begun += [pool.submit(self._cluster, name) for name in sorted(self.documents.clusters)]
            while wait(begun, self.options.patience).not_done:
                self._rounds(time.monotonic() + self.options.patience)
            for each in begun:
                each.result()

    def _rounds(self, deadline: float) -> None:
        """Rounds until nothing moves, waiting for what starts until `deadline`."""
        for _ in range(MOST_ROUNDS):
            if self.engine.stop.requested or not self._round():
                break
            if self._waits(deadline):
                continue
            if self._settled() and not self._pools_emptied():
                break

    def _cluster(self, name: str) -> None:
        operation = self._up(StackName(self.fleet, "cluster", name))
        outputs = self.view.get(ClusterOutputs, "cluster", name)
        if not operation.ok and not is_all_but_pools(operation, outputs):
            self._broken.add(name)
            return
        if outputs is not None and outputs.reachable:
            self._up(StackName(self.fleet, "serving", name))

    def _round(self) -> bool:
        """Placement, routing, workloads, each when it has something to do; False when placement cannot be trusted."""
        placement = StackName(self.fleet, "placement")
        if self._is_stale(placement) and not self._up(placement).ok:
            return False
        routing = StackName(self.fleet, "routing")
        if self._is_stale(routing):
            before = self._endpoints()
            if not self._up(routing).ok and isinstance(self.operations[-1].error, DeletionRefused):
                return False
            if before - self._endpoints():
                self._drained_at = time.monotonic()
        stale = [name for name in self._serving_clusters() if self._is_stale(StackName(self.fleet, "workloads", name))]
        if stale:
            self.engine.stop.sleep(self._drained_at + self.options.drain - time.monotonic())
        self._workloads(stale)
        return True

    def _pools_emptied(self) -> bool:
        """Bring clusters up again where replicas have left a pool that goes or is made anew; whether there were any."""
        found = {}
        for name in self._serving_clusters():
            outputs, document = self.view.get(ClusterOutputs, "cluster", name), self.documents.clusters.get(name)
            if outputs is None or document is None:
                continue
            declared = {pool.name for pool in document.spec.node_pools or ()}
            pools = emptied(outputs, declared, self.view.get(WorkloadsOutputs, "workloads", name))
            if pools - self._emptied.get(name, frozenset()):
                found[name] = pools
        self._emptied |= found
        if self.engine.stop.requested or not found:
            return False
        with ThreadPoolExecutor(self.options.parallel) as pool:
            list(pool.map(self._cluster, found))
        return True

    def _endpoints(self) -> set[str]:
        routing = self.view.get(RoutingOutputs, "routing")
        return set(routing.endpoints) if routing else set()

    def _workloads(self, clusters: Iterable[str]) -> None:
        stacks = [StackName(self.fleet, "workloads", name) for name in clusters]
        with ThreadPoolExecutor(self.options.parallel) as pool:
            list(pool.map(self._up, stacks))

    def _serving_clusters(self) -> list[str]:
        """Clusters whose workloads can be brought up: the cluster answers, and its API has what replicas need."""
        clusters = self.view.by_cluster(ClusterOutputs, "cluster")
        serving = self.view.by_cluster(ServingOutputs, "serving")
        return [
            name
            for name, outputs in clusters.items()
            if outputs.reachable and name in serving and name not in self._broken
        ]

    def _settled(self) -> bool:
        stacks = [StackName(self.fleet, "placement"), StackName(self.fleet, "routing")]
        stacks += [StackName(self.fleet, "workloads", name) for name in self._serving_clusters()]
        return not any(self._is_stale(stack) for stack in stacks)

    def _is_stale(self, stack: StackName) -> bool:
        return self._done.get(stack) != self._intents.digest(stack)

    def _up(self, stack: StackName) -> Operation:
        if self.engine.stop.requested:
            return not_begun(stack, "up")
        known = self.view.copy()
        asked = self._intents.digest(stack)
        if self._is_left_alone(stack):
            self._done[stack] = asked
            return Operation(stack=stack, action="up", begun=False)
        operation = self.engine.up(
            stack,
            refresh=self._held.get(stack, 0) > OWN_ENTRIES,
            continue_on_error=stack.kind in {"cluster", "serving", "workloads"},
        )
        if stack.kind not in NO_RESOURCES:
            self._held[stack] = max(self._held.get(stack, 0), OWN_ENTRIES + 1)
        try:
            self.view.renew(stack)
        except ModelplaneError as error:
            self.failures.append(error)
        # A cache that this very run saw staged lets replicas start that it did not render: that is still to do.
        self._done[stack] = asked if stack.kind == "workloads" else self._asked_of(stack, known)
        if stack.kind == "cluster":
            operation = told_by_pool(operation, self.view.get(ClusterOutputs, "cluster", stack.cluster))
        if self._notes is not None:
            self._notes.ran(stack, known, self.view, ok=operation.ok)
        self._record(operation)
        return operation

    def _asked_of(self, stack: StackName, known: View) -> str:
        """What a stack was asked for: by its own outputs, and those of others from before, as it may not know more."""
        own = known.copy()
        own.adopt(stack, self.view)
        return Intents(self.documents, own, self.options.permissions).digest(stack)

    def _is_left_alone(self, stack: StackName) -> bool:
        """Whether a stack is not to be brought up in this pass, or has, before it has begun, nothing to do."""
        if stack.cluster in self.options.left_out:
            return True
        return self._notes is not None and stack not in self._done and self._notes.knows(stack, self.view)

    def _record(self, operation: Operation) -> None:
        self.operations.append(operation)
        self._on_operation(operation)

    def _starting(self) -> dict[str, list[LedgerReplica]]:
        """Applied replicas that are not ready yet, by cluster; those that retire are not waited for.

        A replica whose update failed reads as Unknown: it is reported by its stack's error, not waited for.
        """
        starting: dict[str, list[LedgerReplica]] = {}
        for name in self._serving_clusters():
            states = self.view.get(WorkloadsOutputs, "workloads", name)
            waited = [
                entry
                for entry in self._intents.rendering(name).replicas
                if entry.state == "active"
                and states is not None
                and entry.key in states.replicas
                and states.replicas[entry.key].ready is False
            ]
            if waited:
                starting[name] = waited
        return starting

    def _waited(self) -> dict[str, dict[Waiting, str]]:
        """What is waited for, by cluster: replicas that start and caches that are staged, with what each of them is."""
        waited: dict[str, dict[Waiting, str]] = {}
        for name, entries in self._starting().items():
            stack = self._stack_of(name)
            states = self.view.get(WorkloadsOutputs, "workloads", name)
            pickers = {key for key, state in states.replicas.items() if state.picker is not None} if states else set()
            waited[name] = {
                waiting_for_replica(entry, stack, has_picker=entry.key in pickers): template_hash(entry)
                for entry in entries
            }
        for name in self._serving_clusters():
            states = self.view.get(WorkloadsOutputs, "workloads", name)
            staging = {key: state for key, state in (states.caches if states else {}).items() if is_under_way(state)}
            found = {waiting_for_cache(key): state.identity for key, state in staging.items()}
            if found:
                waited[name] = {**waited.get(name, {}), **found}
        return {
            name: {
                waiting: what
                for waiting, what in found.items()
                if self._seen_ready[waiting.key, what] < MOST_SEEN_READY
            }
            for name, found in waited.items()
            if name not in self._gone_quiet
        }

    def _stack_of(self, cluster: str) -> Stack:
        outputs = self.view.get(ClusterOutputs, "cluster", cluster)
        return outputs.stack if outputs else "Standard"

    def _waits(self, deadline: float) -> bool:
        """Wait for what starts, and refresh the stacks where some became ready; whether there was anything."""
        waited = {name: found for name, found in self._waited().items() if found}
        if self.engine.stop.requested or not waited or not self._settled() or time.monotonic() >= deadline:
            return False
        everything = [waiting for found in waited.values() for waiting in found]
        self._note(f"waiting for {counted_text(everything)} to become ready")
        clusters = {}
        for name, found in waited.items():
            outputs = self.view.get(ClusterOutputs, "cluster", name)
            if outputs is not None:
                clusters[name] = (outputs.kubeconfig, list(found))
        changed = wait_for_change(clusters, deadline, stop=self.engine.stop)
        if not changed:
            # Why they do not start is told by their pods, which were not there when their stacks last looked.
            self._gone_quiet |= set(waited)
            self._workloads(waited)
            return False
        told = {key for keys in changed.values() for key in keys}
        self._seen_ready.update(
            (waiting.key, what) for found in waited.values() for waiting, what in found.items() if waiting.key in told
        )
        self._workloads(changed)
        return True

    def _forget(self) -> None:
        """Drop the stacks of clusters to forget, and what the view knows of them."""
        names_of = self.options.permissions.forget
        forget(self.engine, self.fleet, names_of, self._held, self._note)
        for stack in [stack for stack in self._held if stack.cluster in names_of and stack.fleet == self.fleet]:
            del self._held[stack]
            self.view.drop(stack)

    def _remove_clusters(self) -> None:
        """Destroy drained clusters that were named, and say which others left the documents."""
        placement = self.view.get(PlacementOutputs, "placement") or PlacementOutputs()
        for cluster in left_documents(self.fleet, self._held, self.documents.clusters):
            left = [entry for entry in placement.ledger.replicas if entry.cluster == cluster]
            if cluster not in self.options.permissions.delete_clusters:
                self.failures.append(held(cluster, len(left)))
            elif not left:
                outputs = self.view.get(ClusterOutputs, "cluster", cluster)
                kubeconfig = outputs.kubeconfig if outputs else None
                for operation in destroy_cluster(self.engine, self.fleet, cluster, kubeconfig, self._note):
                    self._record(operation)
                    if operation.ok:
                        self.view.drop(operation.stack)
            else:
                self._note(f"cluster {cluster} still holds {len(left)} replica(s); run `up` again to go on")

    def _routes_accepted(self) -> None:
        gateway = self.view.get(GatewayOutputs, "gateway")
        routing = self.view.get(RoutingOutputs, "routing")
        if gateway is None or routing is None:
            return
        missing = [tuple(key.split("/", 1)) for key, state in routing.services.items() if state.accepted is not True]
        routes = [(route[0], route[1]) for route in missing]
        if routes and routes_accepted(gateway.kubeconfig, routes, ACCEPT_SECONDS, stop=self.engine.stop):
            self._up(StackName(self.fleet, "routing"))

    def _report(self, deadline: float, before: Mapping[str, ClusterOutputs]) -> Report:
        starting = [entry.key for entries in self._starting().values() for entry in entries]
        return Report(
            operations=self.operations,
            placement=self.view.get(PlacementOutputs, "placement"),
            routing=self.view.get(RoutingOutputs, "routing"),
            clusters=self.view.by_cluster(ClusterOutputs, "cluster"),
            workloads=self.view.by_cluster(WorkloadsOutputs, "workloads"),
            costs=costs_of(before, self.view.by_cluster(ClusterOutputs, "cluster")),
            starting=starting,
            timed_out=bool(starting) and self.options.wait_given and time.monotonic() >= deadline,
            failures=self.failures,
            not_done=self._not_done() if self.engine.stop.requested else None,
        )

    def _not_done(self) -> list[str]:
        """Stacks that a pass without a stop would have brought up, or up again."""
        last = {operation.stack: operation for operation in self.operations}
        wanted = fleet_stacks(self.fleet, self.documents.clusters)
        done = [stack for stack in self._done if stack not in last or last[stack].ok]
        return [str(stack) for stack in wanted if stack not in done or self._is_stale(stack)]
