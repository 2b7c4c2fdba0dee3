"""The rounds of a pass as pure plans: what placement, routing and workloads come to when all that is applied works.

Each round decides as the programs do, on outputs planned by the round before it, until nothing changes. Of a replica
that is new or changed nobody knows whether it will be ready; it is taken to be.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace

from api.errors import DeletionRefused, ModelplaneError
from api.names import StackName
from programs import placement, routing, workloads
from programs.context import Context
from programs.outputs import ClusterOutputs, LedgerReplica, Outputs, PlacementOutputs, ServingOutputs
from programs.planned import PlannedOutputs

MOST_ROUNDS = 500


@dataclass(frozen=True, kw_only=True)
class Settled:
    """What the rounds came to; the planned outputs themselves are with the reader they were noted in."""

    clusters: tuple[str, ...] = ()
    """Clusters whose workloads take part."""
    errors: Mapping[StackName, ModelplaneError] = field(default_factory=dict)
    """What stopped a stack."""
    retired: Mapping[str, LedgerReplica] = field(default_factory=dict)
    """Replicas that leave, as they were in the ledger while they did, by `<namespace>/<name>`."""
    refused: bool = False
    """The guard stopped placement or routing, so that nothing that follows from them was planned."""


class Rounds:
    """Rounds over one fleet. `context` is that of any of its stacks; stack and reader of it are replaced."""

    def __init__(self, context: Context, planned: PlannedOutputs) -> None:
        self._context = replace(context, reader=planned.read)
        self._fleet = context.fleet.name
        self._planned = planned
        self._errors: dict[StackName, ModelplaneError] = {}
        self._retired: dict[str, LedgerReplica] = {}
        self._outputs: dict[StackName, Outputs] = {}

    def run(self, clusters: Collection[str]) -> Settled:
        """Go on until a round changes nothing; `clusters` are those whose infrastructure did not fail."""
        serving = tuple(name for name in sorted(clusters) if self._takes_part(name))
        refused = False
        for _ in range(MOST_ROUNDS):
            before = dict(self._outputs)
            self._errors.clear()
            refused = not self._round(serving)
            if refused or self._outputs == before:
                break
        return Settled(clusters=serving, errors=dict(self._errors), retired=self._retired, refused=refused)

    def _round(self, serving: Collection[str]) -> bool:
        """One round; False where the guard or a missing ledger stops what follows."""
        stack = StackName(self._fleet, "placement")
        self._step(stack, placement.decide)
        if stack in self._errors:
            return False
        ledger = self._context.read(PlacementOutputs, "placement")
        for entry in ledger.ledger.replicas if ledger else ():
            if entry.state == "retiring":
                self._retired[entry.key] = entry
        stack = StackName(self._fleet, "routing")
        self._step(stack, lambda context: routing.planned_outputs(routing.decide(context)))
        if isinstance(self._errors.get(stack), DeletionRefused):
            return False
        for name in serving:
            stack = StackName(self._fleet, "workloads", name)
            self._step(stack, lambda context: workloads.planned_outputs(workloads.decide(context)))
        return True

    def _step(self, stack: StackName, decide: Callable[[Context], Outputs]) -> None:
        try:
            outputs = decide(replace(self._context, kind=stack.kind, cluster=stack.cluster))
        except ModelplaneError as error:
            self._errors[stack] = error
            return
        self._outputs[stack] = outputs
        self._planned.plan(str(stack), outputs.plain())

    def _takes_part(self, name: str) -> bool:
        """As in a pass: the cluster answered when it was last asked, and its API has what replicas need."""
        cluster = self._context.read(ClusterOutputs, "cluster", name)
        return (
            cluster is not None
            and cluster.reachable
            and self._context.read(ServingOutputs, "serving", name) is not None
        )
