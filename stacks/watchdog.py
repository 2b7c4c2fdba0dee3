"""What stays behind a run for as long as the run lives, and ends its engines should it be killed.

A run that is killed cannot end what it started. This program reads a pipe whose other end only the run holds: when it
closes, engines of the run that are still there get a while to finish by themselves (their program went with the run,
so they begin nothing new), are then cancelled as by Ctrl-C, and then killed; providers without an engine at once.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from stacks.processes import MARK, Process, Run, marked, orphans, send

FINISH_SECONDS = 10.0
CANCEL_SECONDS = 10.0
POLL_SECONDS = 0.1


class Watchdog:
    """Watches over what one run starts, from entering to leaving."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        """Start it. It is in a session of its own, so that what ends the run does not end it."""
        root = Path(__file__).parents[1]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "stacks.watchdog", self._run.mark],
            cwd="/",
            env={**{key: value for key, value in os.environ.items() if key != MARK}, "PYTHONPATH": str(root)},
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End it; nothing is left to watch."""
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
            self._process.wait()


class Ending:
    """Ends what is left of a run, step by step; times in seconds on any clock."""

    def __init__(self, since: float) -> None:
        self._since = since
        self._cancelled: set[int] = set()

    def step(self, processes: list[Process], now: float) -> None:
        """Do what is due by now to the processes that are left."""
        engines = [process for process in processes if process.leads]
        led = {engine.session for engine in engines}
        send([process for process in processes if process.session not in led], signal.SIGKILL)
        if now - self._since > FINISH_SECONDS + CANCEL_SECONDS:
            send(processes, signal.SIGKILL)
        elif now - self._since > FINISH_SECONDS:
            send([engine for engine in engines if engine.pid not in self._cancelled], signal.SIGINT)
            self._cancelled |= led


def end_orphans(fleet: Path, say: Callable[[str], None]) -> None:
    """End what dead runs on this fleet directory have left running, and say what that is; up to 20 seconds."""
    ending = Ending(time.monotonic())
    told: set[int] = set()
    while left := orphans(fleet):
        for process in left:
            if process.pid not in told:
                told.add(process.pid)
                say(f"{process.name} (pid {process.pid}) was left by a run that was killed: it is ended")
        ending.step(left, time.monotonic())
        time.sleep(POLL_SECONDS)


def main(mark: str) -> None:
    """Wait for the run to end, then for what it left."""
    sys.stdin.buffer.read()
    ending = Ending(time.monotonic())
    while processes := marked(mark):
        ending.step(processes, time.monotonic())
        time.sleep(POLL_SECONDS)


if __name__ == "__main__":
    main(sys.argv[1])
