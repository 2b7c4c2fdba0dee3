"""What one pass did, as data: what people, CI and programs are told comes from here."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from api.errors import ModelplaneError
from programs.outputs import ClusterOutputs, PlacementOutputs, RoutingOutputs, WorkloadsOutputs
from stacks.changes import CHANGES, counts, net
from stacks.costs import Costs
from stacks.operation import Operation

DONE, ERROR, STOPPED, TIMEOUT, SHORT, FAILED, UNREACHABLE = 0, 1, 8, 9, 20, 21, 22
SEVERITY = (255, 1, 26, 24, 25, 8, 9, 21, 22, 20, 23, 7)
"""Exit codes, the most severe first (design, section 5)."""


@dataclass(frozen=True, kw_only=True)
class Report:
    """The outcome of a pass."""

    operations: Sequence[Operation] = ()
    placement: PlacementOutputs | None = None
    routing: RoutingOutputs | None = None
    clusters: Mapping[str, ClusterOutputs] = field(default_factory=dict)
    workloads: Mapping[str, WorkloadsOutputs] = field(default_factory=dict)
    costs: Costs = field(default_factory=Costs)
    """What the fleet's nodes cost per hour, before the pass and after it."""
    starting: Sequence[str] = ()
    """Replicas that were applied and are not ready yet."""
    timed_out: bool = False
    failures: Sequence[ModelplaneError] = ()
    """Problems of the pass itself, beside those of its operations."""
    not_done: Sequence[str] | None = None
    """Stacks that are not as a whole pass would leave them; None when the pass was not stopped."""

    @property
    def last(self) -> dict[str, Operation]:
        """The last operation on each stack."""
        return {str(operation.stack): operation for operation in self.operations}

    @property
    def errors(self) -> list[ModelplaneError]:
        """Everything that failed and was not made good later in the pass."""
        return [*self.failures, *(operation.error for operation in self._failed if operation.error)]

    @property
    def _failed(self) -> list[Operation]:
        return [operation for operation in self.last.values() if operation.error is not None]

    @property
    def exit_code(self) -> int:
        """The most severe of what happened."""
        codes = {_code(operation) for operation in self._failed}
        codes |= {error.exit_code if error.exit_code in SEVERITY else ERROR for error in self.failures}
        if any(not cluster.reachable for cluster in self.clusters.values()):
            codes.add(UNREACHABLE)
        if self.placement and any(state.placed < state.wanted for state in self.placement.deployments.values()):
            codes.add(SHORT)
        if self.timed_out:
            codes.add(TIMEOUT)
        if self.not_done is not None:
            codes.add(STOPPED)
        return next((code for code in SEVERITY if code in codes), DONE)

    @property
    def changed(self) -> int:
        """Resources created, updated, replaced or deleted in all stacks together."""
        return sum(sum(self._changes(stack).values()) for stack in self.last)

    def _changes(self, stack: str) -> dict[str, int]:
        """Resources of one stack by what all its operations together did to them; each counts once."""
        own = [operation for operation in self.operations if str(operation.stack) == stack]
        steps = [step for operation in own for step in operation.steps]
        found = counts(net(steps)) if steps else sum((Counter(operation.changes) for operation in own), Counter())
        return {kind: found[kind] for kind in CHANGES if found.get(kind)}

    def plain(self) -> dict[str, Any]:
        """The report for programs: no secret, stable names."""
        totals: dict[str, dict[str, Any]] = {}
        for operation in self.operations:
            name = str(operation.stack)
            changes = self._changes(name)
            fresh = {"changed": sum(changes.values()), "changes": changes, "seconds": 0.0, "error": None}
            entry = totals.setdefault(name, fresh)
            entry["seconds"] = round(entry["seconds"] + operation.seconds, 1)
            entry["error"] = _error(operation.error)
        return {
            "exitCode": self.exit_code,
            "changed": self.changed,
            "stacks": totals,
            "starting": list(self.starting),
            "deployments": {
                key: state.plain() for key, state in (self.placement.deployments if self.placement else {}).items()
            },
            "services": {key: state.plain() for key, state in (self.routing.services if self.routing else {}).items()},
            "cost": self.costs.plain(),
            "notDone": list(self.not_done or ()),
            "errors": [_error(error) for error in self.errors],
        }


def _code(operation: Operation) -> int:
    """What a failed operation means for the whole pass: a cluster's failure is one cluster's."""
    code = operation.error.exit_code if operation.error else DONE
    if code in SEVERITY and code != ERROR:
        return code
    return FAILED if operation.stack.cluster else ERROR


def _error(error: ModelplaneError | None) -> dict[str, str] | None:
    if error is None:
        return None
    return {"code": error.error_code, "where": error.where, "message": error.message, "hint": error.hint}
