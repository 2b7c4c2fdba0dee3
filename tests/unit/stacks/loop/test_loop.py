"""The loop over a simulated fleet: what it starts after each event, and what it leaves alone."""

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import pytest
from builders import a_class, a_cluster, a_deployment, a_fleet, a_service
from simulation import Simulation
from states import an_entry, documents_of

from api.base import Kind
from api.clusters import InferenceCluster
from api.documents import FleetDocuments
from api.errors import InvalidFleet, ModelplaneError, Problem
from api.label_queries import label_query
from api.names import StackName
from programs.context import Permissions
from programs.outputs import ClusterOutputs, LedgerReplica, PlacementOutputs, RoutingOutputs
from programs.replica_state import workload_name
from stacks.engine import Engine
from stacks.environment import BACKEND, Environment
from stacks.interrupt import Stop
from stacks.lock import pass_lock
from stacks.loop import turn as turn_module
from stacks.loop.agenda import Limits
from stacks.loop.directory import Directory, Taken
from stacks.loop.run import Loop, LoopOptions, Told
from stacks.loop.sight import HUB, ROUTE, Seen, Sight, planned_weights
from stacks.operation import Operation, OperationFailed

EU, US = an_entry("chat", "gpu-eu-west"), an_entry("chat", "gpu-us-east")
INFRASTRUCTURE = {"gateway", "cluster.gpu-eu-west", "serving.gpu-eu-west", "cluster.gpu-us-east", "serving.gpu-us-east"}


def the_fleet(*kinds: Kind) -> FleetDocuments:
    clusters = (a_cluster("gpu-us-east"), a_cluster("gpu-eu-west"))
    return documents_of(a_fleet("local"), a_class(), *clusters, *kinds)


FLEET = the_fleet(a_deployment("chat", replicas=2), a_service("chat"))


@dataclass
class Backed(Simulation):
    """The simulation with a place for the pass lock."""

    environment: Environment = field(default_factory=lambda: Environment(directory=Path(), variables={}))
    permissions: Permissions = field(default_factory=Permissions)


class Looking:
    """Sees the simulation's live objects at once."""

    def __init__(self, simulation: Simulation) -> None:
        self.simulation = simulation
        self.weights: dict[str, frozenset[tuple[str, int]]] = {}
        self.clusters: set[str] = set()

    def look_at(self, clusters: Mapping[str, tuple[str, frozenset[str]]]) -> None:
        self.clusters = set(clusters)

    def sights(self) -> Mapping[str, Sight]:
        placement = self.simulation.read(PlacementOutputs, "placement") or PlacementOutputs()
        placed: dict[str, list[LedgerReplica]] = {}
        for entry in placement.ledger.replicas:
            placed.setdefault(entry.cluster, []).append(entry)
        found = {name: self._cluster(name, placed.get(name, [])) for name in self.clusters - {HUB}}
        return {**found, **({HUB: self._hub()} if HUB in self.clusters else {})}

    def _cluster(self, name: str, placed: list[LedgerReplica]) -> Sight:
        if name in self.simulation.unreachable:
            return Sight(answers=False)
        objects = {}
        for entry in placed:
            live = self.simulation.live[name].get(entry.key)
            if live is not None:
                kind, workload = workload_name(entry.name, entry.engines[0], "Standard")
                objects[f"{kind}/{entry.namespace}/{workload}"] = Seen(ready=live.ready, serving=int(live.ready))
        return Sight(answers=True, objects=objects)

    def _hub(self) -> Sight:
        routing = self.simulation.read(RoutingOutputs, "routing") or RoutingOutputs()
        objects = {}
        for key in routing.services:
            planned = planned_weights(routing, key) or frozenset()
            objects[f"{ROUTE}/{key}"] = Seen(ready=True, weights=self.weights.get(key, planned))
            self.simulation.accepted.add(key)
        return Sight(answers=True, objects=objects)


