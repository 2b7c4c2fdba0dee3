"""Every error its reader can fix, in one tree.

    ModelplaneError            exit 1   a problem with a code, a place, a sentence and a hint
    ├── InvocationError        exit 2   a command that cannot be run as it was written
    ├── InvalidFleet           exit 2   documents that cannot be used; carries every problem found
    ├── MissingTool            exit 1   a program this one needs is absent or too old
    ├── UnreadableStack        exit 1   another stack's outputs exist and cannot be read
    ├── MissingInput           exit 1   a stack this one reads has not been brought up yet
    ├── LocalFleetError        exit 1   a part of the local fleet did not start or answer
    ├── Cancelled              exit 8
    ├── TimedOut               exit 9
    ├── LockHeld               exit 24
    └── DeletionRefused        exit 26  the guard stopped a deletion

Anything else that is raised is a bug and keeps its traceback (exit 255). Codes are stable: `MP1…` documents and
invocations, `MP2…` placement, `MP3…` stacks and state, `MP4…` tools, `MP5…` the local fleet.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar


class Severity(StrEnum):
    """How bad a problem is: an error stops `up`, a warning is shown."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One thing wrong with a document: where it is, which field, what, and what to do about it."""

    code: str
    message: str
    file: str = ""
    line: int = 0
    subject: str = ""
    """Kind and name, as in `ModelDeployment ml-team/qwen`."""
    path: str = ""
    """Field path inside the document, as in `spec.template.spec.engines[0].name`."""
    hint: str = ""
    severity: Severity = Severity.ERROR
    rule: str = ""
    """Id of the rule of the API that is broken, as in `MD-V11`; see api.rules. Empty where no single rule is."""

    @property
    def where(self) -> str:
        """`file:line`, or as much of it as is known."""
        return f"{self.file}:{self.line}" if self.line else self.file

    def __str__(self) -> str:
        """`file:line: subject: path: message`, the hint on a line of its own."""
        parts = [part for part in (self.where, self.subject, self.path, self.message) if part]
        return ": ".join(parts) + (f"\nhint: {self.hint}" if self.hint else "")


class ModelplaneError(Exception):
    """A problem its reader can fix; the CLI prints it and leaves with `exit_code`."""

    exit_code: ClassVar[int] = 1
    code: ClassVar[str] = "MP300"

    def __init__(self, message: str, *, where: str = "", hint: str = "", code: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.hint = hint
        self.error_code = code or self.code

    def __str__(self) -> str:
        """`where: message`, the hint on a line of its own."""
        text = f"{self.where}: {self.message}" if self.where else self.message
        return text + (f"\nhint: {self.hint}" if self.hint else "")


class InvocationError(ModelplaneError):
    """A command that cannot be run as it was written."""

    exit_code = 2
    code = "MP100"


class InvalidFleet(ModelplaneError):
    """Documents that cannot be used; `problems` holds every one that was found, errors and warnings."""

    exit_code = 2
    code = "MP101"

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class MissingTool(ModelplaneError):
    """A program this one needs is absent or too old."""

    code = "MP400"


class UnreadableStack(ModelplaneError):
    """Another stack's outputs exist and cannot be read, so nothing may be decided from their absence."""

    code = "MP301"


class MissingInput(ModelplaneError):
    """A stack this one reads has not been brought up yet."""

    code = "MP302"


class LocalFleetError(ModelplaneError):
    """A part of the local fleet did not start, stopped, or does not answer."""

    code = "MP500"


class Cancelled(ModelplaneError):
    """The reader asked for a stop."""

    exit_code = 8
    code = "MP308"


class TimedOut(ModelplaneError):
    """Something did not happen in the time given for it."""

    exit_code = 9
    code = "MP309"


class LockHeld(ModelplaneError):
    """Another run works on the same state."""

    exit_code = 24
    code = "MP324"


class DeletionRefused(ModelplaneError):
    """The guard stopped a deletion that was larger than allowed, or that followed from something unread."""

    exit_code = 26
    code = "MP326"
