"""The loop itself: a thin shell that runs what the agenda says, and learns from events when to ask it again.

Events are what clusters show, edits of the directory, operations that end, and the clock. Documents that cannot be used
change nothing. The pass lock is held while something runs, so other commands on the same directory take turns with it.
"""

import math
import queue
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Protocol

from api.documents import FleetDocuments, Key
from api.errors import ModelplaneError
from api.label_queries import LabelQuery
from api.names import StackName
from programs.context import utc_now
from programs.outputs import UNKNOWN, ClusterOutputs, GatewayOutputs, PlacementOutputs
from programs.replica_state import workload_name
from stacks.engine import Engine
from stacks.loop import agenda, asked, journal, turn
from stacks.loop.agenda import Done, Facts, Limits
from stacks.loop.asked import World
from stacks.loop.backend import prune, stamps
from stacks.loop.directory import Directory, value_digests
from stacks.loop.sight import HUB, ROUTE, Sight
from stacks.operation import Operation, ProgramBug
from stacks.plan import left_out
from stacks.removal import held, left_documents, tidy_after
from stacks.view import View

SLICE_SECONDS = 0.3
"""How long a wait lasts before it is looked whether the loop is to stop."""
FIRST_LOOK_SECONDS = 5.0


class Looking(Protocol):
    """What looks at clusters."""

    def look_at(self, clusters: Mapping[str, tuple[str, frozenset[str]]]) -> None:
        """Look at these clusters from now on: kubeconfig and kinds of objects by cluster."""

    def sights(self) -> Mapping[str, Sight]:
        """What is seen now, by cluster."""


@dataclass(frozen=True, kw_only=True)
class LoopOptions:
    """How the loop runs; times in seconds."""

    limits: Limits = field(default_factory=Limits)
    interval: float = 60.0
    once: bool = False
    """End when nothing more is to be done."""
    go_on: bool = False
    """Skip what an earlier run did and nobody has changed since."""
    labels: LabelQuery | None = None
    """Bring up clusters with these labels alone, of those that have a document."""


@dataclass(frozen=True, kw_only=True)
class Told:
    """Who is told what happens; each is called in the loop's own thread."""

    operation: Callable[[Operation], None] = lambda _: None
    note: Callable[[str], None] = lambda _: None
    trouble: Callable[[ModelplaneError], None] = lambda _: None
    settled: Callable[[], None] = lambda: None
    """Everything is as it is asked for, as far as it goes."""


@dataclass(frozen=True, kw_only=True)
class _Finished:
    stack: StackName
    operation: Operation
    done: Done
    error: ModelplaneError | None = None


