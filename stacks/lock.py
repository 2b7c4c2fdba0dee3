"""One pass at a time per fleet directory. The kernel drops the lock with its holder, so a dead run blocks nobody."""

import fcntl
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from api.errors import LockHeld


@contextmanager
def pass_lock(folder: Path) -> Iterator[None]:
    """Hold the fleet's pass lock.

    Raises:
        LockHeld: another run of this program holds it; its host, pid and start time are named.

    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "pass.lock"
    with path.open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise LockHeld(f"another run works on this fleet: {_owner(path)}", where=str(path)) from None
        file.truncate(0)
        json.dump({"host": socket.gethostname(), "pid": os.getpid(), "started": _now()}, file)
        file.flush()
        try:
            yield
        finally:
            file.truncate(0)


def _owner(path: Path) -> str:
    try:
        owner = json.loads(path.read_text())
    except (OSError, ValueError):
        return "its owner is not known"
    return f"pid {owner.get('pid')} on {owner.get('host')} since {owner.get('started')}"


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
