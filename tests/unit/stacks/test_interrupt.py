"""The first signal lets a run finish, the second cancels, the third kills; nothing outlives a run that is killed."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from unit.cli.running import IdleEngine

from stacks import watchdog
from stacks.environment import environment_of
from stacks.interrupt import CANCEL_SECONDS, LEAVE_SECONDS, Escalation, Stop, interruptible
from stacks.processes import Process, Run, in_session, look, marked, this_run
from stacks.watchdog import Ending, end_orphans

PROJECT = Path(__file__).parents[3]


def wait_until(condition: Callable[[], Any], seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@dataclass
class Engines:
    """Engines that end when they are asked to, or only when they are killed."""

    count: int = 2
    calls: list[str] = field(default_factory=list)
    run: Run = field(default_factory=this_run)

    def cancel(self) -> int:
        self.calls.append("cancel")
        return self.count

    def kill(self) -> list[Process]:
        self.calls.append("kill")
        return [Process(pid=812, name="pulumi")] if self.count else []


def escalation(engines: Engines) -> tuple[Escalation, list[str]]:
    said: list[str] = []
    return Escalation(Stop(), engines, said.append), said


def test_the_first_signal_only_asks_to_stop() -> None:
    engines = Engines()
    steps, said = escalation(engines)
    assert not steps.stop.requested
    steps.signal(now=100.0)
    assert steps.stop.requested
    assert (engines.calls, steps.due) == ([], None)
    assert steps.step(now=1e6)
    assert said == ["stopping: what runs is finished, nothing new is begun; press Ctrl-C again to cancel what runs"]


def test_the_second_cancels_and_kills_after_a_while() -> None:
    engines = Engines()
    steps, said = escalation(engines)
    steps.signal(now=100.0)
    steps.signal(now=110.0)
    assert engines.calls == ["cancel"]
    assert steps.due == 110.0 + CANCEL_SECONDS
    assert steps.step(now=110.0 + CANCEL_SECONDS - 0.1)
    assert engines.calls == ["cancel"]
    assert steps.step(now=110.0 + CANCEL_SECONDS)
    assert engines.calls == ["cancel", "kill"]
    assert said[1:] == ["cancelling: 2 engines are told to end, and killed after 20 s", "killed: pulumi (pid 812)"]


def test_a_run_that_does_not_end_then_is_left() -> None:
    steps, _ = escalation(Engines())
    steps.signal(now=0.0)
    steps.signal(now=0.0)
    assert steps.step(now=CANCEL_SECONDS)
    assert steps.due == CANCEL_SECONDS + LEAVE_SECONDS
    assert not steps.step(now=CANCEL_SECONDS + LEAVE_SECONDS)


def test_the_third_kills_at_once() -> None:
    engines = Engines(count=1)
    steps, said = escalation(engines)
    for now in (0.0, 1.0, 2.0):
        steps.signal(now)
    assert engines.calls == ["cancel", "kill"]
    assert steps.due == 2.0 + LEAVE_SECONDS
    assert said[1] == "cancelling: 1 engine is told to end, and killed after 20 s"
    steps.signal(now=3.0)
    assert steps.due == 2.0 + LEAVE_SECONDS, "more signals put nothing off"


def test_where_nothing_runs_nothing_is_said_of_it() -> None:
    steps, said = escalation(Engines(count=0))
    for now in (0.0, 1.0, 2.0):
        steps.signal(now)
    assert len(said) == 1


def test_a_wait_ends_when_the_run_is_to_stop() -> None:
    stop = Stop()
    stop.sleep(-1.0)
    threading.Timer(0.05, stop.request).start()
    began = time.monotonic()
    stop.sleep(600.0)
    assert time.monotonic() - began < 30


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_the_body_and_raises_nothing(number: signal.Signals, tmp_path: Path) -> None:
    engine = IdleEngine(environment_of(tmp_path))
    said: list[str] = []
    before = [signal.getsignal(it) for it in (signal.SIGINT, signal.SIGTERM)]
    with interruptible(engine, said.append):
        os.kill(os.getpid(), number)
        engine.stop.sleep(30.0)
        assert engine.stop.requested
    assert [signal.getsignal(it) for it in (signal.SIGINT, signal.SIGTERM)] == before
    assert [line.partition(":")[0] for line in said] == ["stopping"]
    assert not any(thread.name == "signals" for thread in threading.enumerate())


def test_an_error_in_the_body_gives_signals_back(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(ZeroDivisionError), interruptible(IdleEngine(environment_of(tmp_path)), print):
        divmod(1, 0)
    assert signal.getsignal(signal.SIGINT) is before


def test_in_another_thread_the_body_runs_without_signals(tmp_path: Path) -> None:
    ran = threading.Event()

    def body() -> None:
        with interruptible(IdleEngine(environment_of(tmp_path)), print):
            ran.set()

    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    assert ran.is_set()


def process(pid: int, session: int) -> Process:
    return Process(pid=pid, name="it", session=session)


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, signal.Signals]]:
    """What `Ending` sends."""
    found: list[tuple[int, signal.Signals]] = []

    def send(processes: list[Process], number: signal.Signals) -> None:
        found.extend((it.pid, number) for it in processes)

    monkeypatch.setattr(watchdog, "send", send)
    return found


def test_what_a_killed_run_left_finishes_is_cancelled_and_killed(sent: list[tuple[int, signal.Signals]]) -> None:
    left = [process(1, 1), process(2, 1)]
    ending = Ending(since=100.0)
    ending.step(left, now=105.0)
    assert sent == []
    ending.step(left, now=111.0)
    ending.step(left, now=115.0)
    assert sent == [(1, signal.SIGINT)], "once: a second one would break steps off"
    ending.step(left, now=121.0)
    assert sent[1:] == [(1, signal.SIGKILL), (2, signal.SIGKILL)]


def test_a_provider_whose_engine_is_gone_is_killed_at_once(sent: list[tuple[int, signal.Signals]]) -> None:
    Ending(since=100.0).step([process(1, 1), process(2, 1), process(4, 3)], now=100.0)
    assert sent == [(4, signal.SIGKILL)]


A_RUN = """
import sys, threading
from stacks.command import RunningEngines
from stacks.watchdog import Watchdog
running = RunningEngines()
variables = {"PATH": "/usr/bin:/bin", "MODELPLANE_FLEET": sys.argv[1]}
command = ["sh", "-c", "sleep 600 & echo $! > provider; exec sleep 600", "up"]
with Watchdog(running.run):
    engine = threading.Thread(target=running.execute, args=(command, sys.argv[1], variables))
    engine.start()
    engine.join()
