"""What a stack's program would do with the outputs as they are, told by the pure functions the programs use."""

from typing import Any

from api.documents import FleetDocuments
from api.errors import DeletionRefused
from api.names import StackName
from programs import placement_plan, routing_plan
from programs.cache_plan import is_staged
from programs.context import Permissions
from programs.ledger import content_hash, template_hash
from programs.outputs import (
    ClusterOutputs,
    GatewayOutputs,
    Ledger,
    LedgerCache,
    LedgerReplica,
    PlacementOutputs,
    RoutingOutputs,
    ServingOutputs,
    WorkloadsOutputs,
)
from programs.placement import with_ledger
from programs.workloads_plan import Rendering, plan_workloads
from stacks.view import View


class Intents:
    """Intents of a fleet's stacks over one view of their outputs."""

    def __init__(
        self, documents: FleetDocuments, view: View, permissions: Permissions, silent: frozenset[str] = frozenset()
    ) -> None:
        self.sick: frozenset[str] = frozenset()
        """Replicas that are seen not to be ready, whatever their stack exported last."""
        self._documents = documents
        self._view = view
        self._permissions = permissions
        self._silent = silent
        self._parted: PlacementOutputs | None = None
        self._parts: dict[str, Ledger] = {}

    def digest(self, stack: StackName) -> str:
        """A digest of what the stack's program would do; it changes when that does."""
        if stack.kind == "placement":
            return self._placement()
        if stack.kind == "routing":
            return content_hash(_plain(self.routing()))
        if stack.kind == "workloads" and stack.cluster:
            rendering = self.rendering(stack.cluster)
            last = self._view.get(WorkloadsOutputs, "workloads", stack.cluster)
            states = last.caches if last else {}
            caches = [[cache.key, cache.spec, is_staged(states.get(cache.key))] for cache in rendering.caches]
            replicas = [[entry.key, template_hash(entry), entry.state] for entry in rendering.replicas]
            return content_hash([replicas, caches] if caches else replicas)
        return ""

    def rendering(self, cluster: str) -> Rendering:
        """The replicas that one cluster renders."""
        routing = self._view.get(RoutingOutputs, "routing")
        last = self._view.get(WorkloadsOutputs, "workloads", cluster)
        return plan_workloads(cluster, self._ledger_of(cluster), routing, last)

    def _ledger_of(self, cluster: str) -> Ledger:
        """A cluster's part of the ledger, which is taken apart once: a fleet can have a thousand clusters."""
        placement = self._view.get(PlacementOutputs, "placement")
        if placement is None:
            return Ledger()
        if placement is not self._parted:
            replicas: dict[str, list[LedgerReplica]] = {}
            for entry in placement.ledger.replicas:
                replicas.setdefault(entry.cluster, []).append(entry)
            caches: dict[str, list[LedgerCache]] = {}
            for cache in placement.ledger.caches:
                for name in cache.clusters:
                    caches.setdefault(name, []).append(cache)
            self._parts = {
                name: Ledger(replicas=tuple(replicas.get(name, ())), caches=tuple(caches.get(name, ())))
                for name in {*replicas, *caches}
            }
            self._parted = placement  # last: another thread that sees it finds the parts that belong to it
        return self._parts.get(cluster, Ledger())

    def _placement(self) -> str:
        observed = placement_plan.Observed(
            clusters=self._view.by_cluster(ClusterOutputs, "cluster"),
            serving=self._view.by_cluster(ServingOutputs, "serving"),
            workloads=self._view.by_cluster(WorkloadsOutputs, "workloads"),
            last=self._view.get(PlacementOutputs, "placement"),
        )
        try:
            observed = with_ledger(observed, self._permissions)
        except DeletionRefused as refusal:
            return refusal.message
        leaving = self._permissions.leaving
        return content_hash(placement_plan.plan_placement(self._documents, observed, now="", leaving=leaving).plain())

    def routing(self) -> routing_plan.Routing:
        """What the hub would show."""
        placement = self._view.get(PlacementOutputs, "placement") or PlacementOutputs()
        last = self._view.get(RoutingOutputs, "routing")
        observed = routing_plan.Observed(
            gateway=self._view.get(GatewayOutputs, "gateway"),
            serving=self._view.by_cluster(ServingOutputs, "serving"),
            workloads=self._view.by_cluster(WorkloadsOutputs, "workloads"),
            in_use=frozenset(last.endpoints) if last else frozenset(),
            sick=self.sick,
            silent=self._silent,
        )
        return routing_plan.plan_routing(self._documents, placement.ledger, observed)


def _plain(plan: routing_plan.Routing) -> Any:
    return {
        "endpoints": [[endpoint.key, endpoint.url, endpoint.rewrite_path] for endpoint in plan.endpoints],
        "routes": [
            [route.key, [[share.endpoint.key, share.weight] for share in route.backends], list(route.empty_entries)]
            for route in plan.routes
        ],
    }
