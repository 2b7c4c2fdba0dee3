"""A fleet without Pulumi and without clusters: an engine whose `up` runs a stack's pure plan on what others exported.

Pods of a rendered replica become ready when somebody waits for them, and a stack's outputs show it at its next refresh.
What must never happen is checked in every step: more replicas on a pool than it has nodes, a replica taken away while
routing still lists its endpoint, and an endpoint in use without a ready replica behind it.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from threading import Event, Lock
from typing import Any

from api.base import Condition
from api.documents import FleetDocuments
from api.errors import DeletionRefused, MissingInput, ModelplaneError, UnreadableStack
from api.names import StackName
from programs import placement_plan, routing_plan
from programs.cluster import declared_outputs
from programs.ledger import template_hash
from programs.outputs import (
    Capabilities,
    ClusterOutputs,
    EndpointState,
    GatewayOutputs,
    LedgerReplica,
    Outputs,
    PlacementOutputs,
    PoolFacts,
    ReplicaState,
    RoutingOutputs,
    ServiceBackend,
    ServiceState,
    ServingOutputs,
    WorkloadsOutputs,
)
from programs.workloads_plan import ledger_or_refuse, plan_workloads
from stacks.interrupt import Stop
from stacks.live import Waiting
from stacks.operation import Operation, OperationFailed

NOW = "2026-08-01T00:00:00Z"


class Stopped(Exception):
    """Somebody broke the run off."""


@dataclass
class Live:
    """One replica's pods as they are on their cluster."""

    template: str
    ready: bool = False


