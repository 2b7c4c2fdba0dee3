"""What is told while stacks run: one line for each that is done, on standard error."""

import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Any, Self

from api.errors import Cancelled
from api.names import StackName
from cli.printing import say
from stacks.operation import Operation
from stacks.under_way import Ongoing

WORDS = {
    "create": "created",
    "update": "updated",
    "replace": "replaced",
    "delete": "deleted",
    "import": "imported",
    "discard": "forgotten",
}
"""What happened to resources, in the engine's words and in ours; steps inside a replacement are not told."""

TO_COME = {kind: f"to {kind}" for kind in ("create", "update", "replace", "delete")}
"""What a preview says will happen to them."""


LONG_SECONDS = 60.0
"""Where there is no terminal, an operation that goes on is told of again after each of these."""
LOOK_SECONDS = 0.5
MOST_SHOWN = 8
"""Operations that a terminal shows at once."""


class Progress:
    """Prints lines as they come, and what is under way: on a terminal below them, elsewhere a line now and then."""

    def __init__(self, title: str, stacks: Iterable[str], under_way: Callable[[], Sequence[Ongoing]] = tuple) -> None:
        self._title = title
        self._width = max((len(stack) for stack in stacks), default=0)
        self._under_way = under_way
        self._clock = Clock()
        self._note = ""
        self._live: Any = None
        self._console: Any = None
        self._lock = threading.Lock()
        self._warned: set[str] = set()
        self._over = threading.Event()
        self._teller = threading.Thread(target=self._tell, name="progress", daemon=True)

    def __enter__(self) -> Self:
        """Begin."""
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.live import Live
            from rich.spinner import Spinner

            spinner = Spinner("dots")

            def drawn() -> Spinner:
                spinner.update(text=self._moment())
                return spinner

            self._console = Console(stderr=True)
            self._live = Live(
                console=self._console, get_renderable=drawn, transient=True, redirect_stdout=False, refresh_per_second=8
            )
            self._live.start(refresh=True)
        else:
            self._teller.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End; the last lines go."""
        self._over.set()
        if self._live is not None:
            self._live.stop()
            self._live = None
        else:
            self._teller.join()

    def _moment(self) -> str:
        """What the run is doing at this moment, for a terminal."""
        ongoing = self._under_way()
        first = f"{self._title}  {self._clock}"
        if not ongoing:
            return f"{first}  {self._note}".rstrip()
        room = self._console.width - len("  ")
        lines = [cut(ongoing_line(each, self._width), room) for each in ongoing[:MOST_SHOWN]]
        rest = len(ongoing) - len(lines)
        return "\n  ".join([first, *lines, *([f"and {rest} more"] if rest else [])])

    def _tell(self) -> None:
        """Tell now and then of operations that go on for long, until the run is over."""
        reminders = Reminders()
        while not self._over.wait(LOOK_SECONDS):
            for ongoing in reminders.due(self._under_way()):
                self._line(ongoing_line(ongoing, self._width))

    def on_operation(self, operation: Operation) -> None:
        """Tell that a stack is done, and what its programs warned of."""
        self._line(operation_line(operation, self._width))
        if operation.ok:
            for warning in operation.messages:
                self._warn(f"warning: {operation.stack}: {warning}")

    def on_note(self, note: str) -> None:
        """Tell what the run is doing."""
        self._note = note
        self._line(note)

    def _warn(self, text: str) -> None:
        if text not in self._warned:
            self._warned.add(text)
            self._line(text)

    def _line(self, text: str) -> None:
        with self._lock:
            if self._console is None:
                say(text)
            else:
                self._console.print(text, markup=False, highlight=False, soft_wrap=True)


def operation_line(operation: Operation, width: int = 0) -> str:
    """`demo.workloads.us-east  up  2 created, 1 updated  3.1s`."""
    return f"{operation.stack!s:<{width}}  {operation.action:<7}  {outcome(operation)}  {operation.seconds:.1f}s"


def ongoing_line(ongoing: Ongoing, width: int = 0) -> str:
    """`demo.cluster.us-east  up       goes on for 4 min 10 s: creating Cluster cluster-us-east/cluster`."""
    others = len(ongoing.resources) - 1
    at = f": {ongoing.resources[0]}{f' and {others} more' if others > 0 else ''}" if ongoing.resources else ""
    since = "has begun" if ongoing.seconds < 1 else f"goes on for {duration(ongoing.seconds)}"
    return f"{ongoing.stack!s:<{width}}  {ongoing.action:<7}  {since}{at}"


def cut(line: str, room: int) -> str:
    """The line in as many columns as there are, with a sign that it went on."""
    return line if len(line) <= room else f"{line[: room - 1]}…"


def outcome(operation: Operation) -> str:
    """What an operation did to resources, or that it failed."""
    words = TO_COME if operation.action == "preview" else WORDS
    parts = [f"{operation.changes[kind]} {word}" for kind, word in words.items() if operation.changes.get(kind)]
    if not operation.ok:
        word = "cancelled" if isinstance(operation.error, Cancelled) else "failed"
        return f"{word} after {', '.join(parts)}" if parts else word
    return ", ".join(parts) or ("no change" if not operation.changed else f"{operation.changed} changed")


class Reminders:
    """Which operations that go on for long are to be told of: each once in a while."""

    def __init__(self) -> None:
        self._told: dict[StackName, int] = {}

    def due(self, ongoing: Iterable[Ongoing]) -> list[Ongoing]:
        """Those whose time has come since the last call."""
        whiles = {each.stack: (int(each.seconds // LONG_SECONDS), each) for each in ongoing}
        due = [each for stack, (count, each) in whiles.items() if count > self._told.get(stack, 0)]
        self._told = {stack: count for stack, (count, _) in whiles.items()}
        return due


class Clock:
    """How long something takes, as people read it."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    def __str__(self) -> str:
        """`9.2 s`, or `2 min 5 s`."""
        return duration(time.monotonic() - self._began)


def duration(seconds: float) -> str:
    """`9.2 s`, or `2 min 5 s`."""
    return f"{seconds:.1f} s" if seconds < 100 else f"{int(seconds // 60)} min {int(seconds % 60)} s"
