"""Each class of fault is told once, with its code, and ends with its exit code; only a bug shows a traceback."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from unit.cli.running import Run

import cli.fleet
from api import errors
from api.errors import InvalidFleet, ModelplaneError, Problem, Severity

EXIT_CODES = {
    "ModelplaneError": 1,
    "InvocationError": 2,
    "MissingTool": 1,
    "UnreadableStack": 1,
    "MissingInput": 1,
    "LocalFleetError": 1,
    "Cancelled": 8,
    "TimedOut": 9,
    "LockHeld": 24,
    "DeletionRefused": 26,
}


def error_classes() -> Iterator[type[ModelplaneError]]:
    yield from (kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, ModelplaneError))


def raising(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """Let a command meet an error."""

    def fail(*_: Any) -> None:
        raise error

    monkeypatch.setattr(cli.fleet, "load_documents", fail)


@pytest.mark.parametrize("kind", [kind for kind in error_classes() if kind is not InvalidFleet])
def test_a_fault_is_told_in_one_line_and_a_hint(
    kind: type[ModelplaneError], run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    raising(monkeypatch, kind("it broke", where="over there", hint="mend it"))
    done = run("stacks", "--order")
    assert (done.code, done.out) == (EXIT_CODES[kind.__name__], "")
    assert done.err == f"error {kind.code}: over there: it broke\nhint: mend it\n"


def test_an_error_may_lack_a_place_and_a_hint_and_has_a_code_of_its_own(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    raising(monkeypatch, errors.LockHeld("taken", code="MP325"))
    done = run("stacks", "--order")
    assert (done.code, done.err) == (24, "error MP325: taken\n")


def test_every_problem_of_the_documents_is_told(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    problems = (
        Problem(
            code="MP112", message="unknown field", file="a.yaml", line=3, subject="Fleet x", path="spec.a", hint="b?"
        ),
        Problem(code="MP154", message="odd", file="b.yaml", line=1, severity=Severity.WARNING),
    )
    raising(monkeypatch, InvalidFleet(problems))
    done = run("stacks", "--order")
    assert (done.code, done.out) == (2, "")
    assert done.err == (
        "error MP112: a.yaml:3: Fleet x: spec.a: unknown field\nhint: b?\n"
        "warning MP154: b.yaml:1: odd\n"
        "1 error, 1 warning; nothing was changed\n"
    )


def test_a_stop_by_the_user_is_no_bug(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    raising(monkeypatch, KeyboardInterrupt())
    done = run("stacks", "--order")
    assert done.code == 8
    assert done.err.startswith("error MP308: stopped\nhint: ")


def test_a_bug_keeps_its_traceback(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    raising(monkeypatch, ZeroDivisionError("a mistake of ours"))
    done = run("stacks", "--order")
    assert (done.code, done.out) == (255, "")
    assert "Traceback" in done.err
    assert "ZeroDivisionError: a mistake of ours" in done.err
    assert "bug of Modelplane" in done.err


WRONG = {
    "no such command": ("frobnicate",),
    "no such option": ("up", "--frobnicate"),
    "no such format": ("status", "-o", "xml"),
    "a number as a duration": ("up", "--wait", "5"),
    "an empty duration": ("up", "--wait", ""),
    "nothing at a time": ("up", "--parallel", "0"),
    "an argument too many": ("up", "here"),
    "two directories": ("up", "-f", "/", "-f", "/tmp"),
    "destroy without asking or a terminal": ("destroy",),
}


@pytest.mark.parametrize("arguments", WRONG.values(), ids=WRONG)
def test_a_command_that_is_written_wrongly_ends_with_2(arguments: tuple[str, ...], run: Run) -> None:
    done = run(*arguments)
    assert (done.code, done.out) == (2, "")
    assert done.err
    assert "Traceback" not in done.err


def test_a_directory_without_a_fleet_has_no_stacks(run: Run, fleet: Path) -> None:
    (fleet / "fleet.yaml").unlink()
    for command in (("up",), ("stacks",), ("stacks", "--order"), ("status",), ("destroy", "--yes")):
        done = run(*command, "-f", fleet)
        assert (done.code, done.out) == (2, "")
        assert f"error MP100: {fleet}: no document is of kind Fleet\nhint: " in done.err