@dataclass
class Simulation:
    """State of a fleet, and what goes wrong with it."""

    documents: FleetDocuments
    stop: Stop = field(default_factory=Stop)
    gangs: bool = False
    """Serving stacks carry gangs."""
    failing: dict[str, ModelplaneError] = field(default_factory=dict)
    """Stacks whose operations fail, by name without the fleet's."""
    not_given: dict[str, set[str]] = field(default_factory=dict)
    """Pools that their cloud does not give, by cluster; the rest of the cluster is made."""
    never_ready: set[str] = field(default_factory=set)
    """Deployments whose pods never become ready."""
    moments: int = 0
    """How many waits end with what was ready for a moment only."""
    slow: dict[str, Event] = field(default_factory=dict)
    """Stacks whose operations last until something happens."""
    unreachable: set[str] = field(default_factory=set)
    unreadable: set[str] = field(default_factory=set)
    """Stacks whose outputs cannot be read."""
    addresses: dict[str, str | None] = field(default_factory=dict)
    stop_after: int | None = None
    """The run is broken off after so many operations; an operation that is being done is finished."""
    calls: list[str] = field(default_factory=list)
    """Stacks brought up, in order, and `wait`."""
    refreshed: set[str] = field(default_factory=set)
    """Stacks that were refreshed before their update."""
    continued: set[str] = field(default_factory=set)
    """Stacks whose update goes on where an object of theirs fails."""
    live: dict[str, dict[str, Live]] = field(default_factory=lambda: defaultdict(dict))
    kept: dict[StackName, Outputs] = field(default_factory=dict)
    """Outputs of every stack."""
    rotations: list[list[str]] = field(default_factory=list)
    """Replicas that could answer after each operation: in rotation, and with ready pods."""
    accepted: set[str] = field(default_factory=set)
    """Routes that the hub's gateway has taken up."""
    _lock: Any = field(default_factory=Lock)

    @property
    def fleet(self) -> str:
        assert self.documents.fleet is not None
        return self.documents.fleet.name

    def up(
        self,
        stack: StackName,
        *,
        refresh: bool,
        continue_on_error: bool = False,
        sick: frozenset[str] = frozenset(),
    ) -> Operation:
        name = str(stack).removeprefix(f"{self.fleet}.")
        if name in self.slow:
            assert self.slow[name].wait(60), f"nothing ended {name}"
        with self._lock:
            if self.stop_after is not None and len(self.calls) >= self.stop_after:
                raise Stopped
            self.calls.append(name)
            self._sick = sick
            self.refreshed |= {name} if refresh else set()
            self.continued |= {name} if continue_on_error else set()
            if name in self.failing:
                return Operation(stack=stack, action="up", error=self.failing[name])
            step = {
                "gateway": self._gateway,
                "cluster": self._cluster,
                "serving": self._serving,
                "placement": self._placement,
                "workloads": self._workloads,
                "routing": self._routing,
            }[stack.kind]
            try:
                changes = step(stack, refresh=refresh)
            except ModelplaneError as error:
                return Operation(stack=stack, action="up", error=error)
            self.rotations.append(self._answering())
            if stack.kind == "cluster" and (pools := self.not_given.get(stack.cluster or "")):
                return _no_capacity(stack, pools)
            return Operation(stack=stack, action="up", changes=changes)

    def outputs(self, stack: StackName) -> dict[str, Any] | None:
        if str(stack).removeprefix(f"{self.fleet}.") in self.unreadable:
            raise UnreadableStack(f"the outputs of stack {stack} cannot be read")
        found = self.kept.get(stack)
        return found.plain() if found else None

    def stacks(self) -> dict[StackName, int]:
        return {stack: 1 if stack.kind == "placement" else 5 for stack in self.kept}

    def wait_for_change(
        self, clusters: Mapping[str, tuple[str, Iterable[Waiting]]], deadline: float, *, stop: Stop
    ) -> dict[str, set[str]]:
        """In the place of the driver's own: what is waited for becomes ready at once, if it ever does."""
        self.calls.append("wait")
        is_lasting = self.moments <= 0
        self.moments -= 1
        found: dict[str, set[str]] = {}
        for cluster, (_, waited) in clusters.items():
            for waiting in waited:
                live = self.live[cluster].get(waiting.key)
                if live and not self._is_of(waiting.key, self.never_ready):
                    live.ready = is_lasting
                    found.setdefault(cluster, set()).add(waiting.key)
        return found

    def routes_accepted(
        self, kubeconfig: str, routes: Iterable[tuple[str, str]], seconds: float, *, stop: Stop
    ) -> bool:
        self.accepted |= {f"{namespace}/{name}" for namespace, name in routes}
        return True

    def read(self, model: type[Any], kind: str, cluster: str | None = None) -> Any:
        """Outputs of one stack; None where there are none."""
        found = self.kept.get(StackName(self.fleet, kind, cluster))
        assert found is None or isinstance(found, model)
        return found

    def lose_pods(self, deployments: Iterable[str]) -> None:
        """Pods of these deployments stop being ready; that shows when their stacks are refreshed."""
        for replicas in self.live.values():
            for key, live in replicas.items():
                if self._is_of(key, deployments):
                    live.ready = False

    def endpoints(self) -> list[str]:
        return sorted(self.read(RoutingOutputs, "routing").endpoints)

    def _answering(self) -> list[str]:
        routing = self.read(RoutingOutputs, "routing")
        ready = {key for replicas in self.live.values() for key, live in replicas.items() if live.ready}
        return sorted(ready.intersection(routing.endpoints if routing else ()))

    def rendered(self) -> list[str]:
        return sorted(key for replicas in self.live.values() for key in replicas)

    @staticmethod
    def _is_of(key: str, deployments: Iterable[str]) -> bool:
        return key.rpartition("/")[2].rpartition("-")[0] in deployments

    def _all(self, model: type[Any], kind: str) -> dict[str, Any]:
        return {
            stack.cluster: found
            for stack, found in self.kept.items()
            if stack.kind == kind and stack.cluster is not None
        }

    def _gateway(self, stack: StackName, *, refresh: bool) -> dict[str, int]:
        return self._keep(stack, GatewayOutputs(kubeconfig="hub", address="203.0.113.1", ready=True))

    def _cluster(self, stack: StackName, *, refresh: bool) -> dict[str, int]:
        name = stack.cluster or ""
        last = self.read(ClusterOutputs, "cluster", name)
        workloads = self.read(WorkloadsOutputs, "workloads", name)
        declared = declared_outputs(self.documents, self.documents.clusters[name], last, workloads)
        seen = {
            "kubeconfig": name,
            "pools": tuple(self._as_given(name, pool) for pool in declared.pools),
            "reachable": name not in self.unreachable,
        }
        outputs = declared.model_copy(update=seen)
        self._keep(stack, outputs)
        return {}

    def _as_given(self, cluster: str, pool: PoolFacts) -> PoolFacts:
        return pool.model_copy(update={"provisioned": pool.name not in self.not_given.get(cluster, ())})

    def _serving(self, stack: StackName, *, refresh: bool) -> dict[str, int]:
        name = stack.cluster or ""
        address = self.addresses.get(name, f"{name}.example.com")
        capabilities = Capabilities(inference_pools=False, gangs=self.gangs, rank=self.gangs)
        return self._keep(
            stack, ServingOutputs(cluster=name, ready=True, gateway_address=address, capabilities=capabilities)
        )

    def _placement(self, stack: StackName, *, refresh: bool) -> dict[str, int]:
        workloads = self._all(WorkloadsOutputs, "workloads")
        last = self.read(PlacementOutputs, "placement")
        if last is None and any(found.replicas for found in workloads.values()):
            raise DeletionRefused("there is no ledger")
        observed = placement_plan.Observed(
            clusters=self._all(ClusterOutputs, "cluster"),
            serving=self._all(ServingOutputs, "serving"),
            workloads=workloads,
            last=last,
        )
        self._keep(stack, placement_plan.plan_placement(self.documents, observed, now=NOW))
        return {}

    def _workloads(self, stack: StackName, *, refresh: bool) -> dict[str, int]:
        name = stack.cluster or ""
        last = self.read(WorkloadsOutputs, "workloads", name)
        ledger = ledger_or_refuse(
            self.read(PlacementOutputs, "placement"), lists_anything=bool(last and last.replicas), stack=str(stack)
        )
        routing = self.read(RoutingOutputs, "routing")
        rendered = plan_workloads(name, ledger, routing, last).replicas
        changes = self._apply(name, rendered, set(routing.endpoints) if routing else set())
        before = last.replicas if last else {}
        states = {
            entry.key: ReplicaState(
                namespace=entry.namespace,
                deployment=entry.deployment,
                index=entry.index,
                applied=True,
                ready=self.live[name][entry.key].ready if refresh else entry.key in before and before[entry.key].ready,
                since=NOW,
                template_hash=template_hash(entry),
            )
            for entry in rendered
        }
        pools = {member.node_pool_name for entry in rendered for engine in entry.engines for member in engine.members}
        self.kept[stack] = WorkloadsOutputs(cluster=name, replicas=states, pools=tuple(sorted(pools)))
        return changes

    def _apply(self, cluster: str, rendered: tuple[LedgerReplica, ...], in_use: set[str]) -> dict[str, int]:
        live, changes = self.live[cluster], Counter[str]()
        wanted = {entry.key: template_hash(entry) for entry in rendered}
        self._check_room(cluster, rendered)
        for key in sorted(live.keys() - wanted.keys()):
            assert key not in in_use, f"{key} is taken away while routing lists its endpoint"
            del live[key]
            changes["delete"] += 1
        for key, template in wanted.items():
            if key not in live:
                changes["create"] += 1
                live[key] = Live(template)
            elif live[key].template != template:
                changes["update"] += 1
                live[key] = Live(template)
            else:
                changes["same"] += 1
        return dict(changes)

    def _check_room(self, cluster: str, rendered: tuple[LedgerReplica, ...]) -> None:
        nodes = {pool.name: pool.nodes.configured for pool in self.read(ClusterOutputs, "cluster", cluster).pools}
        used: Counter[str] = Counter()
        for entry in rendered:
            for engine in entry.engines:
                for member in engine.members:
                    used[member.node_pool_name] += member.nodes * engine.copies if member.device_requests else 0
        for pool, count in used.items():
            assert count <= nodes.get(pool, 0), f"{count} nodes of {nodes.get(pool, 0)} in use on {cluster}/{pool}"

    def _routing(self, stack: StackName, *, refresh: bool) -> dict[str, int]:
        gateway = self.read(GatewayOutputs, "gateway")
        if gateway is None:
            raise MissingInput("the gateway is not there yet")
        last = self.read(RoutingOutputs, "routing") or RoutingOutputs()
        ledger = ledger_or_refuse(
            self.read(PlacementOutputs, "placement"), lists_anything=bool(last.endpoints), stack=str(stack)
        )
        observed = routing_plan.Observed(
            gateway=gateway,
            serving=self._all(ServingOutputs, "serving"),
            workloads=self._all(WorkloadsOutputs, "workloads"),
            in_use=frozenset(last.endpoints),
            sick=self._sick,
        )
        plan = routing_plan.plan_routing(self.documents, ledger, observed)
        for endpoint in plan.endpoints:
            live = self.live[endpoint.cluster].get(endpoint.key) if endpoint.cluster else None
            if endpoint.cluster and endpoint.cluster not in self.unreachable:
                assert live is not None, f"{endpoint.key} is in use and nothing runs behind it"
        return self._keep(stack, _exported(plan, self.accepted), last)

    def _keep(self, stack: StackName, outputs: Outputs, last: Outputs | None = None) -> dict[str, int]:
        before = last or self.kept.get(stack)
        self.kept[stack] = outputs
        if before is None:
            return {"create": 1}
        return {"same" if _objects(before) == _objects(outputs) else "update": 1}


