"""What a preview found, as data: what people, CI and programs are told comes from here. No secret, no assumed value."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from api.errors import ModelplaneError
from programs.outputs import UNKNOWN, ClusterOutputs, LedgerReplica, PlacementOutputs, RoutingOutputs
from programs.replacements import Replacement, replacements
from stacks.changes import CHANGES, SAME, Step
from stacks.costs import Costs
from stacks.operation import Operation
from stacks.preview_diff import LedgerChange, WeightChange, ledger_changes, weight_changes
from stacks.report import DONE, SEVERITY, Report

CHANGED = 7
UNKNOWN_WORD = "unknown"
"""How a value that only an update can tell is shown."""


@dataclass(frozen=True, kw_only=True)
class Side:
    """Placement and routing as they were applied last, or as they are planned."""

    placement: PlacementOutputs = field(default_factory=PlacementOutputs)
    routing: RoutingOutputs = field(default_factory=RoutingOutputs)


@dataclass(frozen=True, kw_only=True)
class PreviewReport:
    """The outcome of a preview."""

    operations: Sequence[Operation] = ()
    before: Side = field(default_factory=Side)
    after: Side = field(default_factory=Side)
    retired: Mapping[str, LedgerReplica] = field(default_factory=dict)
    clusters: Mapping[str, ClusterOutputs] = field(default_factory=dict)
    costs: Costs = field(default_factory=Costs)
    """What the fleet's nodes cost per hour, as applied last and as planned."""
    failures: Sequence[ModelplaneError] = ()
    """Problems beside those of single stacks: clusters that are held, outputs that cannot be read."""
    expect_no_changes: bool = False

    @property
    def ledger(self) -> tuple[LedgerChange, ...]:
        """What changes in the ledger."""
        return ledger_changes(self.before.placement.ledger, self.after.placement.ledger, self.retired)

    @property
    def weights(self) -> tuple[WeightChange, ...]:
        """Weights of all backends, before and after."""
        return weight_changes(self.before.routing, self.after.routing)

    @property
    def replacements(self) -> tuple[Replacement, ...]:
        """Engines whose pods are replaced, with the nodes that takes."""
        before, after = self.before.placement.ledger, self.after.placement.ledger
        return tuple(
            found
            for name, cluster in sorted(self.clusters.items())
            for found in replacements(cluster, after, before, [each for each in after.replicas if each.cluster == name])
        )

    @property
    def changes(self) -> dict[str, int]:
        """Resources of all stacks by what is done to them; the engine's own entries do not count."""
        total = Counter(step.operation for operation in self.operations for step in operation.steps)
        return {kind: total[kind] for kind in CHANGES}

    @property
    def has_changes(self) -> bool:
        """Whether an update would change a resource or the ledger; other outputs do not count."""
        return any(self.changes.values()) or bool(self.ledger)

    @property
    def assumed(self) -> bool:
        """Whether anything here rests on a readiness that only an update can tell."""
        return self.after.placement.assumed or any(change.kind != "retire" for change in self.ledger)

    @property
    def unreachable(self) -> dict[str, str]:
        """Clusters that did not answer when they were last asked, and why; what is on them stays as it is."""
        return {name: outputs.reason for name, outputs in self.clusters.items() if not outputs.reachable}

    @property
    def errors(self) -> list[ModelplaneError]:
        """Everything that failed."""
        return self.outcome.errors

    @property
    def exit_code(self) -> int:
        """The most severe of what an update would end with as far as that is known, and of what was expected."""
        codes = {self.outcome.exit_code}
        if self.expect_no_changes and self.has_changes:
            codes.add(CHANGED)
        return next((code for code in SEVERITY if code in codes), DONE)

    @property
    def outcome(self) -> Report:
        """What went wrong and what is short, as a pass would tell it."""
        return Report(
            operations=self.operations, placement=self.after.placement, clusters=self.clusters, failures=self.failures
        )

    def plain(self) -> dict[str, Any]:
        """The report for programs: stable names, and fields that only an update can tell as `unknown`."""
        told = self.outcome.plain()
        return {
            "exitCode": self.exit_code,
            "hasChanges": self.has_changes,
            "assumed": self.assumed,
            "changes": self.changes,
            "stacks": {str(operation.stack): _stack(operation, told["stacks"]) for operation in self.operations},
            "ledger": [change.plain() for change in self.ledger],
            "replacements": [found.plain() for found in self.replacements],
            "services": self._services(),
            "unreachable": self.unreachable,
            "cost": self.costs.plain(),
            "deployments": {
                key: {
                    "wanted": state.wanted,
                    "placed": state.placed,
                    "verdicts": {name: [it.plain() for it in found] for name, found in state.verdicts.items()},
                }
                for key, state in self.after.placement.deployments.items()
            },
            "errors": told["errors"],
        }

    def _services(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for change in self.weights:
            service = found.setdefault(change.service, self._service(change.service))
            service["weights"].append({"endpoint": change.endpoint, "before": change.before, "after": change.after})
        for key in (*self.before.routing.services, *self.after.routing.services):
            found.setdefault(key, self._service(key))
        return dict(sorted(found.items()))

    def _service(self, key: str) -> dict[str, Any]:
        state = self.after.routing.services.get(key)
        address = state.address if state else None
        return {"address": UNKNOWN_WORD if address is UNKNOWN else address, "weights": []}


def _stack(operation: Operation, told: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "changes": {kind: operation.changes.get(kind, 0) for kind in (*CHANGES, SAME)},
        "resources": [_resource(step) for step in operation.steps if step.operation != SAME],
        "drift": [found.plain() for found in operation.drift],
        "error": told[str(operation.stack)]["error"],
        "seconds": round(operation.seconds, 1),
    }


def _resource(step: Step) -> dict[str, Any]:
    return {"operation": step.operation, "type": step.type, "name": step.name, "fields": list(step.fields)}