class Loop:
    """One fleet, brought up until it is told to stop."""

    def __init__(
        self, documents: FleetDocuments, engine: Engine, options: LoopOptions, looking: Looking, told: Told
    ) -> None:
        if documents.fleet is None:
            raise AssertionError("the loop is made for a fleet that has its Fleet document")
        self.documents = documents
        self.fleet = documents.fleet.name
        self.engine = engine
        self.options = options
        self.view = View(engine, self.fleet)
        self.done: dict[StackName, Done] = {}
        self.last: dict[StackName, Operation] = {}
        self.trouble: ModelplaneError | None = None
        """Why the documents of the directory are not those in force; None where they are."""
        self.held: list[str] = []
        """Clusters that have stacks and no document."""
        self.good_at: float | None = None
        """When everything was last as it is asked for, seconds since 1970."""
        self.directory: Directory | None = None
        self._looking = looking
        self._told = told
        self._wake = threading.Event()
        self._finished: queue.SimpleQueue[_Finished] = queue.SimpleQueue()
        self._running: dict[StackName, frozenset[str]] = {}
        self._held_stacks: dict[StackName, int] = {}
        self._values: Mapping[Key, str] = {}
        self._stamps: Mapping[str, int] | None = None
        self._withdrawn_at = -math.inf
        self._emptied: set[StackName] = set()
        self._looks: set[StackName] = set()
        """Those of the running that were started for a look alone."""
        self._turn = turn.Turn(engine.environment.folder)

    def wake(self) -> None:
        """Look at once what is to be done; from any thread."""
        self._wake.set()

    def run(self) -> None:
        """Bring the fleet up until told to stop, or once; what runs then is finished."""
        with ThreadPoolExecutor(2 * self.options.limits.parallel + 3, thread_name_prefix="stack") as pool, self._turn:
            self._begin()
            tick = time.monotonic() + self.options.interval
            while not self.engine.stop.requested:
                if time.monotonic() >= tick:
                    tick = time.monotonic() + self.options.interval
                    self._tick()
                self._take_documents()
                facts = self.facts()
                self._start(facts, pool)
                if not self._running and agenda.is_settled(facts, self._limits):
                    self._settle()
                    if self.options.once:
                        return
                self._sleep(min(tick, self._wakes_at(facts)))
                self._collect()
            self._drain()

    def _begin(self) -> None:
        """Take the lock, whoever has it, and read what every stack last exported."""
        while not self._take_lock() and not self.engine.stop.requested:
            self.engine.stop.sleep(turn.LOCK_SECONDS)
        if self.options.go_on:
            found = journal.recall(self.engine.environment.folder, self._stamps, time.time() - time.monotonic())
            self.done = {**found, **self.done}
        self._told.note(f"begun; {len(self.done)} of {len(self._held_stacks)} stacks are as an earlier run left them")
        self._values = value_digests(self.documents)
        self._look_at_clusters()
        deadline = time.monotonic() + FIRST_LOOK_SECONDS
        while time.monotonic() < deadline and not self.engine.stop.requested:
            if all(sight.answers is not None for sight in self._looking.sights().values()):
                break
            self._wake.wait(SLICE_SECONDS)
            self._wake.clear()

    @property
    def _limits(self) -> Limits:
        """The limits with the clusters that the documents' labels leave out by now."""
        return replace(self.options.limits, left_out=left_out(self.documents, self.options.labels))

    def world(self) -> World:
        """What is known now."""
        return World(
            documents=self.documents,
            view=self.view.copy(),
            sights=self._looking.sights(),
            values=self._values,
            permissions=self.engine.permissions,
            now=utc_now(),
        )

    def facts(self, world: World | None = None) -> Facts:
        """What the agenda decides from."""
        world = world or self.world()
        wanted = asked.asked(world)
        self.done = {stack: agenda.seen_right(done, wanted.get(stack)) for stack, done in self.done.items()}
        return Facts(
            asked=wanted,
            done=dict(self.done),
            running=frozenset(self._running),
            endpoints=asked.endpoints(world) if any(self._running.values()) else frozenset(),
            leaving={**asked.leaving(world), **self._running},
            withdrawn_at=self._withdrawn_at,
            looks=self._turn.may_look(
                self.options.interval, looks=bool(self._looks), others=bool(self._running.keys() - self._looks)
            ),
        )

    def _start(self, facts: Facts, pool: ThreadPoolExecutor) -> None:
        due = agenda.to_start(facts, self._limits, time.monotonic())
        if not due or not self._take_lock():
            return
        world = self.world()
        for stack in due:
            self._running[stack] = facts.leaving.get(stack, frozenset())
            self._looks |= {stack} if agenda.only_looks(stack, facts) else set()
            pool.submit(self._perform, stack, facts.asked[stack], world)

    def _perform(self, stack: StackName, wanted: agenda.Asked, world: World) -> None:
        """Bring one stack up, in a thread of its own; whatever happens, it is told to the loop."""
        error: ModelplaneError | None = None
        operation = Operation(stack=stack, action="up", begun=False)
        before = self.done.get(stack)
        failures = before.failures if before else 0
        try:
            operation = self.engine.up(
                stack,
                refresh=stack in self._held_stacks and stack.kind != "placement",
                continue_on_error=stack.kind in {"serving", "workloads"},
                sick=asked.intents(world).sick if stack.kind == "routing" else frozenset(),
            )
            self.view.renew(stack)
            if stack.kind != "workloads":
                own = world.view.copy()
                own.adopt(stack, self.view)
                wanted = asked.one(replace(world, view=own), stack)
        except ModelplaneError as found:
            error = found
        except Exception as bug:  # noqa: BLE001 - a bug in one stack's run must not end the loop; it is told in full
            error = ProgramBug(stack, bug)
        finally:
            failed = error is not None or not operation.ok or asked.is_unfinished(stack, self.view)
            done = Done(asked=wanted, at=time.monotonic(), failures=failures + 1 if failed else 0)
            self._finished.put(_Finished(stack=stack, operation=operation, done=done, error=error))
            self._wake.set()

    def _collect(self) -> None:
        """Take note of operations that have ended."""
        finished: list[_Finished] = []
        with suppress(queue.Empty):
            while True:
                finished.append(self._finished.get_nowait())
        for each in finished:
            self._running.pop(each.stack, None)
            self._looks.discard(each.stack)
        ended = [each for each in finished if each.operation.begun or each.error is not None]
        for each in ended:
            self._note(each)
        if ended:
            self._look_at_clusters()
            environment = self.engine.environment
            journal.keep(environment.folder, self._done_here, stamps(environment), time.time() - time.monotonic())
        for each in ended:
            self._told.operation(each.operation)
            if each.error is not None:
                self._told.trouble(each.error)

    @property
    def _done_here(self) -> Mapping[StackName, Done]:
        """What was done, without stacks that are being brought up: their state is written meanwhile."""
        return {stack: done for stack, done in self.done.items() if stack not in self._running}

    def _note(self, finished: _Finished) -> None:
        stack, operation = finished.stack, finished.operation
        if stack.kind != "placement":
            self._held_stacks.setdefault(stack, 1)
        self.done[stack] = finished.done
        self.last[stack] = operation
        if stack.kind == "routing" and operation.changed:
            self._withdrawn_at = time.monotonic()
        if operation.changes.get("delete"):
            self._emptied.add(stack)

    def _settle(self) -> None:
        """Everything is done for now: tidy up, and let others have the lock."""
        if self._turn.held:
            tidy_after(self._emptied, self.view.copy(), self._told.note)
            self._emptied.clear()
            self._tell_held()
            prune(self.engine.environment)
            self._stamps = stamps(self.engine.environment)
            self._turn.leave()
        if all(done.failures == 0 for done in self.done.values()) and self.trouble is None and not self.held:
            self.good_at = time.time()
        self._told.settled()

    def _tell_held(self) -> None:
        found = left_documents(self.fleet, self._held_stacks, self.documents.clusters)
        placement = self.view.get(PlacementOutputs, "placement") or PlacementOutputs()
        for cluster in sorted(set(found) - set(self.held)):
            left = sum(entry.cluster == cluster for entry in placement.ledger.replicas)
            self._told.trouble(held(cluster, left))
        self.held = found

    def _tick(self) -> None:
        """What is looked at by the clock alone."""
        self._values = value_digests(self.documents)
        if self.directory is not None:
            self.directory.look()
            if self.trouble is not None:
                self.directory.again()
        self._renew_foreign()

    def _take_documents(self) -> None:
        if self.directory is None:
            return
        taken = self.directory.take()
        if taken.trouble is not None:
            if self.trouble is None or str(self.trouble) != str(taken.trouble):
                self._told.trouble(taken.trouble)
                self._told.note("the documents cannot be used; the last good ones stay in force")
            self.trouble = taken.trouble
        elif taken.documents is not None:
            if self.trouble is not None:
                self._told.note("the documents can be used again")
            if taken.documents.digest() != self.documents.digest():
                self._told.note("the documents have changed")
            self.trouble = None
            self.documents = self.engine.documents = taken.documents
            self._values = value_digests(self.documents)

    def _take_lock(self) -> bool:
        """Whether the pass lock is held. What others did while it was not is read first."""
        if self._turn.held:
            return True
        if not self._turn.take(self._told.note):
            return False
        self._renew_foreign()
        return True

    def _renew_foreign(self) -> None:
        """Read stacks again that somebody else may have brought up."""
        now = stamps(self.engine.environment)
        before, self._stamps = self._stamps, now
        if now is not None and before is not None and now == before:
            return
        self._held_stacks = {stack: count for stack, count in self.engine.stacks().items() if stack.fleet == self.fleet}
        changed = [
            stack
            for stack in self._held_stacks.keys() - self._running.keys()
            if now is None or before is None or now.get(str(stack)) != before.get(str(stack))
        ]
        self.view.renew_all(changed, self.options.limits.parallel)

    def _look_at_clusters(self) -> None:
        wanted: dict[str, tuple[str, frozenset[str]]] = {}
        view = self.view.copy()  # others renew it meanwhile
        rendering = asked.intents(World(documents=self.documents, view=view)).rendering
        for name, outputs in view.by_cluster(ClusterOutputs, "cluster").items():
            if outputs.kubeconfig and outputs.kubeconfig != UNKNOWN.value:
                engines = [(entry.name, engine) for entry in rendering(name).replicas for engine in entry.engines]
                kinds = {workload_name(replica, engine, outputs.stack)[0] for replica, engine in engines}
                wanted[name] = (outputs.kubeconfig, frozenset({"Deployment", *kinds}))
        gateway = self.view.get(GatewayOutputs, "gateway")
        if gateway is not None and gateway.kubeconfig != UNKNOWN.value:
            wanted[HUB] = (gateway.kubeconfig, frozenset({ROUTE}))
        self._looking.look_at(wanted)

    def _wakes_at(self, facts: Facts) -> float:
        times = [agenda.wakes_at(facts, self._limits, time.monotonic())]
        due = self.directory.due if self.directory else None
        times += [due] if due is not None else []
        times += [self._turn.wakes_at(looks=facts.looks)]
        return min(times)

    def _sleep(self, until: float) -> None:
        while not self.engine.stop.requested and not self._wake.is_set():
            left = until - time.monotonic()
            if left <= 0:
                return
            self._wake.wait(min(left, SLICE_SECONDS))
        self._wake.clear()

    def _drain(self) -> None:
        """Wait for what still runs."""
        while self._running:
            self._wake.wait(SLICE_SECONDS)
            self._wake.clear()
            self._collect()
