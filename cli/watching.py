"""Looking again whenever something has changed: for `status -w` and `get -w`."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from cli.printing import data

if TYPE_CHECKING:
    from stacks.environment import Environment

LOOK_SECONDS = 1.0
"""How often files are looked at: names, sizes and times alone."""
ASK_SECONDS = 5.0
"""How often a backend is asked that is no folder of the fleet."""

CLEAR = "\x1b[H\x1b[2J\x1b[3J"


def changes(environment: "Environment", wait: Callable[[float], object] = time.sleep) -> Iterator[None]:
    """Once at the beginning, and again whenever documents or state may be others; without an end.

    What changes while the caller looks is not missed: files are noted before they are looked at.
    """
    from stacks.loop.directory import fingerprint
    from stacks.state import is_embedded, state_folder

    folders = [environment.directory, state_folder(environment) / ".pulumi" / "stacks"]
    if not is_embedded(environment):
        while True:
            yield
            wait(ASK_SECONDS)
    seen = None
    while True:
        found = [fingerprint(folder) for folder in folders]
        if found != seen:
            seen = found
            yield
        wait(LOOK_SECONDS)


def follow(times: Iterable[None], look: Callable[[], str]) -> None:
    """Print what is seen each time it is other than before; Ctrl-C ends it, and is its ordinary end.

    On a terminal the new takes the place of the old, elsewhere it comes below.
    """
    before: str | None = None
    try:
        for _ in times:
            seen = look()
            if seen == before:
                continue
            if sys.stdout.isatty():
                sys.stdout.write(CLEAR)
            elif before is not None:
                data("\n")
            data(seen)
            before = seen
    except KeyboardInterrupt:
        return
