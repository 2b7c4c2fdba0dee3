"""What an operation told while it ran: resources and what happened to them, errors and warnings."""

import re
from collections.abc import Callable

from pulumi.automation.events import EngineEvent

from stacks.changes import Step, net, step_of

STACK_TYPE = "pulumi:pulumi:Stack"
_COLOR = re.compile(r"<\{%[^%]*%\}>|\x1b\[[0-9;]*m")

_PASSED_OVER = ("pulumi-resource-kubernetes from $PATH", "resource plugin kubernetes is expected to have version")
"""What the engine says of a provider that was built rather than fetched."""


class Watch:
    """Collects steps and messages out of the engine's events."""

    def __init__(self, debug: Callable[[str], None] | None) -> None:
        self._steps: list[Step] = []
        self.errors: list[str] = []
        self.warnings: list[str] = []
        self._debug = debug

    @property
    def steps(self) -> tuple[Step, ...]:
        """What happened to resources so far, each once."""
        return net(self._steps)

    def __call__(self, event: EngineEvent) -> None:
        """Take one event."""
        if event.res_outputs_event is not None:
            told = event.res_outputs_event.metadata
            operation = str(getattr(told.op, "value", told.op))
            step = step_of(told.urn, told.type, operation, told.detailed_diff or ())
            self._steps += [step] if step else []
        diagnostic = event.diagnostic_event
        if diagnostic is None:
            return
        text = clean(diagnostic.message)
        if not text or any(part in text for part in _PASSED_OVER):
            return
        if self._debug:
            self._debug(f"{diagnostic.severity}: {text}")
        if diagnostic.severity == "error":
            self.errors.append(_with_subject(diagnostic.urn, text))
        elif diagnostic.severity == "warning":
            self.warnings.append(text)


def clean(text: str) -> str:
    """A message without colour codes and surrounding space."""
    return _COLOR.sub("", text).strip()


def first_line(text: str) -> str:
    """The first line of an engine's message that says something: its own error line when there is one."""
    lines = [line.strip() for line in clean(text).splitlines() if line.strip()]
    return next((line for line in lines if "error:" in line), lines[-1] if lines else "no message")


def _with_subject(urn: str | None, text: str) -> str:
    subject = urn.rpartition("::")[2] if urn else ""
    return f"{subject}: {text}" if subject and f"::{STACK_TYPE}::" not in (urn or "") else text