class Bench:
    """A loop that is run until nothing more is to be done, as often as a test likes."""

    def __init__(self, folder: Path, documents: FleetDocuments = FLEET, **limits: Any) -> None:
        environment = Environment(directory=folder, variables={BACKEND: f"file://{folder}/state"})
        self.simulation = Backed(documents, environment=environment)
        self.looking = Looking(self.simulation)
        self.notes: list[str] = []
        self.troubles: list[ModelplaneError] = []
        options = LoopOptions(limits=Limits(**({"parallel": 2, "drain": 0.0} | limits)), once=True, interval=0.2)
        told = Told(note=self.notes.append, trouble=self.troubles.append)
        self.loop = Loop(documents, cast("Engine", self.simulation), options, self.looking, told)

    def settle(self) -> list[str]:
        """Run until nothing more is to be done; the stacks that were brought up."""
        self.simulation.calls.clear()
        self.loop.run()
        return list(self.simulation.calls)

    def become_ready(self) -> None:
        for replicas in self.simulation.live.values():
            for live in replicas.values():
                live.ready = True

    def up(self) -> None:
        self.settle()
        self.become_ready()
        self.settle()
        assert self.simulation.endpoints() == sorted([EU.key, US.key])


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_a_fleet_comes_up_and_serves_once_its_pods_are_ready(bench: Bench) -> None:
    assert set(bench.settle()) == {
        *INFRASTRUCTURE,
        "placement",
        "routing",
        "workloads.gpu-eu-west",
        "workloads.gpu-us-east",
    }
    assert bench.simulation.rendered() == sorted([EU.key, US.key])
    assert bench.simulation.endpoints() == []
    bench.become_ready()
    assert set(bench.settle()) == {"workloads.gpu-eu-west", "workloads.gpu-us-east", "placement", "routing"}
    assert bench.simulation.endpoints() == sorted([EU.key, US.key])
    assert bench.troubles == []


def test_where_nothing_changed_no_engine_is_started(bench: Bench) -> None:
    bench.up()
    assert bench.settle() == []
    assert bench.settle() == []


def test_a_sick_pod_takes_its_endpoint_out_and_a_healthy_one_brings_it_back(bench: Bench) -> None:
    bench.up()
    bench.simulation.live["gpu-us-east"][US.key].ready = False
    out = bench.settle()
    assert out[0] == "routing", "the endpoint leaves before anything else is done"
    assert sorted(out) == ["placement", "routing", "workloads.gpu-us-east"], "once, though it is exported only later"
    assert bench.simulation.endpoints() == [EU.key]
    assert US.key in bench.simulation.rendered(), "nothing is restarted, nothing moves"
    bench.become_ready()
    assert bench.settle()[:2] == ["workloads.gpu-us-east", "routing"]
    assert bench.simulation.endpoints() == sorted([EU.key, US.key])
    assert bench.settle() == []


def test_the_weights_of_a_route_that_somebody_else_has_set_are_set_back(bench: Bench) -> None:
    bench.up()
    bench.looking.weights["ml-team/chat"] = frozenset({("other", 1)})
    assert bench.settle() == ["routing"]
    bench.looking.weights.clear()
    assert bench.settle() == []


def test_an_edit_brings_up_the_stacks_it_touches_and_no_other(bench: Bench) -> None:
    bench.up()
    edited = the_fleet(a_deployment("chat", replicas=1), a_service("chat"))
    bench.loop.documents = bench.simulation.documents = edited
    calls = bench.settle()
    assert INFRASTRUCTURE.isdisjoint(calls)
    assert len({call for call in calls if call.startswith("workloads")}) == 1
    assert len(bench.simulation.endpoints()) == 1


def test_a_failing_cluster_is_left_alone_for_a_while_and_the_others_go_on(bench: Bench) -> None:
    bench.simulation.failing["cluster.gpu-us-east"] = OperationFailed("the provider said no")
    calls = bench.settle()
    assert calls.count("cluster.gpu-us-east") == 1
    assert "workloads.gpu-us-east" not in calls
    bench.become_ready()
    bench.settle()
    assert bench.simulation.endpoints() == [EU.key]
    assert "cluster.gpu-us-east" not in bench.settle(), "its pause is not over"
    del bench.simulation.failing["cluster.gpu-us-east"]
    edited = the_fleet(a_deployment("chat", replicas=2), a_service("chat"), a_service("another"))
    bench.loop.documents = bench.simulation.documents = edited
    assert "cluster.gpu-us-east" in bench.settle(), "an edit may be the cure"


