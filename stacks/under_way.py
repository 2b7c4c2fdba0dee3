"""What a run is doing at this moment: operations that are under way, since when, and the resource each is at."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from api.names import StackName
from stacks.events import Watch


@dataclass(frozen=True, kw_only=True)
class Ongoing:
    """One operation that is under way."""

    stack: StackName
    action: str
    seconds: float
    resources: tuple[str, ...]
    """What it is doing to which, the longest first: `creating Cluster cluster-us/cluster`."""


class UnderWay:
    """Operations of a run while they last; from any thread."""

    def __init__(self) -> None:
        self._watches: dict[StackName, tuple[str, float, Watch]] = {}

    @contextmanager
    def of(self, stack: StackName, action: str, watch: Watch) -> Iterator[None]:
        """Count an operation in while the body runs."""
        self._watches[stack] = (action, time.monotonic(), watch)
        try:
            yield
        finally:
            del self._watches[stack]

    def now(self) -> tuple[Ongoing, ...]:
        """What is under way, the longest first."""
        seen = time.monotonic()
        return tuple(
            Ongoing(stack=stack, action=action, seconds=seen - began, resources=watch.at)
            for stack, (action, began, watch) in self._watches.copy().items()
        )
