"""Passes over a simulated fleet."""

from collections.abc import Callable
from typing import Any, cast

import pytest
from simulation import Simulation
from unit.stacks.previewing import FIRST, Up

from programs.context import Permissions
from stacks import converge
from stacks.converge import Options, Pass
from stacks.engine import Engine
from stacks.report import Report

Run = Callable[..., Report]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run one pass, one stack at a time unless said otherwise; the simulation's `calls` are those of this pass."""

    def passed(simulation: Simulation, **options: Any) -> Report:
        monkeypatch.setattr(converge, "wait_for_change", simulation.wait_for_change)
        monkeypatch.setattr(converge, "routes_accepted", simulation.routes_accepted)
        simulation.calls.clear()
        settings = Options(**({"parallel": 1, "drain": 0} | options))
        return Pass(
            simulation.documents, cast("Engine", simulation), settings, lambda operation: None, lambda note: None
        ).run()

    return passed


@pytest.fixture
def up(monkeypatch: pytest.MonkeyPatch) -> Up:
    def run(simulation: Simulation, permissions: Permissions | None = None) -> Report:
        monkeypatch.setattr(converge, "wait_for_change", simulation.wait_for_change)
        monkeypatch.setattr(converge, "routes_accepted", simulation.routes_accepted)
        options = Options(parallel=1, drain=0, permissions=permissions or Permissions())
        engine = cast("Engine", simulation)
        return Pass(simulation.documents, engine, options, lambda _: None, lambda _: None).run()

    return run


@pytest.fixture
def running(up: Up) -> Simulation:
    """The example with two replicas, brought up."""
    simulation = Simulation(FIRST)
    up(simulation)
    return simulation
