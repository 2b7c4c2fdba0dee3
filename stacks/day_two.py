"""What an edit of the documents would come to: what moves where, what cannot, and why. Pure.

Planned as placement will decide, from the edited documents and from what the stacks last exported.
"""

from dataclasses import dataclass, replace
from typing import Any

from api import names
from api.documents import FleetDocuments
from api.terms import Taint
from programs.guard import deletion_digest
from programs.placement import replicas_going
from programs.placement_plan import Observed, plan_placement
from scheduler import Plan, schedule
from scheduler.snapshot import DeploymentKey
from stacks.observation import observation
from stacks.status import FleetOutputs

DRAIN = Taint(key=names.TAINT_DRAIN, effect="NoExecute")
"""What `drain` writes into a cluster's document."""


@dataclass(frozen=True, kw_only=True)
class Move:
    """One replica that leaves its place, comes to one, or both; an empty cluster stands for none."""

    deployment: str
    replica: str
    before: str = ""
    after: str = ""
    why: str = ""

    def plain(self) -> dict[str, Any]:
        """The move for programs."""
        return {
            "deployment": self.deployment,
            "replica": self.replica,
            "from": self.before,
            "to": self.after,
            "why": self.why,
        }


@dataclass(frozen=True, kw_only=True)
class Foreseen:
    """What an edit would come to."""

    moves: tuple[Move, ...]
    homeless: dict[str, dict[str, tuple[str, ...]]]
    """Deployments that would have fewer replicas than now with no place for the rest: why, by cluster."""
    staying: tuple[str, ...]
    """Replicas that stay on a drained cluster because their deployments put up with it."""
    digest: str
    """Stands for exactly the replicas that go, as the guard wants them named."""

    def plain(self) -> dict[str, Any]:
        """The plan for programs."""
        return {
            "moves": [move.plain() for move in self.moves],
            "withoutPlace": {
                key: {name: list(why) for name, why in found.items()} for key, found in self.homeless.items()
            },
            "staying": list(self.staying),
        }


def drained(documents: FleetDocuments, cluster: str) -> FleetDocuments:
    """The documents with the cluster's taint."""
    taints = documents.clusters[cluster].spec.taints
    return _with_taints(documents, cluster, (DRAIN, *(taint for taint in taints if taint.key != DRAIN.key)))


def undrained(documents: FleetDocuments, cluster: str) -> FleetDocuments:
    """The documents without it."""
    taints = documents.clusters[cluster].spec.taints
    return _with_taints(documents, cluster, tuple(taint for taint in taints if taint.key != DRAIN.key))


def is_drained(documents: FleetDocuments, cluster: str) -> bool:
    """Whether the cluster's document has the taint."""
    return any(taint.key == DRAIN.key for taint in documents.clusters[cluster].spec.taints)


def scaled(documents: FleetDocuments, key: DeploymentKey, replicas: int) -> FleetDocuments:
    """The documents with another number of replicas of a deployment."""
    document = documents.deployments[key]
    spec = document.spec.model_copy(update={"replicas": replicas})
    edited = document.model_copy(update={"spec": spec})
    return replace(documents, deployments={**documents.deployments, key: edited})


def foresee(before: FleetDocuments, after: FleetDocuments, outputs: FleetOutputs, cluster: str = "") -> Foreseen:
    """What bringing the edited documents up would come to; `cluster` is one that is to be emptied.

    Raises:
        DeletionRefused: replicas run and there is no ledger.
        InvocationError: an immutable field was edited.

    """
    was = schedule(observation(before, outputs).snapshot)
    planned = schedule(observation(after, outputs).snapshot)
    observed = Observed(
        clusters=outputs.clusters, serving=outputs.serving, workloads=outputs.workloads, last=outputs.placement
    )
    going = replicas_going(outputs.placement, plan_placement(after, observed, now=""))
    return Foreseen(
        moves=tuple(_moves(planned)),
        homeless=_homeless(was, planned),
        staying=_staying(planned, cluster),
        digest=deletion_digest(going),
    )


def _moves(planned: Plan) -> list[Move]:
    """Dropped replicas and new ones of a deployment, paired in order as placement does."""
    found = []
    for key, plan in sorted(planned.deployments.items()):
        new = [placement for placement in plan.placements if not placement.retained]
        for position in range(max(len(new), len(plan.dropped))):
            gone = plan.dropped[position] if position < len(plan.dropped) else None
            come = new[position] if position < len(new) else None
            found.append(
                Move(
                    deployment="/".join(key),
                    replica=gone.replica.name if gone else come.name if come else "",
                    before=gone.replica.key.cluster if gone else "",
                    after=come.key.cluster if come else "",
                    why=gone.message if gone else "",
                )
            )
    return found


def _homeless(was: Plan, planned: Plan) -> dict[str, dict[str, tuple[str, ...]]]:
    found = {}
    for key, plan in sorted(planned.deployments.items()):
        before = was.deployments.get(key)
        if before and len(plan.placements) < min(plan.wanted, len(before.placements)):
            found["/".join(key)] = {
                verdict.cluster: tuple(reason.message for reason in verdict.reasons) for verdict in plan.verdicts
            }
    return found


def _staying(planned: Plan, cluster: str) -> tuple[str, ...]:
    if not cluster:
        return ()
    return tuple(
        f"{'/'.join(key)} {placement.name}"
        for key, plan in sorted(planned.deployments.items())
        for placement in plan.placements
        if placement.key.cluster == cluster
    )


def _with_taints(documents: FleetDocuments, cluster: str, taints: tuple[Taint, ...]) -> FleetDocuments:
    document = documents.clusters[cluster]
    edited = document.model_copy(update={"spec": document.spec.model_copy(update={"taints": taints})})
    return replace(documents, clusters={**documents.clusters, cluster: edited})
