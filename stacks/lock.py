"""One pass at a time per fleet directory, and what to make of locks that dead runs have left.

The pass lock is a file that the kernel locks for its holder, which writes its name into it: host, pid and start time.
A stack's lock is a file of the backend's, with the same facts. One whose host is this and whose process is dead is
taken over, and that is said; any other is respected, with its owner and age in the message.
"""

import fcntl
import json
import os
import pwd
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any
from urllib.parse import unquote, urlsplit

from api.errors import LockHeld
from api.names import StackName
from stacks.environment import FILE, PROJECT
from stacks.processes import look

PASS_LOCK = "pass.lock"  # noqa: S105 - a file
CLOCK_SECONDS = 2.0
"""How far two readings of one start time may be apart: the kernel tells it by a clock that is corrected."""
ENGINE = "pulumi"
TIME_FORMAT = "%Y-%m-%dT%H:%M:%SZ"


@dataclass(frozen=True, kw_only=True)
class Owner:
    """Who holds a lock, and since when."""

    host: str
    pid: int
    since: datetime
    user: str | None = None

    @property
    def is_here(self) -> bool:
        """Whether it is, or was, a process of this machine and, where a user is named, of this user."""
        return self.host == socket.gethostname() and self.user in {None, _this_user()}

    @property
    def is_dead(self) -> bool:
        """Whether it was a process of this machine that is no more: its id is free, or another process has it by now.

        An engine that has the id now is taken for the owner even when it seems to have started later: the clock may
        have been set.
        """
        if not self.is_here:
            return False
        found = look(self.pid)
        if found is None:
            return True
        return found.started > self.since.timestamp() + CLOCK_SECONDS and not found.name.startswith(ENGINE)

    def __str__(self) -> str:
        """`pid 812 of ops on a-host, since 2026-08-01T09:00:00Z (3 min)`."""
        user = f" of {self.user}" if self.user else ""
        seconds = (datetime.now(UTC) - self.since).total_seconds()
        return f"pid {self.pid}{user} on {self.host}, since {self.since.strftime(TIME_FORMAT)} ({age(seconds)})"


@contextmanager
def pass_lock(folder: Path, say: Callable[[str], None] = lambda _: None) -> Iterator[None]:
    """Hold the fleet's pass lock. A lock that a dead run of this machine has left is taken over, and that is said.

    Raises:
        LockHeld: another run holds it, or one of another machine has left it; owner and age are named.

    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / PASS_LOCK
    file = _locked(path)
    try:
        left = _pass_owner(path)
        if left is not None and not left.is_dead:
            raise _pass_held(path, left)
        if left is not None:
            say(f"took over the lock of a run that was killed: {left}")
        _write_owner(file)
        try:
            yield
        finally:
            path.unlink(missing_ok=True)
    finally:
        file.close()


def pass_holder(folder: Path) -> Owner | None:
    """Who the pass lock names, dead or alive; None where there is no lock, or it names nobody."""
    return _pass_owner(folder / PASS_LOCK)


def break_pass_lock(folder: Path) -> None:
    """Remove a pass lock that no living process of this machine holds.

    Raises:
        LockHeld: one does; the kernel holds it for that process, and it ends with that.

    """
    file = _locked(folder / PASS_LOCK)
    (folder / PASS_LOCK).unlink(missing_ok=True)
    file.close()


def stack_owners(backend: str, stack: StackName) -> list[Owner] | None:
    """Who holds the lock of a stack, as its backend's files tell; None where they do not, or it is no folder.

    Pulumi writes them as `.pulumi/locks/organization/<project>/<stack>/<any>.json`.
    """
    if not backend.startswith(FILE):
        return None
    root = Path(unquote(urlsplit(backend).path)).expanduser()
    folder = root / ".pulumi" / "locks" / "organization" / PROJECT / str(stack)
    found = [_owner(_facts(file), "hostname", "timestamp") for file in sorted(folder.glob("*.json"))]
    owners = [owner for owner in found if owner is not None]
    return owners if len(owners) == len(found) else None


def stack_held(stack: StackName, owners: list[Owner] | None, said: str) -> LockHeld:
    """That a stack is locked: by whom and for how long; what the engine `said` where only it can tell."""
    clear = f"`pulumi cancel --stack {stack}`"
    if not owners:
        return LockHeld(said, where=f"stack {stack}", hint=f"if nothing works on it any more: {clear}")
    if any(owner.is_here and not owner.is_dead for owner in owners):
        hint = "wait for it to end, then run this again"
    else:
        hint = f"if that run is over: {clear}"
    return LockHeld(f"locked by {' and '.join(map(str, owners))}", where=f"stack {stack}", hint=hint)


def age(seconds: float) -> str:
    """`40 s`, `3 min`, `5 h` or `2 d`."""
    whole = max(0, int(seconds))
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if whole >= length:
            return f"{whole // length} {unit}"
    return f"{whole} s"


def _this_user() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return os.environ.get("USER", "")


def _locked(path: Path) -> IO[str]:
    """The file, locked by this process; it is the one that the path names even if its last holder removed it."""
    while True:
        file = path.open("a+")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            raise _pass_held(path, _pass_owner(path)) from None
        with suppress(FileNotFoundError):
            if path.stat().st_ino == os.fstat(file.fileno()).st_ino:
                return file
        file.close()


def _pass_held(path: Path, owner: Owner | None) -> LockHeld:
    if owner is None:
        return LockHeld("another run works on this fleet, it has not said which", where=str(path), hint="wait for it")
    if owner.host == socket.gethostname():
        hint = f"wait for it, or stop it with `kill -INT {owner.pid}`: it finishes what it has begun"
    else:
        hint = "wait for it; if that run is over: modelplane unlock"
    return LockHeld(f"another run works on this fleet: {owner}", where=str(path), hint=hint)


def _write_owner(file: IO[str]) -> None:
    found = look(os.getpid())
    started = datetime.fromtimestamp(found.started, UTC) if found and found.started else datetime.now(UTC)
    file.truncate(0)
    json.dump({"host": socket.gethostname(), "pid": os.getpid(), "started": started.strftime(TIME_FORMAT)}, file)
    file.flush()


def _pass_owner(path: Path) -> Owner | None:
    return _owner(_facts(path), "host", "started")


def _owner(facts: dict[str, Any], host: str, since: str) -> Owner | None:
    try:
        when = datetime.fromisoformat(facts[since])
        when = when if when.tzinfo else when.replace(tzinfo=UTC)
        return Owner(host=str(facts[host]), pid=int(facts["pid"]), since=when, user=facts.get("username"))
    except (KeyError, TypeError, ValueError):
        return None


def _facts(path: Path) -> dict[str, Any]:
    try:
        facts = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return facts if isinstance(facts, dict) else {}
