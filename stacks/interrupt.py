"""What Ctrl-C and SIGTERM do to a run: the first lets it finish what it has begun, the second cancels that too.

Signals are taken in by a thread of their own; a handler that runs between two instructions of the main thread could
wait for a lock which that thread holds.
"""

import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from stacks.environment import Environment
from stacks.processes import Process, Run
from stacks.watchdog import Watchdog, end_orphans

STOPPED = 8
"""Exit code of a run that was stopped."""
CANCEL_SECONDS = 20.0
"""How long engines have to end after they were cancelled."""
LEAVE_SECONDS = 5.0
"""How long the run has to end after its engines were killed."""

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_DONE = b"\0"


class Stop:
    """Whether a run was asked to stop; from any thread."""

    def __init__(self) -> None:
        self._requested = threading.Event()

    @property
    def requested(self) -> bool:
        """Whether nothing new may be begun."""
        return self._requested.is_set()

    def request(self) -> None:
        """Let the run finish what it has begun, and begin nothing new."""
        self._requested.set()

    def sleep(self, seconds: float) -> None:
        """Wait so many seconds, or until the run is asked to stop."""
        self._requested.wait(max(0.0, seconds))


class Running(Protocol):
    """Engines that are under way."""

    run: Run

    def cancel(self) -> int:
        """Ask them to end, and start no other; how many were asked."""

    def kill(self) -> list[Process]:
        """End them at once; what that was."""


@dataclass
class Escalation:
    """What each signal does, and what time does after the second. Pure but for what it calls; times in seconds."""

    stop: Stop
    running: Running
    say: Callable[[str], None]
    signals: int = 0
    _kill_at: float | None = None
    _leave_at: float | None = None

    @property
    def due(self) -> float | None:
        """When `step` is to be called next; None when only a signal changes anything."""
        return self._kill_at if self._kill_at is not None else self._leave_at

    def signal(self, now: float) -> None:
        """Take one signal."""
        self.signals += 1
        if self.signals == 1:
            self.stop.request()
            self.say("stopping: what runs is finished, nothing new is begun; press Ctrl-C again to cancel what runs")
        elif self.signals == 2:
            count = self.running.cancel()
            self._kill_at = now + CANCEL_SECONDS
            if count:
                engines = "1 engine is" if count == 1 else f"{count} engines are"
                self.say(f"cancelling: {engines} told to end, and killed after {CANCEL_SECONDS:.0f} s")
        else:
            self._kill(now)

    def step(self, now: float) -> bool:
        """Do what is due by now; False when the run has to be left as it is."""
        if self._kill_at is not None and now >= self._kill_at:
            self._kill(now)
        return self._leave_at is None or now < self._leave_at

    def _kill(self, now: float) -> None:
        killed = self.running.kill()
        if killed:
            self.say("killed: " + ", ".join(f"{process.name} (pid {process.pid})" for process in killed))
        self._kill_at = None
        self._leave_at = self._leave_at or now + LEAVE_SECONDS


class Interruptible(Protocol):
    """What runs engines and can be stopped: the engine of a fleet."""

    @property
    def environment(self) -> Environment:
        """Where the fleet is."""

    @property
    def stop(self) -> Stop:
        """What it looks at before it begins something."""

    @property
    def running(self) -> Running:
        """What it has begun."""


@contextmanager
def interruptible(engine: Interruptible, say: Callable[[str], None]) -> Iterator[None]:
    """Take SIGINT and SIGTERM as requests to stop while the body runs, and leave no process behind, however it ends.

    What earlier runs left is ended first, so the fleet's pass lock has to be held. Only the main thread can take
    signals; in another one the body is watched over all the same.
    """
    end_orphans(engine.environment.directory, say)
    engine.environment.sweep()
    with Watchdog(engine.running.run), _signals(Escalation(engine.stop, engine.running, say)):
        yield


@contextmanager
def _signals(escalation: Escalation) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard, told = os.pipe()
    os.set_blocking(told, False)
    before = {number: signal.signal(number, lambda *_: None) for number in _SIGNALS}
    wakeup = signal.set_wakeup_fd(told, warn_on_full_buffer=False)
    listener = threading.Thread(target=_listen, args=(heard, escalation), name="signals", daemon=True)
    listener.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(wakeup)
        for number, handler in before.items():
            signal.signal(number, handler)
        os.write(told, _DONE)
        listener.join()
        os.close(heard)
        os.close(told)


def _listen(heard: int, escalation: Escalation) -> None:
    while True:
        due = escalation.due
        timeout = None if due is None else max(0.0, due - time.monotonic())
        if select.select([heard], [], [], timeout)[0]:
            told = os.read(heard, 1)
            if told == _DONE:
                return
            if told[0] in _SIGNALS:
                escalation.signal(time.monotonic())
        if not escalation.step(time.monotonic()):
            sys.stderr.write("error MP308: stopped, and left without a report\n")
            sys.stderr.flush()
            os._exit(STOPPED)
