"""Any history of edits, failures and broken-off runs: what must not happen does not, and in peace it comes to rest.

The simulation checks in every step that no pool holds more than it has nodes, that no replica goes before its endpoint,
and that no endpoint is in use without a replica behind it.
"""

from contextlib import suppress
from typing import Any, cast

import pytest
from builders import a_class, a_cluster, a_deployment, a_fleet, a_member, a_pool, a_service, a_taint, an_engine
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from simulation import Simulation, Stopped
from states import documents_of

from api.documents import FleetDocuments
from programs.ledger import document, template_hash
from programs.outputs import PlacementOutputs, RoutingOutputs
from stacks import converge
from stacks.converge import Options, Pass
from stacks.engine import Engine
from stacks.operation import OperationFailed
from stacks.report import Report

CLUSTERS = {"ap": 1, "eu": 2, "us": 3}
"""Nodes of each cluster's pool."""
DEPLOYMENTS = ("mock-demo", "mock-demo-v2", "qwen")
STACKS = [
    "gateway",
    "placement",
    "routing",
    *(f"{kind}.{name}" for kind in ("cluster", "serving", "workloads") for name in CLUSTERS),
]

IMAGES = ("registry.example/engine:1", "registry.example/engine:2")

STEADY = settings(
    deadline=None, derandomize=True, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@st.composite
def fleets(draw: st.DrawFn, *, whole: bool = False) -> FleetDocuments:
    """Documents of one moment. Clusters keep their nodes, because retaining asks for no room on a pool that shrinks.

    A cluster may be left out unless the fleet is `whole`: what retires on one that was not reachable when it left the
    documents stays until it is back.
    """
    tainted = draw(st.sets(st.sampled_from(sorted(CLUSTERS)), max_size=2))
    effect = draw(st.sampled_from(["NoSchedule", "NoExecute"]))
    held = draw(st.sets(st.sampled_from(sorted(CLUSTERS)), max_size=1)) if not whole else set()
    clusters = [
        a_cluster(name, pools=[a_pool(nodes=nodes)], taints=[a_taint(effect=effect)] if name in tainted else ())
        for name, nodes in CLUSTERS.items()
        if name not in held
    ]
    deployments = []
    for name in sorted(draw(st.sets(st.sampled_from(DEPLOYMENTS)))):
        template = {"spec": {"containers": [{"name": "engine", "image": draw(st.sampled_from(IMAGES))}]}}
        engine = an_engine(draw(st.sampled_from(["main", "renamed"])), members=[a_member(template=template)])
        deployments.append(a_deployment(name, replicas=draw(st.integers(0, 4)), engines=[engine]))
    entries = [
        (weight, {"modelplane.ai/deployment": name}) for weight, name in ((90, "mock-demo"), (10, "mock-demo-v2"))
    ]
    return documents_of(a_fleet("prod"), a_class(), *clusters, *deployments, a_service("svc", entries=entries))


@st.composite
def moments(draw: st.DrawFn) -> dict[str, Any]:
    quiet = draw(st.booleans())
    return {
        "documents": draw(fleets()),
        "failing": set() if quiet else draw(st.sets(st.sampled_from(STACKS), max_size=2)),
        "unreachable": set() if quiet else draw(st.sets(st.sampled_from(sorted(CLUSTERS)), max_size=2)),
        "never_ready": set() if quiet else draw(st.sets(st.sampled_from(DEPLOYMENTS), max_size=1)),
        "lost": draw(st.sets(st.sampled_from(DEPLOYMENTS), max_size=1)),
        "stop_after": None if quiet else draw(st.sampled_from([None, *range(6, 16)])),
    }


@pytest.fixture
def up(monkeypatch: pytest.MonkeyPatch) -> Any:
    def run(simulation: Simulation) -> Report:
        monkeypatch.setattr(converge, "wait_for_change", simulation.wait_for_change)
        monkeypatch.setattr(converge, "routes_accepted", simulation.routes_accepted)
        simulation.calls.clear()
        engine = cast("Engine", simulation)
        return Pass(simulation.documents, engine, Options(parallel=1, drain=0), lambda _: None, lambda _: None).run()

    return run


@STEADY
@given(history=st.lists(moments(), min_size=1, max_size=4), end=fleets(whole=True))
def test_any_history(up: Any, history: list[dict[str, Any]], end: FleetDocuments) -> None:
    simulation = Simulation(end)
    for moment in history:
        simulation.documents = moment["documents"]
        simulation.failing = {name: OperationFailed("no") for name in moment["failing"]}
        simulation.unreachable = moment["unreachable"]
        simulation.never_ready = moment["never_ready"]
        simulation.stop_after = moment["stop_after"]
        simulation.lose_pods(moment["lost"])
        with suppress(Stopped):
            up(simulation)
    simulation.documents = end
    simulation.failing, simulation.unreachable, simulation.never_ready, simulation.stop_after = {}, set(), set(), None
    up(simulation)
    report = up(simulation)
    assert report.changed == 0, "a second pass in peace changes nothing"
    assert len(simulation.calls) == len(set(simulation.calls)), "and brings no stack up twice"
    ledger = simulation.read(PlacementOutputs, "placement").ledger
    assert {entry.state for entry in ledger.replicas} <= {"active"}, "nothing retires for ever"
    assert simulation.rendered() == sorted(entry.key for entry in ledger.replicas)
    assert simulation.endpoints() == simulation.rendered(), "all that runs is in rotation"
    assert simulation.read(RoutingOutputs, "routing").withdrawn == ()
    for entry in ledger.replicas:
        wanted = end.deployments[entry.namespace, entry.deployment].spec.template.spec.engines[0]
        assert document(entry, ledger).spec.engines[0].members[0].template == wanted.members[0].template
        assert simulation.live[entry.cluster][entry.key].template == template_hash(entry)
    for (namespace, name), deployment in end.deployments.items():
        state = simulation.read(PlacementOutputs, "placement").deployments[f"{namespace}/{name}"]
        assert state.placed <= deployment.spec.replicas
        assert state.ready == state.placed
