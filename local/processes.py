"""The processes a local fleet started: how they are told from others, started, watched and ended.

A process is known by its pid and its start time, so a pid that was given out again is never taken for ours. Everything
started carries the fleet's folder in its environment, which finds what a killed `up` could not write down any more.
"""

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from api.errors import LocalFleetError

MARKER = "MODELPLANE_LOCAL"
"""Environment variable of every process of a local fleet: the fleet's own folder."""

_SOURCES = Path(__file__).resolve().parent.parent
_LOG_LINES = 8


@dataclass(frozen=True, order=True)
class Identity:
    """One process for all time: pid and start time, in clock ticks since the machine's start."""

    pid: int
    started: int

    @property
    def is_alive(self) -> bool:
        """Whether the process still runs; one that ended and was not waited for does not."""
        return identify(self.pid) == self


def identify(pid: int) -> Identity | None:
    """The process that has this pid now; None where there is none or it only waits to be forgotten."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    state, *fields = stat.rpartition(")")[2].split()
    return None if state in "ZX" else Identity(pid, int(fields[18]))


def parent(pid: int) -> int:
    """Return the pid of the process's parent; 0 where it is gone."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def boot_id() -> str:
    """Which start of the machine this is; start times of another one mean nothing."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def marked(folder: Path) -> set[Identity]:
    """Every living process that was started for the local fleet in this folder."""
    wanted = f"{MARKER}={folder}".encode()
    found = set()
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if wanted in (entry / "environ").read_bytes().split(b"\0"):
                found.add(identify(int(entry.name)))
    return {identity for identity in found if identity}


def fleet_of(pid: int) -> Path | None:
    """The folder of the local fleet that a process belongs to; None where it belongs to none."""
    start = f"{MARKER}=".encode()
    with suppress(OSError):
        for variable in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
            if variable.startswith(start):
                return Path(os.fsdecode(variable.removeprefix(start)))
    return None


def environment(folder: Path, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """What a process of the fleet is told: PATH and the like, the marker, and nothing of the caller's secrets."""
    kept = {name: value for name, value in os.environ.items() if name in {"PATH", "HOME", "LANG", "TMPDIR", "TZ"}}
    return {**kept, MARKER: str(folder), **(extra or {})}


@dataclass(frozen=True, kw_only=True)
class Member:
    """A living process of a network namespace, through which the namespace is entered."""

    pid: int
    inode: int


class StartRefused(Exception):
    """A process could not be started; `number` is the errno."""

    def __init__(self, message: str, number: int) -> None:
        super().__init__(message)
        self.number = number


def start(
    argv: Sequence[str],
    *,
    log: Path,
    environment: Mapping[str, str],
    namespace: Member | None = None,
    alone: bool = False,
) -> Identity:
    """Start a detached process that writes to `log`, in `namespace` or, where `alone`, in a new one of its own.

    Returns once the program runs; raises StartRefused when it cannot be executed or the namespace cannot be entered.
    """
    where: Any = "new" if alone else namespace and {"pid": namespace.pid, "inode": namespace.inode}
    request = {"argv": list(argv), "log": str(log), "environment": dict(environment), "namespace": where}
    answer = subprocess.run(
        python_module("local.launch"),
        input=json.dumps(request),
        env={**environment, "PYTHONPATH": str(_SOURCES)},
        capture_output=True,
        text=True,
        check=True,
    )
    told = json.loads(answer.stdout)
    if "pid" not in told:
        raise StartRefused(told["error"], told["errno"] or 0)
    identity = identify(told["pid"])
    if identity is None:
        raise StartRefused(f"it ended at once\n{tail(log)}", 0)
    return identity


def python_module(module: str) -> list[str]:
    """The command line of one of this package's own programs."""
    return [sys.executable, "-m", module]


def python_path() -> dict[str, str]:
    """The environment that lets `python_module` find this package."""
    return {"PYTHONPATH": str(_SOURCES), "PYTHONDONTWRITEBYTECODE": "1"}


def end(processes: Sequence[Identity], *, grace: float = 5.0) -> None:
    """End these processes: ask, and after `grace` seconds insist. Returns when none is left.

    Only the very processes named are touched: each signal goes through a handle that was opened before the start time
    was compared. Raises LocalFleetError (MP507) for a process that the kernel does not let go.
    """
    handles = dict(_handles(processes))
    try:
        for number, patience in ((signal.SIGTERM, grace), (signal.SIGKILL, 10.0)):
            for handle in handles:
                with suppress(ProcessLookupError):
                    signal.pidfd_send_signal(handle, number)
            _wait_for_end(handles, patience)
        if handles:
            left = ", ".join(str(identity.pid) for identity in handles.values())
            raise LocalFleetError(
                f"processes {left} do not end", code="MP507", hint="they may hang in the kernel; try again"
            )
    finally:
        for handle in handles:
            os.close(handle)


def tail(log: Path, lines: int = _LOG_LINES) -> str:
    """The last lines of a log, indented; a sentence where it is empty or missing."""
    try:
        content = log.read_bytes()[-20_000:].decode(errors="replace").splitlines()
    except OSError:
        content = []
    shown = [f"  | {line[:300]}" for line in content[-lines:]]
    return "\n".join(shown) if shown else "  | (its log is empty)"


def _handles(processes: Sequence[Identity]) -> Iterator[tuple[int, Identity]]:
    for identity in processes:
        try:
            handle = os.pidfd_open(identity.pid)
        except ProcessLookupError:
            continue
        if identity.is_alive:
            yield handle, identity
        else:
            os.close(handle)


def _wait_for_end(handles: dict[int, Identity], patience: float) -> None:
    """Drop the handles whose process ended within `patience` seconds."""
    deadline = time.monotonic() + patience
    poll = select.poll()
    for handle in handles:
        poll.register(handle, select.POLLIN)
    while handles and (left := deadline - time.monotonic()) > 0:
        for handle, _ in poll.poll(left * 1000):
            poll.unregister(handle)
            del handles[handle]
            os.close(handle)
