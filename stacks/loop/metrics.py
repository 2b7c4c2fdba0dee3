"""What the loop tells Prometheus: its state, read when it is scraped, and counts of what it ran.

Names are part of what dashboards and alerts are written against: they are added to, never renamed.
"""

from collections import Counter as Counts
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram, start_http_server
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from api.errors import InvocationError
from api.names import StackName
from programs.outputs import (
    ClusterOutputs,
    Ledger,
    PlacementOutputs,
    RoutingOutputs,
    WorkloadsOutputs,
)
from stacks.costs import costs_of
from stacks.findings import DriftClass, of_state
from stacks.loop.run import Loop
from stacks.operation import Operation

SECONDS = (1.0, 2.0, 5.0, 10.0, 20.0, 60.0, 300.0, 1200.0)
DEPLOYMENT = ("namespace", "deployment")


class Ran:
    """Operations as they end: how many, how long, and what drift each stack's last one found."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._count = Counter(
            "modelplane_operations",
            "Operations on stacks, by kind of stack and result: ok or failed.",
            ("kind", "result"),
            registry=registry,
        )
        self._seconds = Histogram(
            "modelplane_operation_seconds",
            "How long operations took, by kind of stack.",
            ("kind",),
            buckets=SECONDS,
            registry=registry,
        )
        self._drift: dict[StackName, Counts[str]] = {}

    def operation(self, operation: Operation) -> None:
        """Take note of one that ended."""
        kind = operation.stack.kind
        self._count.labels(kind, "ok" if operation.ok else "failed").inc()
        self._seconds.labels(kind).observe(operation.seconds)
        found = of_state(str(operation.stack), operation.drift, {})
        self._drift[operation.stack] = Counts(str(each.drift) for each in found)

    @property
    def drift(self) -> Mapping[str, int]:
        """How much the last look at each stack found, by class."""
        total = sum(list(self._drift.values()), Counts())
        return {str(each): total[str(each)] for each in DriftClass}


class FleetCollector(Collector):
    """The state of the fleet as the loop knows it."""

    def __init__(self, loop: Loop, ran: Ran) -> None:
        self._loop = loop
        self._ran = ran

    def describe(self) -> Iterable[Metric]:
        """Nothing: the loop may not have read anything yet."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """Everything, as it is now."""
        view = self._loop.view.copy()
        placement = view.get(PlacementOutputs, "placement") or PlacementOutputs()
        routing = view.get(RoutingOutputs, "routing") or RoutingOutputs()
        clusters = view.by_cluster(ClusterOutputs, "cluster")
        yield from deployments(placement, routing, view.by_cluster(WorkloadsOutputs, "workloads"))
        yield _family(
            "free_nodes", "Nodes without a replica, by class.", ("class",), free_nodes(clusters, placement.ledger)
        )
        costs = {(cost.cluster,): cost.after or 0.0 for cost in costs_of({}, clusters).clusters}
        yield _family("cost_per_hour", "What nodes cost, by prices that classes carry.", ("cluster",), costs)
        answers = {(name,): float(outputs.reachable) for name, outputs in clusters.items()}
        yield _family("cluster_reachable", "Whether a cluster answers.", ("cluster",), answers)
        drift = {(name,): float(count) for name, count in self._ran.drift.items()}
        yield _family("drift", "Differences that the last look at each stack found, by class.", ("class",), drift)
        failing = {
            (str(stack),): float(done.failures) for stack, done in sorted(dict(self._loop.done).items(), key=str)
        }
        yield _family("stack_failures", "How often a stack failed in a row.", ("stack",), failing)
        yield _family("clusters_held", "Clusters that left the documents and are held.", (), {(): len(self._loop.held)})
        usable = {(): float(self._loop.trouble is None)}
        yield _family("documents_usable", "Whether the documents of the directory are those in force.", (), usable)
        text = "When everything was last as it is asked for, seconds since 1970; 0 for never."
        yield _family("last_good_pass_timestamp_seconds", text, (), {(): self._loop.good_at or 0.0})


def deployments(
    placement: PlacementOutputs, routing: RoutingOutputs, workloads: Mapping[str, WorkloadsOutputs]
) -> Iterator[Metric]:
    """Replicas by deployment: wanted, placed, ready, and behind a URL."""
    wanted = {_key(key): float(state.wanted) for key, state in placement.deployments.items()}
    placed = {_key(key): float(state.placed) for key, state in placement.deployments.items()}
    ready, routable = dict.fromkeys(wanted, 0.0), dict.fromkeys(wanted, 0.0)
    for entry in placement.ledger.replicas:
        key = (entry.namespace, entry.deployment)
        states = workloads.get(entry.cluster)
        state = states.replicas.get(entry.key) if states else None
        if key in wanted:
            ready[key] += entry.state == "active" and state is not None and state.ready is True
            routable[key] += entry.key in routing.endpoints
    for name, values, text in (
        ("desired", wanted, "Replicas that documents ask for."),
        ("placed", placed, "Replicas that have a place."),
        ("ready", ready, "Replicas whose pods are ready."),
        ("routable", routable, "Replicas that requests can reach."),
    ):
        yield _family(f"deployment_replicas_{name}", text, DEPLOYMENT, values)


def free_nodes(clusters: Mapping[str, ClusterOutputs], ledger: Ledger) -> dict[tuple[str, ...], float]:
    """Nodes that no replica takes, by class; replicas that retire still take theirs."""
    taken: Counts[tuple[str, str]] = Counts()
    for entry in ledger.replicas:
        for engine in entry.engines:
            for member in engine.members:
                nodes = member.nodes * engine.copies if member.device_requests else 0
                taken[entry.cluster, member.node_pool_name] += nodes
    free: dict[tuple[str, ...], float] = {}
    for name, outputs in clusters.items():
        for pool in outputs.pools:
            left = max(0, pool.usable_nodes - taken[name, pool.name])
            free[pool.class_name,] = free.get((pool.class_name,), 0.0) + left
    return free


def serve(registry: CollectorRegistry, listen: str) -> None:
    """Answer scrapes at `[HOST]:PORT`, for as long as the process lives.

    Raises:
        InvocationError: that is no address, or it cannot be used.

    """
    host, _, port = listen.rpartition(":")
    if not port.isdigit() or int(port) > 65535:
        raise InvocationError(f"{listen} is no address to listen at", hint="write :9464 or 127.0.0.1:9464")
    try:
        start_http_server(int(port), addr=host.strip("[]") or "0.0.0.0", registry=registry)  # noqa: S104 - as asked for
    except OSError as problem:
        raise InvocationError(f"cannot listen at {listen}: {problem.strerror}", hint="choose another port") from None


def _family(name: str, text: str, labels: tuple[str, ...], values: Mapping[Any, float]) -> Metric:
    family = GaugeMetricFamily(f"modelplane_{name}", text, labels=labels)
    for key, value in sorted(values.items()):
        family.add_metric(key, value)
    return family


def _key(key: str) -> tuple[str, str]:
    namespace, _, name = key.partition("/")
    return namespace, name
