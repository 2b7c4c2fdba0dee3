"""A fleet as a graph: gateway, services, endpoints, replicas, the pools they run on and what those offer.

Pure: the objects of `stacks.status` in, nodes and edges out; with a plan, what it would add and take away is marked.
Only names, addresses, numbers and conditions are taken over, so no secret can be in it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from scheduler import DeploymentKey, DeploymentPlan, PlacedEngine, Placement, Plan

Plain = Mapping[str, Any]
State = Literal["ready", "waiting", "unknown"]
Change = Literal["", "added", "removed"]

COLUMNS = ("gateway", "service", "endpoint", "replica", "pool", "device")
"""The kinds of nodes, in the order a request meets them."""


@dataclass(frozen=True, kw_only=True)
class Node:
    """One thing of the fleet; `facts` are pairs of words to show, `why` says why it is there or as it is."""

    id: str
    kind: str
    name: str
    state: State = "unknown"
    facts: tuple[tuple[str, str], ...] = ()
    why: tuple[str, ...] = ()
    change: Change = ""


@dataclass(frozen=True, kw_only=True)
class Edge:
    """A request's way, or what a thing runs on; `label` is its weight or number."""

    source: str
    target: str
    label: str = ""
    change: Change = ""


@dataclass(frozen=True, kw_only=True)
class Graph:
    """All of a fleet."""

    fleet: str
    nodes: tuple[Node, ...] = ()
    edges: tuple[Edge, ...] = ()


@dataclass
class _Drawing:
    """Nodes and edges as they are found; the first of an id stays."""

    nodes: dict[str, Node] = field(default_factory=dict)
    edges: dict[tuple[str, str], Edge] = field(default_factory=dict)

    def add(self, node: Node) -> str:
        self.nodes.setdefault(node.id, node)
        return node.id

    def join(self, source: str, target: str, label: str = "", change: Change = "") -> None:
        self.edges.setdefault((source, target), Edge(source=source, target=target, label=label, change=change))


def graph_of(fleet: str, objects: Sequence[Plain], plan: Plan | None = None) -> Graph:
    """The graph of a fleet's objects; replicas that the plan adds or drops are marked."""
    drawing = _Drawing()
    by_kind: dict[str, list[Plain]] = {}
    for found in objects:
        by_kind.setdefault(found["kind"], []).append(found)
    for cluster in by_kind.get("InferenceCluster", []):
        _draw_cluster(drawing, cluster)
    for replica in by_kind.get("ModelReplica", []):
        _draw_replica(drawing, replica)
    _draw_traffic(drawing, by_kind)
    if plan is not None:
        _mark(drawing, plan)
    order = {kind: number for number, kind in enumerate(COLUMNS)}
    nodes = sorted(drawing.nodes.values(), key=lambda node: (order[node.kind], node.id))
    edges = sorted(drawing.edges.values(), key=lambda edge: (edge.source, edge.target))
    known = set(drawing.nodes)
    return Graph(
        fleet=fleet,
        nodes=tuple(nodes),
        edges=tuple(edge for edge in edges if edge.source in known and edge.target in known),
    )


def _draw_traffic(drawing: _Drawing, by_kind: Mapping[str, list[Plain]]) -> None:
    """Gateway, services and endpoints, with the share of requests on each way."""
    gateways = [
        drawing.add(_node("gateway", found, ("address", found["status"].get("address"))))
        for found in by_kind.get("InferenceGateway", [])
    ]
    for endpoint in by_kind.get("ModelEndpoint", []):
        drawing.add(_node("endpoint", endpoint, ("url", endpoint.get("spec", {}).get("url"))))
        drawing.join(_id("endpoint", endpoint), _id("replica", endpoint))
    for service in by_kind.get("ModelService", []):
        target = drawing.add(_node("service", service, ("address", service["status"].get("address"))))
        for gateway in gateways:
            drawing.join(gateway, target)
        backends = service["status"].get("endpoints") or []
        total = sum(backend["weight"] for backend in backends)
        for backend in backends:
            name = backend["endpoint"]
            endpoint_id = drawing.add(Node(id=f"endpoint/{name}", kind="endpoint", name=name))
            drawing.join(target, endpoint_id, _share(backend["weight"], total))
            drawing.join(endpoint_id, f"replica/{name}")


def _draw_replica(drawing: _Drawing, replica: Plain) -> None:
    spec = replica["spec"]
    cluster = spec["clusterName"]
    why = [
        f"{engine['name']}, {member.get('role', 'Standalone')}: {_requested(member)} of pool {member['nodePoolName']}"
        for engine in spec["engines"]
        for member in engine["members"]
        if member.get("nodePoolName")
    ]
    labels = replica["metadata"].get("labels") or {}
    facts = [("cluster", cluster), ("deployment", labels.get("modelplane.ai/deployment"))]
    drawing.add(_node("replica", replica, *facts, why=why))
    for pool, nodes in _nodes_taken(spec["engines"]).items():
        drawing.join(_id("replica", replica), f"pool/{cluster}/{pool}", _counted(nodes, "node"))