def test_a_cluster_that_stops_answering_keeps_its_replicas_and_is_caught_up_with(bench: Bench) -> None:
    bench.up()
    bench.simulation.unreachable.add("gpu-us-east")
    assert "cluster.gpu-us-east" in bench.settle()
    assert not bench.simulation.read(ClusterOutputs, "cluster", "gpu-us-east").reachable
    assert bench.simulation.rendered() == sorted([EU.key, US.key])
    bench.simulation.live["gpu-us-east"][US.key].ready = False
    assert bench.settle() == [], "nobody can tell"
    bench.simulation.unreachable.clear()
    assert {"cluster.gpu-us-east", "workloads.gpu-us-east", "routing"} <= set(bench.settle())
    assert bench.simulation.endpoints() == [EU.key]


def test_clusters_without_the_labels_asked_for_are_left_alone(tmp_path: Path) -> None:
    clusters = (a_cluster("gpu-us-east", labels={"region": "us"}), a_cluster("gpu-eu-west", labels={"region": "eu"}))
    documents = documents_of(a_fleet("local"), a_class(), *clusters, a_deployment("chat"), a_service("chat"))
    bench = Bench(tmp_path, documents)
    bench.loop.options = replace(bench.loop.options, labels=label_query("region=us"))
    calls = bench.settle()
    assert {call.partition(".")[2] for call in calls} == {"", "gpu-us-east"}
    assert {"gateway", "placement", "routing", "workloads.gpu-us-east"} <= set(calls)
    moved = documents_of(a_fleet("local"), a_class(), *map(_in_the_us, clusters), a_deployment("chat"))
    bench.loop.documents = bench.simulation.documents = moved
    assert "cluster.gpu-eu-west" in bench.settle(), "labels count as they are now"


def _in_the_us(cluster: InferenceCluster) -> InferenceCluster:
    return a_cluster(cluster.name, labels={"region": "us"})


