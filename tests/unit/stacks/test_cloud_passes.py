"""A pass over clusters on clouds: pools that are not given, that go or are made anew, costs, and slow clouds."""

from collections.abc import Callable
from threading import Event
from typing import Any, cast

import pytest
from builders import a_class, a_cluster, a_deployment, a_fleet, a_member, a_pool, a_request, a_service, an_engine
from rehearsal import preview
from simulation import Simulation
from sites import a_cloud_class, a_cloud_cluster, a_cloud_pool
from states import an_entry, documents_of
from unit.api.rule_cases.case import changed

from api import InferenceClass
from api.documents import FleetDocuments
from api.errors import DeletionRefused
from api.names import StackName
from programs.context import Permissions
from programs.outputs import ClusterOutputs, WorkloadsOutputs
from stacks import converge
from stacks.converge import Options, Pass
from stacks.engine import Engine
from stacks.operation import Operation, OperationFailed
from stacks.report import Report

EU, US = an_entry("mock-demo", "gpu-eu-west"), an_entry("mock-demo", "gpu-us-east")
FIRST = documents_of(
    a_fleet("local"),
    a_class(),
    a_cluster("gpu-us-east"),
    a_cluster("gpu-eu-west"),
    a_deployment("mock-demo", replicas=2),
    a_service("mock-demo"),
)

Run = Callable[..., Report]


def test_a_pool_that_is_not_given_takes_nothing_and_the_next_pass_asks_again(run: Run) -> None:
    pools = [a_pool("gpu"), a_pool("more")]
    clusters = (a_cluster("gpu-us-east", pools=pools), a_cluster("gpu-eu-west"))
    wanted = documents_of(a_fleet("local"), a_class(), *clusters, a_deployment("mock-demo", replicas=3))
    simulation = Simulation(wanted, not_given={"gpu-us-east": {"more"}})
    report = run(simulation)
    assert "serving.gpu-us-east" in simulation.calls
    assert simulation.rendered() == sorted([EU.key, US.key])
    assert [(error.error_code, error.where) for error in report.errors] == [("MP342", "InferenceCluster gpu-us-east")]
    assert report.exit_code == 21
    simulation.not_given = {}
    assert run(simulation).exit_code == 0
    assert len(simulation.rendered()) == 3


def test_a_pool_that_is_lost_keeps_the_replicas_on_it(run: Run) -> None:
    simulation = Simulation(FIRST)
    run(simulation)
    simulation.not_given = {"gpu-us-east": {"gpu"}}
    report = run(simulation)
    assert simulation.rendered() == simulation.endpoints() == sorted([EU.key, US.key])
    assert "workloads.gpu-us-east" in simulation.calls
    assert report.exit_code == 21


def test_a_pass_tells_what_nodes_cost_before_and_after(run: Run) -> None:
    plain = a_class().plain()
    priced = InferenceClass.parse(changed(plain, "metadata.annotations", {"modelplane.ai/hourly-cost": "2"}))
    simulation = Simulation(documents_of(a_fleet("local"), priced, a_cluster("gpu-us-east")))
    assert run(simulation).plain()["cost"] == {
        "before": 0,
        "after": 2.0,
        "clusters": {"gpu-us-east": {"before": None, "after": 2.0}},
    }
    grown = a_cluster("gpu-us-east", pools=[a_pool(nodes=3)])
    simulation.documents = documents_of(a_fleet("local"), priced, grown)
    found = run(simulation).costs
    assert (found.before, found.after) == (2.0, 6.0)


def on_a_cloud(*pools: Any, machine: str = "g6.xlarge", replicas: int = 2) -> FleetDocuments:
    cloud = a_cloud_cluster("EKS", "gpu-us-east", pools=[*pools])
    classes = (a_class(), a_cloud_class("EKS", instanceType=machine))
    member = a_member(requests=[a_request(count=1, cel='device.driver == "gpu.nvidia.com"')])
    wanted = a_deployment("mock-demo", replicas=replicas, engines=[an_engine(members=[member])])
    return documents_of(a_fleet("local"), *classes, cloud, a_cluster("gpu-eu-west", pools=[a_pool(nodes=3)]), wanted)


def test_a_pool_that_left_goes_in_the_pass_that_emptied_it(run: Run) -> None:
    both = [a_cloud_pool("EKS"), a_cloud_pool("EKS", "old", nodes=2)]
    simulation = Simulation(on_a_cloud(*both))
    run(simulation)
    simulation.documents = on_a_cloud(both[1] | {"name": "new"})
    assert run(simulation).exit_code == 0
    assert simulation.calls.count("cluster.gpu-us-east") == 2
    assert simulation.calls.count("cluster.gpu-eu-west") == 1
    pools = simulation.read(ClusterOutputs, "cluster", "gpu-us-east").pools
    assert [pool.name for pool in pools] == ["new"]
    assert len(simulation.rendered()) == 2


