"""What a plan is made from, without an engine that runs anything: documents, and what the stacks last exported.

Clusters are as their documents declare them now, with what was last seen of them, just as a preview plans them. What no
`up` has made yet counts as ready, and the observation says that it is assumed.
"""

from dataclasses import dataclass, field

from api.documents import FleetDocuments
from programs.cluster import declared_outputs
from programs.context import Permissions
from programs.placement import with_ledger
from programs.placement_plan import Observed, snapshot_of
from programs.probe import as_last_seen
from scheduler import Snapshot
from stacks import state
from stacks.costs import Costs, costs_of
from stacks.environment import Environment
from stacks.status import FleetOutputs


@dataclass(frozen=True, kw_only=True)
class Observation:
    """A snapshot, and the clusters in it that no `up` has brought up yet and that are taken for ready."""

    snapshot: Snapshot
    assumed: tuple[str, ...] = ()
    costs: Costs = field(default_factory=Costs)
    """What the nodes cost per hour, as applied last and by the documents."""


def observe(documents: FleetDocuments, environment: Environment) -> Observation:
    """What placement would decide from now. Nothing is written, and no cluster is called.

    Raises:
        UnreadableStack: a stack exists and cannot be read; nothing is decided from its absence.
        DeletionRefused: replicas run and there is no ledger.
        InvocationError: an immutable field of a cluster was edited.

    """
    outputs = FleetOutputs()
    if documents.fleet is not None and state.has_state(environment):
        outputs, problems = state.observe(environment, documents.fleet.name)
        if problems:
            raise problems[0]
    return observation(documents, outputs)


def observation(documents: FleetDocuments, outputs: FleetOutputs) -> Observation:
    """The same from outputs at hand.

    Raises:
        DeletionRefused: replicas run and there is no ledger.
        InvocationError: an immutable field of a cluster was edited.

    """
    planned = {}
    for name, document in sorted(documents.clusters.items()):
        last = outputs.clusters.get(name)
        planned[name] = as_last_seen(declared_outputs(documents, document, last, outputs.workloads.get(name)), last)
    observed = Observed(
        clusters={**outputs.clusters, **planned},
        serving=outputs.serving,
        workloads=outputs.workloads,
        last=outputs.placement,
    )
    observed = with_ledger(observed, Permissions())
    assumed = tuple(name for name in sorted(documents.clusters) if name not in outputs.serving)
    return Observation(
        snapshot=snapshot_of(documents, observed, preview=True),
        assumed=assumed,
        costs=costs_of(outputs.clusters, observed.clusters),
    )