def _exported(plan: routing_plan.Routing, accepted: set[str]) -> RoutingOutputs:
    return RoutingOutputs(
        endpoints={
            endpoint.key: EndpointState(
                url=endpoint.url, cluster=endpoint.cluster, backend=endpoint.backend, port=endpoint.address.port
            )
            for endpoint in plan.endpoints
        },
        services={
            route.key: ServiceState(
                backends=tuple(
                    ServiceBackend(endpoint=share.endpoint.key, weight=share.weight) for share in route.backends
                ),
                empty_entries=route.empty_entries,
                accepted=route.key in accepted,
                conditions=(Condition(type="Ready", status="True"),),
            )
            for route in plan.routes
        },
        withdrawn=plan.withdrawn,
    )


def _objects(outputs: Outputs) -> Any:
    """What stands behind outputs as resources; whether a route is accepted is not one."""
    plain = outputs.plain()
    for service in plain.get("services", {}).values():
        service.pop("accepted")
    return {key: value for key, value in plain.items() if key != "withdrawn"}


def _no_capacity(stack: StackName, pools: Iterable[str]) -> Operation:
    failed = tuple(f"cluster-{stack.cluster}/nodegroup-{pool}" for pool in sorted(pools))
    messages = tuple(f"{name}: InsufficientCapacity" for name in failed)
    return Operation(
        stack=stack,
        action="up",
        error=OperationFailed(messages[0]),
        messages=(*messages, "update failed"),
        failed=failed,
    )
