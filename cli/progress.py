"""What is told while stacks run: one line for each that is done, on standard error."""

import sys
import threading
import time
from collections.abc import Iterable
from types import TracebackType
from typing import Any, Self

from api.errors import Cancelled
from cli.printing import say
from stacks.engine import Operation

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


class Progress:
    """Prints lines as they come; on a terminal a last line tells that work goes on, and for how long."""

    def __init__(self, title: str, stacks: Iterable[str]) -> None:
        self._title = title
        self._width = max((len(stack) for stack in stacks), default=0)
        self._spinner: Any = None
        self._console: Any = None
        self._lock = threading.Lock()
        self._warned: set[str] = set()

    def __enter__(self) -> Self:
        """Begin."""
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import Progress as Bar
            from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

            self._console = Console(stderr=True)
            columns = (SpinnerColumn(), TextColumn(self._title), TimeElapsedColumn())
            self._spinner = Bar(*columns, console=self._console, transient=True, redirect_stdout=False)
            self._spinner.add_task(self._title, total=None)
            self._spinner.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End; the last line goes."""
        if self._spinner is not None:
            self._spinner.stop()
            self._spinner = None

    def on_operation(self, operation: Operation) -> None:
        """Tell that a stack is done, and what its programs warned of."""
        self._line(operation_line(operation, self._width))
        if operation.ok:
            for warning in operation.messages:
                self._warn(f"warning: {operation.stack}: {warning}")

    def on_note(self, note: str) -> None:
        """Tell what the run is doing."""
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


def outcome(operation: Operation) -> str:
    """What an operation did to resources, or that it failed."""
    words = TO_COME if operation.action == "preview" else WORDS
    parts = [f"{operation.changes[kind]} {word}" for kind, word in words.items() if operation.changes.get(kind)]
    if not operation.ok:
        word = "cancelled" if isinstance(operation.error, Cancelled) else "failed"
        return f"{word} after {', '.join(parts)}" if parts else word
    return ", ".join(parts) or ("no change" if not operation.changed else f"{operation.changed} changed")


class Clock:
    """How long something takes, as people read it."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    def __str__(self) -> str:
        """`9.2 s`, or `2 min 5 s`."""
        seconds = time.monotonic() - self._began
        return f"{seconds:.1f} s" if seconds < 100 else f"{int(seconds // 60)} min {int(seconds % 60)} s"
