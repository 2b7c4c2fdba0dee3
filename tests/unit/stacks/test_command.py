"""The Pulumi CLI as it is run: in a session of its own, its answer whole, and nothing of it left."""

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pulumi.automation import errors as engine_errors

from api.errors import Cancelled
from stacks.command import EngineCommand, EngineKilled, RunningEngines
from stacks.processes import everything, look, marked

SCRIPT = """#!/bin/sh
case "$1 $2" in
  version*) echo v3.300.0 ;;
  *" says") echo one; echo two; echo aside >&2 ;;
  *" fails") echo "error: no stack named 'x' found" >&2; exit 255 ;;
  *" dies") kill -KILL $$ ;;
  *" shows") echo "$PULUMI_AUTOMATION_API $GIVEN $(ps -o sid= -p $$ | tr -d ' ') $$"; cat ;;
  *" up") sleep 600 & echo up; echo begun > "$PWD/begun"; [ "$GIVEN" ] && exec sleep 600; exit 0 ;;
esac
"""


@pytest.fixture
def running() -> RunningEngines:
    return RunningEngines()


@pytest.fixture
def run(tmp_path: Path, running: RunningEngines) -> Callable[..., str]:
    """Run one command of a CLI that is a few lines of shell; what it says on standard output."""
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "pulumi"
    program.write_text(SCRIPT)
    program.chmod(0o755)
    command = EngineCommand(tmp_path, running)

    def ran(*arguments: str, given: str = "") -> str:
        return str(command.run(list(arguments), str(tmp_path), {"GIVEN": given}).stdout)

    return ran


def test_what_it_says_comes_back_whole(run: Callable[..., str]) -> None:
    assert run("says") == "one\ntwo"


def test_it_has_a_session_of_its_own_its_variables_and_no_input(run: Callable[..., str]) -> None:
    assert run("shows", given="this").split()[:2] == ["true", "this"]
    _, _, session, pid = run("shows", given="this").split()
    assert session == pid
    assert int(session) != os.getsid(0)


def test_lines_are_handed_on(tmp_path: Path, run: Callable[..., str], running: RunningEngines) -> None:
    out: list[str] = []
    err: list[str] = []
    EngineCommand(tmp_path, running).run(["says"], str(tmp_path), {}, out.append, err.append)
    assert (out, err) == (["one", "two"], ["aside"])


def test_failures_keep_their_kind(run: Callable[..., str]) -> None:
    with pytest.raises(engine_errors.StackNotFoundError):
        run("fails")


def test_an_end_by_a_signal_is_told(run: Callable[..., str]) -> None:
    with pytest.raises(EngineKilled, match="ended by SIGKILL") as caught:
        run("dies")
    assert caught.value.signal is signal.SIGKILL


def test_what_an_operation_leaves_is_ended_with_it(run: Callable[..., str], running: RunningEngines) -> None:
    before = {process.pid for process in everything()}
    assert run("up") == "up"
    soon(lambda: marked(running.run.mark) == [])
    assert not any(it.name == "sleep" and it.pid not in before and it.session == it.pid for it in everything())


def soon(condition: Callable[[], bool]) -> None:
    """What was killed needs a moment to be gone."""
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def under_way(run: Callable[..., str], folder: Path) -> tuple[threading.Thread, list[BaseException]]:
    """An operation that lasts ten minutes, in a thread."""
    raised: list[BaseException] = []

    def operate() -> None:
        try:
            run("up", given="for long")
        except engine_errors.CommandError as error:
            raised.append(error)

    thread = threading.Thread(target=operate)
    thread.start()
    soon((folder / "begun").exists)
    return thread, raised


def test_cancelling_ends_what_runs_and_keeps_the_rest_from_beginning(
    tmp_path: Path, run: Callable[..., str], running: RunningEngines
) -> None:
    thread, raised = under_way(run, tmp_path)
    assert running.cancel() == 1
    thread.join(20)
    assert [type(error) for error in raised] == [EngineKilled]
    assert running.cancelled
    soon(lambda: marked(running.run.mark) == [])
    with pytest.raises(Cancelled):
        run("up")
    assert run("says") == "one\ntwo", "reading goes on"
    assert running.cancel() == 0


def test_killing_takes_everything(tmp_path: Path, run: Callable[..., str], running: RunningEngines) -> None:
    thread, raised = under_way(run, tmp_path)
    killed = running.kill()
    assert len(killed) == 2
    thread.join(20)
    assert [type(error) for error in raised] == [EngineKilled]
    soon(lambda: all(look(process.pid) is None for process in killed))
