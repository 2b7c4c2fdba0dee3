"""A pass that is asked to stop, after any of its steps: what runs is finished, nothing is begun, the rest is told."""

from typing import Any, cast

import pytest
from builders import a_class, a_cluster, a_deployment, a_fleet, a_service
from simulation import Simulation
from states import documents_of

from programs.outputs import PlacementOutputs
from stacks import converge
from stacks.converge import Options, Pass
from stacks.engine import Engine
from stacks.interrupt import Stop
from stacks.operation import Operation
from stacks.plan import fleet_stacks
from stacks.report import Report

DOCUMENTS = documents_of(
    a_fleet("local"),
    a_class(),
    a_cluster("gpu-us-east"),
    a_cluster("gpu-eu-west"),
    a_deployment("mock-demo", replicas=2),
    a_service("mock-demo"),
)
ALL = {str(stack) for stack in fleet_stacks("local", DOCUMENTS.clusters)}


def run(simulation: Simulation, monkeypatch: pytest.MonkeyPatch, stop_after: int | None = None) -> Report:
    """One pass; the stop is asked for while the step of that number runs."""
    monkeypatch.setattr(converge, "wait_for_change", simulation.wait_for_change)
    monkeypatch.setattr(converge, "routes_accepted", simulation.routes_accepted)
    simulation.calls.clear()
    real = simulation.up

    def up(*arguments: Any, **options: Any) -> Operation:
        if stop_after is not None and len(simulation.calls) + 1 >= stop_after:
            simulation.stop.request()
        return real(*arguments, **options)

    monkeypatch.setattr(simulation, "up", up)
    options = Options(parallel=1, drain=0)
    report = Pass(simulation.documents, cast("Engine", simulation), options, lambda _: None, lambda _: None).run()
    monkeypatch.setattr(simulation, "up", real)
    return report


def steps_of_a_whole_pass(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    simulation = Simulation(DOCUMENTS)
    run(simulation, monkeypatch)
    return list(simulation.calls)


@pytest.mark.parametrize("number", range(1, 14))
def test_after_any_step(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = steps_of_a_whole_pass(monkeypatch)
    if number > len(whole) or whole[number - 1] == "wait":
        number = len(whole)
    simulation = Simulation(DOCUMENTS)
    report = run(simulation, monkeypatch, stop_after=number)
    assert simulation.calls == whole[:number], "nothing was begun after the stop"
    assert report.exit_code == 8
    assert report.errors == []
    assert report.not_done is not None
    assert set(report.not_done) <= ALL
    done = {f"local.{name}" for name in simulation.calls}
    assert ALL - done <= set(report.not_done), "what was never begun is told"

    simulation.stop = Stop()
    again = run(simulation, monkeypatch)
    assert (again.exit_code, again.not_done) == (0, None)
    ledger = simulation.read(PlacementOutputs, "placement").ledger
    assert simulation.endpoints() == sorted(entry.key for entry in ledger.replicas)


def test_a_stop_before_anything_leaves_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    simulation = Simulation(DOCUMENTS)
    simulation.stop.request()
    report = run(simulation, monkeypatch)
    assert simulation.calls == []
    assert report.not_done is not None
    assert (set(report.not_done), report.exit_code) == (ALL, 8)