def _draw_cluster(drawing: _Drawing, cluster: Plain) -> None:
    name = cluster["metadata"]["name"]
    for pool in cluster["status"].get("gpuPools") or []:
        pool_id = f"pool/{name}/{pool['name']}"
        facts = [
            ("cluster", name),
            ("nodes wanted", pool.get("nodes")),
            ("nodes present", pool.get("nodesPresent")),
            ("gateway", (cluster["status"].get("gateway") or {}).get("address")),
        ]
        drawing.add(
            Node(
                id=pool_id,
                kind="pool",
                name=f"{name}/{pool['name']}",
                state=_state(cluster),
                facts=_known(facts),
                why=_told(cluster),
            )
        )
        for device in pool.get("devices") or []:
            offered = [*_values(device.get("attributes")), *_values(device.get("capacity"))]
            drawing.add(
                Node(
                    id=f"device/{name}/{pool['name']}/{device['name']}",
                    kind="device",
                    name=f"{device.get('count', 1)} x {device['name']}",
                    state="unknown",
                    facts=_known([("driver", device.get("driver")), *offered]),
                )
            )
            drawing.join(pool_id, f"device/{name}/{pool['name']}/{device['name']}", f"{device.get('count', 1)} a node")


def _mark(drawing: _Drawing, plan: Plan) -> None:
    """Add what the plan adds, and mark what it drops."""
    for key, decided in sorted(plan.deployments.items()):
        for placement in decided.placements:
            if f"replica/{key[0]}/{placement.name}" not in drawing.nodes:
                _draw_placement(drawing, key, placement)
        for dropped in decided.dropped:
            _mark_dropped(drawing, f"replica/{key[0]}/{dropped.replica.name}", dropped.message)
        _note_shortfall(drawing, key, decided)


def _draw_placement(drawing: _Drawing, key: DeploymentKey, placement: Placement) -> None:
    cluster = placement.key.cluster
    node = Node(
        id=f"replica/{key[0]}/{placement.name}",
        kind="replica",
        name=f"{key[0]}/{placement.name}",
        facts=_known([("cluster", cluster), ("deployment", key[1])]),
        why=("the plan places it here",),
        change="added",
    )
    drawing.add(node)
    for pool, nodes in _nodes_planned(placement.engines).items():
        drawing.join(node.id, f"pool/{cluster}/{pool}", _counted(nodes, "node"), "added")


def _mark_dropped(drawing: _Drawing, replica: str, message: str) -> None:
    if replica in drawing.nodes:
        node = drawing.nodes[replica]
        drawing.nodes[replica] = replace(node, change="removed", why=(f"the plan drops it: {message}", *node.why))
    for ends, edge in drawing.edges.items():
        if replica in ends:
            drawing.edges[ends] = replace(edge, change="removed")


def _note_shortfall(drawing: _Drawing, key: DeploymentKey, decided: DeploymentPlan) -> None:
    """Say on the replicas of a deployment that more of them are wanted."""
    missing = decided.wanted - len(decided.placements)
    if missing <= 0:
        return
    note = f"{_counted(missing, 'replica')} more wanted: {decided.condition.message}"
    for placement in decided.placements:
        replica = f"replica/{key[0]}/{placement.name}"
        drawing.nodes[replica] = replace(drawing.nodes[replica], why=(note, *drawing.nodes[replica].why))


def _node(kind: str, found: Plain, *facts: tuple[str, Any], why: Sequence[str] = ()) -> Node:
    return Node(
        id=_id(kind, found),
        kind=kind,
        name=_name(found),
        state=_state(found),
        facts=_known(facts),
        why=(*why, *_told(found)),
    )


def _id(kind: str, found: Plain) -> str:
    return f"{kind}/{_name(found)}"


def _name(found: Plain) -> str:
    metadata = found["metadata"]
    return f"{metadata['namespace']}/{metadata['name']}" if metadata.get("namespace") else str(metadata["name"])


def _state(found: Plain) -> State:
    conditions = {each["type"]: each["status"] for each in found["status"].get("conditions") or []}
    if "Ready" not in conditions:
        return "unknown"
    return "ready" if conditions["Ready"] == "True" else "waiting"


def _told(found: Plain) -> tuple[str, ...]:
    """Its conditions in words."""
    return tuple(
        ": ".join([f"{each['type']} {each['status']}", *(each[key] for key in ("reason", "message") if each.get(key))])
        for each in found["status"].get("conditions") or []
    )


def _known(facts: Sequence[tuple[str, Any]]) -> tuple[tuple[str, str], ...]:
    return tuple((name, str(value)) for name, value in facts if value not in (None, ""))


def _values(named: Mapping[str, Plain] | None) -> Iterator[tuple[str, Any]]:
    """Attributes and capacity of a device; each is a mapping of one type to its value."""
    for name, typed in sorted((named or {}).items()):
        yield name, next(iter(typed.values()), None)


def _requested(member: Plain) -> str:
    requests = [
        " ".join(
            [f"{request.get('count', 1)} x {request['name']}"]
            + [f"({selector['cel']})" for selector in request.get("selectors") or [] if "cel" in selector]
        )
        for request in member.get("deviceRequests") or []
    ]
    return ", ".join(requests) or "a node"


def _nodes_taken(engines: Sequence[Plain]) -> dict[str, int]:
    """Nodes a replica takes of each pool."""
    found: dict[str, int] = {}
    for engine in engines:
        for member in engine["members"]:
            if pool := member.get("nodePoolName"):
                nodes = (member.get("worker") or {}).get("nodes") or 1
                found[pool] = found.get(pool, 0) + engine.get("copies", 1) * nodes
    return found


def _nodes_planned(engines: Sequence[PlacedEngine]) -> dict[str, int]:
    found: dict[str, int] = {}
    for engine in engines:
        for member in engine.members:
            found[member.pool] = found.get(member.pool, 0) + engine.copies * member.nodes
    return found


def _share(weight: int, total: int) -> str:
    return f"{100 * weight / total:.4g} %" if total else ""


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")