def test_only_named_stacks_are_brought_up(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.up()
    bench.loop.options = LoopOptions(limits=Limits(only=frozenset({"local.routing"})), once=True)
    bench.loop.done.clear()
    assert bench.settle() == ["routing"]


class Reading:
    """A directory whose next reading a test decides."""

    due: float | None = None

    def __init__(self) -> None:
        self.next = Taken()

    def take(self) -> Taken:
        taken, self.next = self.next, Taken()
        return taken

    def look(self) -> None: ...

    def again(self) -> None: ...


def test_documents_that_cannot_be_used_change_nothing_and_are_told_once(bench: Bench) -> None:
    bench.up()
    reading = Reading()
    bench.loop.directory = cast("Directory", reading)
    broken = InvalidFleet([Problem(code="MP122", message="holds no documents")])
    for _ in range(3):
        reading.next = Taken(trouble=broken)
        assert bench.settle() == []
    assert bench.troubles == [broken]
    assert bench.simulation.endpoints() == sorted([EU.key, US.key])
    bench.simulation.live["gpu-us-east"][US.key].ready = False
    bench.settle()
    assert bench.simulation.endpoints() == [EU.key], "it goes on with the last good ones"
    bench.simulation.documents = the_fleet(a_deployment("chat", replicas=1), a_service("chat"))
    reading.next = Taken(documents=bench.simulation.documents)
    bench.settle()
    assert bench.loop.trouble is None
    assert len(bench.simulation.rendered()) == 1


def test_another_run_is_waited_for_and_what_it_did_is_read(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.up()
    with pass_lock(bench.simulation.environment.folder):
        pass
    monkeypatch.setattr(turn_module, "LOCK_SECONDS", 0.05)
    held = pass_lock(bench.simulation.environment.folder)
    held.__enter__()
    bench.loop.done.clear()
    bench.simulation.calls.clear()

    def note(text: str) -> None:
        bench.notes.append(text)
        if text.startswith("waiting"):
            assert bench.simulation.calls == [], "nothing is begun while another run works"
            held.__exit__(None, None, None)

    bench.loop._told = Told(note=note)
    assert set(bench.settle()) >= INFRASTRUCTURE
    assert any(text.startswith("waiting: another run works on this fleet") for text in bench.notes)


def test_a_stop_lets_what_runs_finish_and_begins_nothing(tmp_path: Path) -> None:
    bench = Bench(tmp_path, parallel=1)
    stop: Stop = bench.simulation.stop
    up = bench.simulation.up
    done: list[Operation] = []

    def stopping(*arguments: Any, **options: Any) -> Operation:
        stop.request()
        done.append(up(*arguments, **options))
        return done[-1]

    bench.simulation.up = stopping  # type: ignore[method-assign]
    bench.loop.run()
    assert set(map(str, bench.loop.last)) == {str(operation.stack) for operation in done}
    assert 1 <= len(done) <= 2, "what was begun, in two lanes"


def test_a_restarted_loop_repeats_nothing_but_what_was_in_the_middle(tmp_path: Path) -> None:
    first = Bench(tmp_path)
    state = tmp_path / "state" / ".pulumi" / "stacks" / "modelplane"
    state.mkdir(parents=True)
    up = first.simulation.up

    def writing(stack: StackName, **options: Any) -> Operation:
        (state / f"{stack}.json").write_text(f"{len(first.simulation.calls)}")
        return up(stack, **options)

    first.simulation.up = writing  # type: ignore[method-assign]
    first.up()

    def restarted() -> list[str]:
        second = Loop(
            FLEET,
            cast("Engine", first.simulation),
            LoopOptions(limits=Limits(parallel=2, drain=0.0), once=True, go_on=True),
            first.looking,
            Told(),
        )
        first.simulation.calls.clear()
        second.run()
        return list(first.simulation.calls)

    assert restarted() == []
    (state / "local.routing.json").write_text("written by a run that was killed")
    assert restarted() == ["routing"]
    (tmp_path / ".modelplane" / "loop.json").write_text('{"version": 1, "stacks": {"local.rou')
    assert set(restarted()) >= INFRASTRUCTURE, "without its notes it brings up everything"


def test_a_fleet_in_which_a_look_is_always_due_is_settled_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """History is pruned then, the age of the last good pass begins anew, and other commands get the lock."""
    monkeypatch.setattr(turn_module, "LEFT_SECONDS", 0.05)
    bench = Bench(tmp_path, drift_interval=0.0)
    bench.settle()
    settled: list[int] = []

    def note() -> None:
        settled.append(len(bench.simulation.calls))
        with pass_lock(tmp_path / ".modelplane"):
            pass  # another command
        if len(set(settled)) == 3:
            bench.simulation.stop.request()

    bench.simulation.calls.clear()
    bench.simulation.stop_after = 5000
    bench.loop.options = replace(bench.loop.options, once=False)
    bench.loop._told = replace(bench.loop._told, settled=note)
    bench.loop.run()
    assert len(set(settled)) == 3, "looks go on after each"


def test_looks_go_on_beside_a_cluster_that_takes_long_to_be_made(tmp_path: Path) -> None:
    """However many intervals that lasts, drift of other stacks is looked at in each."""
    bench = Bench(tmp_path, drift_interval=0.0)
    bench.settle()
    made = threading.Event()
    looks: list[str] = []
    right = bench.simulation.up

    def slow(stack: StackName, **options: Any) -> Operation:
        if str(stack) == "local.cluster.gpu-us-east" and not made.is_set():
            if not made.wait(60.0):
                bench.simulation.stop.request()
        elif str(stack) == "local.gateway":
            looks.append(str(stack))
            time.sleep(0.02)  # what a look takes
            if len(looks) == 10:
                made.set()
                bench.simulation.stop.request()
        return right(stack, **options)

    bench.simulation.up = slow  # type: ignore[method-assign]
    bench.simulation.stop_after = 100_000
    del bench.loop.done[StackName("local", "cluster", "gpu-us-east")]  # it has to be made, and is no look
    bench.loop.options = replace(bench.loop.options, once=False, interval=0.05)
    bench.loop.run()
    assert made.is_set(), looks
