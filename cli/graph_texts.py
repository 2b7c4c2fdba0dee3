"""A fleet's graph as text for other programs: Graphviz, Mermaid, JSON."""

import json
from dataclasses import asdict

from stacks.graph import COLUMNS, Graph, Node

_COLOURS = {"ready": "#2e7d32", "waiting": "#b26a00", "unknown": "#5f6b7a"}
_STYLES = {"": "solid", "added": "bold", "removed": "dashed"}


def as_json(graph: Graph) -> str:
    """Nodes and edges, indented."""
    plain = {
        "fleet": graph.fleet,
        "nodes": [{**asdict(node), "facts": dict(node.facts)} for node in graph.nodes],
        "edges": [asdict(edge) for edge in graph.edges],
    }
    return json.dumps(plain, indent=2, ensure_ascii=False) + "\n"


def dot(graph: Graph) -> str:
    """The language of Graphviz, from left to right, each kind in a column."""
    lines = [f"digraph {_quoted(graph.fleet)} {{", "  rankdir=LR;", '  node [shape=box, fontname="sans-serif"];']
    for kind in COLUMNS:
        nodes = [node for node in graph.nodes if node.kind == kind]
        if nodes:
            lines.append("  { rank=same;")
            lines += [f"    {_quoted(node.id)} [{_attributes(node)}];" for node in nodes]
            lines.append("  }")
    for edge in graph.edges:
        attributes = f"label={_quoted(edge.label)}, style={_STYLES[edge.change]}"
        lines.append(f"  {_quoted(edge.source)} -> {_quoted(edge.target)} [{attributes}];")
    return "\n".join([*lines, "}"]) + "\n"


def mermaid(graph: Graph) -> str:
    """A Mermaid flowchart; names in it are numbers, because Mermaid's own allow few characters."""
    numbers = {node.id: f"n{number}" for number, node in enumerate(graph.nodes)}
    lines = ["flowchart LR"]
    lines += [f"  {numbers[node.id]}{_box(node)}" for node in graph.nodes]
    for edge in graph.edges:
        arrow = "-.->" if edge.change == "removed" else "==>" if edge.change == "added" else "-->"
        label = f"|{_entity(edge.label)}|" if edge.label else ""
        lines.append(f"  {numbers[edge.source]} {arrow}{label} {numbers[edge.target]}")
    lines += [f"  classDef {state} stroke:{colour}" for state, colour in _COLOURS.items()]
    return "\n".join(lines) + "\n"


def _box(node: Node) -> str:
    return f'["{node.kind}<br/>{_entity(_marked(node))}"]:::{node.state}'


def _attributes(node: Node) -> str:
    label = f"{node.kind}\\n{_escaped(_marked(node))}"
    return f'label="{label}", color="{_COLOURS[node.state]}", style={_STYLES[node.change]}'


def _marked(node: Node) -> str:
    return {"": "", "added": "+ ", "removed": "- "}[node.change] + node.name


def _quoted(text: str) -> str:
    return f'"{_escaped(text)}"'


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _entity(text: str) -> str:
    return text.replace("&", "#amp;").replace('"', "#quot;").replace("<", "#lt;").replace("|", "#124;")
