"""`destroy` around the teardown: asking, having nothing to do, and going by the Fleet's name alone."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from unit.cli.running import IdleEngine, Run, files_below

from api.errors import LockHeld
from api.names import StackName
from stacks.operation import Operation

STACKS = {StackName("demo", "gateway"): 3, StackName("demo", "routing"): 9}


class Terminal(io.StringIO):
    """Standard input of a person who types one line."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def torn_down(fleet: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Stacks that are there, and the fleets whose teardown was begun."""
    (fleet / ".modelplane" / "state" / ".pulumi" / "stacks").mkdir(parents=True)
    begun: list[str] = []

    def tear_down(
        _engine: Any, name: str, _parallel: int, on_operation: Callable[..., None], *_: Any
    ) -> list[Operation]:
        begun.append(name)
        done = [Operation(stack=stack, action="destroy", changes={"delete": count}) for stack, count in STACKS.items()]
        for operation in done:
            on_operation(operation)
        return done

    monkeypatch.setattr("stacks.engine.Engine", IdleEngine)
    monkeypatch.setattr("stacks.state.held", lambda *_: dict(STACKS))
    monkeypatch.setattr("stacks.teardown.destroy", tear_down)
    return begun


def test_nothing_there_is_said_and_is_fine(run: Run, fleet: Path) -> None:
    before = files_below(fleet)
    done = run("destroy", "-f", fleet, "--yes")
    assert (done.code, done.out, done.err) == (0, "", "demo: nothing to destroy, there is no stack\n")
    assert files_below(fleet) == before


def test_without_a_terminal_it_has_to_be_told(run: Run, fleet: Path, torn_down: list[str]) -> None:
    done = run("destroy", "-f", fleet)
    assert (done.code, done.err.splitlines()[-1]) == (2, "hint: give --yes")
    assert torn_down == []


@pytest.mark.parametrize(("typed", "ended"), [("y\n", (0, ["demo"])), ("n\n", (8, [])), ("", (8, []))])
def test_on_a_terminal_it_shows_what_goes_and_asks(
    typed: str,
    ended: tuple[int, list[str]],
    run: Run,
    fleet: Path,
    torn_down: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal(typed))
    monkeypatch.setattr("cli.asking.is_terminal", lambda: True)
    done = run("destroy", "-f", fleet)
    assert (done.code, torn_down) == ended
    assert "demo.routing  9\n" in done.err
    assert "Destroy demo: 2 stacks with 12 resources? [y/N] " in done.err


def test_what_went_is_told_as_data_too(run: Run, fleet: Path, torn_down: list[str]) -> None:
    done = run("destroy", "-f", fleet, "--yes", "-o", "json")
    assert (done.code, torn_down) == (0, ["demo"])
    assert json.loads(done.out)["stacks"]["demo.routing"]["changed"] == 9
    assert "demo.routing  destroy  9 deleted" in done.err


BROKEN = {
    "another document is broken": ("mock.yaml", "kind: ModelService", "kind: ModelServise"),
    "the Fleet's settings are broken": ("fleet.yaml", "inferencePools: false", "inferencePool: false"),
}


@pytest.mark.parametrize(("file", "old", "new"), BROKEN.values(), ids=BROKEN)
def test_the_name_of_the_fleet_is_enough(
    file: str, old: str, new: str, run: Run, fleet: Path, torn_down: list[str]
) -> None:
    (fleet / file).write_text((fleet / file).read_text().replace(old, new))
    assert run("destroy", "-f", fleet, "--yes").code == 0
    assert torn_down == ["demo"]


def test_without_the_name_nothing_is_destroyed(run: Run, fleet: Path, torn_down: list[str]) -> None:
    (fleet / "fleet.yaml").write_text("kind: Fleet\nmetadata: {}\n")
    assert run("destroy", "-f", fleet, "--yes").code == 2
    assert torn_down == []


def test_a_failure_decides_the_exit_code(
    run: Run, fleet: Path, torn_down: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    locked = Operation(stack=StackName("demo", "routing"), action="destroy", error=LockHeld("locked", hint="wait"))
    monkeypatch.setattr("stacks.teardown.destroy", lambda *_: [locked])
    done = run("destroy", "-f", fleet, "--yes")
    assert done.code == 24
    assert "error MP324: locked\nhint: wait\n" in done.err