def test_a_pool_of_another_class_is_emptied_and_then_made_anew(run: Run) -> None:
    simulation = Simulation(on_a_cloud(a_cloud_pool("EKS")))
    run(simulation)
    assert simulation.read(WorkloadsOutputs, "workloads", "gpu-us-east").pools == ("gpu",)
    simulation.documents = on_a_cloud(a_cloud_pool("EKS"), machine="g6.2xlarge")
    assert run(simulation).exit_code == 0
    (pool,) = simulation.read(ClusterOutputs, "cluster", "gpu-us-east").pools
    assert not pool.replacing
    assert pool.recipe is not None
    assert pool.recipe["provisioning"]["eks"]["instanceType"] == "g6.2xlarge"
    assert simulation.calls.count("cluster.gpu-us-east") == 2
    assert simulation.rendered() == sorted(simulation.endpoints())


def test_a_class_that_moves_too_many_replicas_is_refused_until_it_is_allowed_and_previewed_to_the_end(run: Run) -> None:
    pools = [a_cloud_pool("EKS", nodes=2)]
    simulation = Simulation(on_a_cloud(*pools, replicas=5))
    run(simulation)
    simulation.documents = on_a_cloud(*pools, machine="g6.2xlarge", replicas=5)
    refused, _ = preview(simulation)
    assert refused.exit_code == 26
    (error,) = (error for error in refused.errors if isinstance(error, DeletionRefused))
    allowed = Permissions(deletions=frozenset({error.hint.rpartition(" ")[2]}))
    report, rehearsal = preview(simulation, permissions=allowed)
    assert rehearsal.calls.count("cluster.gpu-us-east") == 2  # once more when it is empty
    (planned,) = report.clusters["gpu-us-east"].pools
    assert (planned.replacing, planned.recipe and planned.recipe["provisioning"]["eks"]["instanceType"]) == (
        False,
        "g6.2xlarge",
    )
    assert machines(simulation) == ["g6.xlarge"]
    done = run(simulation, permissions=allowed)
    assert done.exit_code == 0
    assert len(simulation.rendered()) == 5  # there was no room elsewhere: they are back
    assert machines(simulation) == ["g6.2xlarge"]


def machines(simulation: Simulation) -> list[str]:
    pools = simulation.read(ClusterOutputs, "cluster", "gpu-us-east").pools
    return [pool.recipe["provisioning"]["eks"]["instanceType"] for pool in pools if pool.recipe]


def test_a_cluster_that_takes_long_holds_up_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    simulation = Simulation(FIRST, slow={"cluster.gpu-us-east": Event()})
    monkeypatch.setattr(converge, "wait_for_change", simulation.wait_for_change)
    monkeypatch.setattr(converge, "routes_accepted", simulation.routes_accepted)
    served: list[list[str]] = []

    def on_operation(operation: Operation) -> None:
        if operation.stack.kind == "routing" and simulation.endpoints():
            served.append(simulation.endpoints())
            simulation.slow["cluster.gpu-us-east"].set()

    settings = Options(parallel=2, drain=0, patience=0.05)
    report = Pass(FIRST, cast("Engine", simulation), settings, on_operation, lambda _: None).run()
    assert served[0] == [EU.key]
    assert simulation.endpoints() == sorted([EU.key, US.key])
    assert report.exit_code == 0
    assert simulation.calls.index("workloads.gpu-eu-west") < simulation.calls.index("cluster.gpu-us-east")


def test_a_cluster_that_is_ready_while_placement_runs_is_placed_on_in_the_same_pass(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made, seen = Event(), Event()
    simulation = Simulation(FIRST, failing={"cluster.gpu-us-east": OperationFailed("not yet")})
    monkeypatch.setattr(converge, "wait_for_change", simulation.wait_for_change)
    monkeypatch.setattr(converge, "routes_accepted", simulation.routes_accepted)
    settings = Options(parallel=3, drain=0, patience=0.05)
    Pass(FIRST, cast("Engine", simulation), settings, lambda _: None, lambda _: None).run()
    assert simulation.endpoints() == [EU.key]
    simulation.failing, simulation.slow = {}, {"cluster.gpu-us-east": made}
    up = simulation.up

    def slowly(stack: StackName, **options: bool) -> Operation:
        operation = up(stack, **options)
        if stack.kind == "placement" and not made.is_set():
            made.set()
            assert seen.wait(60), "the cluster is served on before placement ends"
        return operation

    def on_operation(operation: Operation) -> None:
        if str(operation.stack) == "local.serving.gpu-us-east":
            seen.set()

    monkeypatch.setattr(simulation, "up", slowly)
    report = Pass(FIRST, cast("Engine", simulation), settings, on_operation, lambda _: None).run()
    assert seen.is_set()
    assert report.exit_code == 0
    assert simulation.endpoints() == sorted([EU.key, US.key])
