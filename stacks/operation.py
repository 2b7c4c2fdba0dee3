"""One operation on one stack as it has ended: what it did, what it failed with."""

import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field

from api.errors import Cancelled, ModelplaneError
from api.names import StackName
from stacks.changes import CHANGES, Step
from stacks.drift import Drift

GO_ON = "run the same command again, it goes on from where things are"


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One finished operation on one stack."""

    stack: StackName
    action: str
    changes: Mapping[str, int] = field(default_factory=dict)
    """How many resources were created, updated, replaced, deleted and left; each counts once."""
    steps: tuple[Step, ...] = ()
    """The same, resource by resource."""
    drift: tuple[Drift, ...] = ()
    """What a refresh before it found changed by others."""
    failed: tuple[str, ...] = ()
    """Names of resources that could not be created, changed or deleted."""
    seconds: float = 0.0
    error: ModelplaneError | None = None
    messages: tuple[str, ...] = ()
    begun: bool = True
    """False for one that was left out because the run is to stop."""

    @property
    def ok(self) -> bool:
        """Whether the operation succeeded."""
        return self.error is None

    @property
    def changed(self) -> int:
        """Resources created, updated, replaced or deleted; the stack's own entry does not count."""
        return sum(count for kind, count in self.changes.items() if kind in CHANGES)


class OperationFailed(ModelplaneError):
    """The engine or a provider could not finish an operation."""

    code = "MP340"


class ProgramBug(ModelplaneError):
    """A program of this release raised what no reader can fix; `trace` is its traceback."""

    exit_code = 255
    code = "MP399"

    def __init__(self, stack: StackName, error: Exception) -> None:
        super().__init__(
            f"{type(error).__name__}: {error}", where=f"stack {stack}", hint="this is a bug, please report it"
        )
        self.trace = "".join(traceback.format_exception(error))


def not_begun(stack: StackName, action: str) -> Operation:
    """The operation that is not begun because the run is to stop."""
    error = Cancelled("not begun, the run was stopped", where=f"stack {stack}", hint=GO_ON)
    return Operation(stack=stack, action=action, error=error, begun=False)