"""


def started(folder: Path) -> "subprocess.Popen[bytes]":
    """A run with an engine that has a provider; both would live for ten minutes."""
    run = subprocess.Popen([sys.executable, "-c", A_RUN, str(folder)], cwd=PROJECT)
    wait_until(lambda: (folder / "provider").exists() and (folder / "provider").read_text().strip())
    return run


def test_nothing_outlives_a_run_and_its_engine_when_both_are_killed(tmp_path: Path) -> None:
    with started(tmp_path) as run:
        mark = f"{run.pid}.{look(run.pid).ticks}"  # type: ignore[union-attr]  # it was just started
        [engine] = [it for it in marked(mark) if it.leads]
        assert {it.pid for it in in_session(engine.pid, mark)} == {engine.pid, int((tmp_path / "provider").read_text())}
        run.kill()
        os.kill(engine.pid, signal.SIGKILL)
        wait_until(lambda: not marked(mark))


def test_what_a_dead_run_left_is_ended_and_said_and_what_a_live_one_runs_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watchdog, "FINISH_SECONDS", 0.0)
    said: list[str] = []
    with started(tmp_path) as run:
        end_orphans(tmp_path, said.append)
        assert said == []
        mark = f"{run.pid}.{look(run.pid).ticks}"  # type: ignore[union-attr]  # it was just started
        [engine] = [it for it in marked(mark) if it.leads]
        run.kill()
        run.wait()
        end_orphans(tmp_path / "elsewhere", said.append)
        assert said == []
        end_orphans(tmp_path, said.append)
        assert not marked(mark)
    assert f"{engine.name} (pid {engine.pid}) was left by a run that was killed: it is ended" in said


def test_the_mark_of_a_run_is_no_longer_its_own_when_its_id_is_given_away() -> None:
    mine = this_run()
    assert mine.lives
    assert not Run(pid=mine.pid, ticks=mine.ticks + 1).lives
