"""Graphs of fleets for tests."""

from stacks.graph import Edge, Graph, Node


def a_large_graph(*why: str) -> Graph:
    """A thousand clusters of one pool each, ten replicas on each pool; `why` stands at every replica."""
    clusters = [f"cluster-{number:04}" for number in range(1000)]
    nodes = [Node(id=f"pool/{name}/h100", kind="pool", name=f"{name}/h100", state="ready") for name in clusters]
    edges = []
    for name in clusters:
        for index in range(10):
            replica = f"ml/{name}-{index}"
            nodes.append(Node(id=f"replica/{replica}", kind="replica", name=replica, state="ready", why=why))
            edges.append(Edge(source=f"replica/{replica}", target=f"pool/{name}/h100", label="2 nodes"))
    return Graph(fleet="big", nodes=tuple(nodes), edges=tuple(edges))
