"""What the operating system knows of processes: who lives, since when, in which session, started by which run.

Where there is no `/proc` a process is only known to be there or not, and the programs of a run that was killed cannot
be found; on Linux they can. Standard library only: the watchdog starts with it in milliseconds.
"""

import os
import signal
import time
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
MARK = "MODELPLANE_RUN"
"""The variable that tells of a program which run started it; children inherit it."""
FLEET = "MODELPLANE_FLEET"

_STATE, _SESSION, _TICKS = 0, 3, 19
"""Places in `/proc/<pid>/stat` behind the name, which may hold blanks and brackets."""


@dataclass(frozen=True, kw_only=True)
class Process:
    """One process that lives; `ticks` is its start in clock ticks since the machine started, -1 where not known."""

    pid: int
    name: str = ""
    session: int = 0
    ticks: int = -1

    @property
    def started(self) -> float:
        """When it started, in seconds since 1970; 0 where that is not known."""
        return _boot_time() + self.ticks / os.sysconf("SC_CLK_TCK") if self.ticks >= 0 else 0.0

    @property
    def leads(self) -> bool:
        """Whether it was started as the first of its session, as engines are."""
        return self.pid == self.session


@dataclass(frozen=True, kw_only=True)
class Run:
    """A run of this program, as the mark of what it started names it."""

    pid: int
    ticks: int

    @property
    def mark(self) -> str:
        """The value of the variable."""
        return f"{self.pid}.{self.ticks}"

    @property
    def lives(self) -> bool:
        """Whether that very process is still there."""
        found = look(self.pid)
        return found is not None and found.ticks == self.ticks


def this_run() -> Run:
    """The run that this process is."""
    found = look(os.getpid())
    return Run(pid=os.getpid(), ticks=found.ticks if found else -1)


def look(pid: int) -> Process | None:
    """The process with this id; None when there is none, or only its exit status is left."""
    if not PROC.is_dir():
        return Process(pid=pid) if _answers(pid) else None
    try:
        head, _, rest = (PROC / str(pid) / "stat").read_text().rpartition(")")
    except OSError:
        return None
    fields = rest.split()
    if fields[_STATE] in {"Z", "X"}:
        return None
    name = head.partition("(")[2]
    return Process(pid=pid, name=name, session=int(fields[_SESSION]), ticks=int(fields[_TICKS]))


def everything() -> Iterator[Process]:
    """Every process that lives."""
    for entry in PROC.iterdir() if PROC.is_dir() else ():
        if entry.name.isdigit() and (found := look(int(entry.name))):
            yield found


def in_session(session: int, mark: str) -> list[Process]:
    """Processes of a session that a run started."""
    return [
        process for process in everything() if process.session == session and _variables(process.pid).get(MARK) == mark
    ]


def marked(mark: str) -> list[Process]:
    """What a run started, and what that started."""
    return [process for process in everything() if _variables(process.pid).get(MARK) == mark]


def orphans(fleet: Path) -> list[Process]:
    """What runs on this fleet directory are dead have left running."""
    found = []
    for process in everything():
        variables = _variables(process.pid)
        run = _run(variables.get(MARK, ""))
        if run is not None and variables.get(FLEET) == str(fleet) and not run.lives:
            found.append(process)
    return found


def send(processes: Collection[Process], number: signal.Signals) -> None:
    """Send a signal to each, by its id; one that has gone meanwhile is passed over."""
    for process in processes:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(process.pid, number)


def _variables(pid: int) -> dict[str, str]:
    """Variables a process was started with; empty when it is not ours to read."""
    try:
        block = (PROC / str(pid) / "environ").read_bytes()
    except OSError:
        return {}
    return dict(entry.partition("=")[::2] for entry in block.decode(errors="replace").split("\0"))


def _run(mark: str) -> Run | None:
    pid, _, ticks = mark.partition(".")
    return Run(pid=int(pid), ticks=int(ticks)) if pid.isdigit() and ticks.isdigit() else None


def _answers(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _boot_time() -> float:
    """When the machine started, in seconds since 1970, by the clock as it is set now."""
    for line in (PROC / "stat").read_text().splitlines():
        if line.startswith("btime "):
            return float(line.split()[1])
    return time.time() - time.monotonic()
