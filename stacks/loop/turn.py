"""The loop's turns with the pass lock, and within one the time that mere looks have."""

import math
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from api.errors import LockHeld
from stacks.lock import pass_lock

LOCK_SECONDS = 3.0
"""Between two tries to get the pass lock."""
LEFT_SECONDS = 2.0
"""How long the lock is left to other commands before it is taken again for looks alone."""


class Turn:
    """One loop's hold of the pass lock of a folder; for the thread of that loop. Left at the end of a `with`."""

    def __init__(self, folder: Path) -> None:
        self.held = False
        self._folder = folder
        self._lock = ExitStack()
        self._looks_since = -math.inf
        self._left_at = -math.inf
        self._told = ""
        self._again = -math.inf

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.close()

    def take(self, note: Callable[[str], None]) -> bool:
        """Take the lock unless somebody has it, who is told once; whether that was done now or before."""
        if self.held:
            return True
        if time.monotonic() < self._again:
            return False
        try:
            self._lock.enter_context(pass_lock(self._folder, note))
        except LockHeld as error:
            if str(error) != self._told:
                self._told = str(error)
                note(f"waiting: {error.message}")
            self._again = time.monotonic() + LOCK_SECONDS
            return False
        self.held = True
        self._looks_since = time.monotonic()
        self._told = ""
        return True

    def leave(self) -> None:
        """Give the lock to others."""
        self._lock.close()
        self.held = False
        self._left_at = time.monotonic()

    def may_look(self, interval: float, *, looks: bool, others: bool) -> bool:
        """Whether stacks may be started for a look alone, where `looks` and `others` say what runs now.

        After an interval (seconds) looks pause until those that run have ended: then the pass is over, and others get
        the lock. Where something else goes on for longer, a cluster being made, looks go on beside it.
        """
        now = time.monotonic()
        if not self.held:
            return now >= self._left_at + LEFT_SECONDS
        if now >= self._looks_since + interval and others and not looks:
            self._looks_since = now
        return now < self._looks_since + interval

    def wakes_at(self, *, looks: bool) -> float:
        """When to try again for the lock, or to look where that pauses; infinite where neither is to come."""
        if self.held:
            return math.inf
        return min(self._again if self._told else math.inf, math.inf if looks else self._left_at + LEFT_SECONDS)
