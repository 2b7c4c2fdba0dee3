"""A fleet's graph as one page: data, style and program in it, and nothing from anywhere else."""

import html
import json
from importlib.resources import files
from typing import Any

from cli.html_document import html_document
from stacks.graph import COLUMNS, Graph

_HEADS = {
    "gateway": "Gateway",
    "service": "Services",
    "endpoint": "Endpoints",
    "replica": "Replicas",
    "pool": "Pools",
    "device": "Devices of a node",
}

_BODY = """\
<header>
<h1>{title}</h1>
<p id="summary"></p>
<label>Find <input id="find" type="search" autocomplete="off" spellcheck="false"></label>
<button id="all" type="button">Show all</button>
</header>
<main>
<div id="drawing" role="application" aria-label="Graph of the fleet"></div>
<aside id="details" aria-live="polite"><p>Choose a thing to see why it is there.</p></aside>
</main>
<noscript><p>The drawing needs JavaScript; the same as text: <code>modelplane graph -o mermaid</code>.</p></noscript>
<script type="application/json" id="graph">{data}</script>"""


def page(graph: Graph) -> str:
    """The whole page as HTML."""
    style, program = (files(__package__).joinpath(name).read_text("utf-8") for name in ("page.css", "page.js"))
    title = f"Fleet {graph.fleet}"
    body = _BODY.format(title=html.escape(title), data=_data(graph))
    return html_document(title, body, style=style, program=program)


def _data(graph: Graph) -> str:
    """What is drawn, short: values by position, edges by the numbers of their nodes."""
    numbers = {node.id: number for number, node in enumerate(graph.nodes)}
    plain: dict[str, Any] = {
        "columns": [[kind, _HEADS[kind]] for kind in COLUMNS],
        "nodes": [
            [COLUMNS.index(node.kind), node.name, node.state, node.change, node.facts, node.why] for node in graph.nodes
        ],
        "edges": [[numbers[edge.source], numbers[edge.target], edge.label, edge.change] for edge in graph.edges],
    }
    # A name could hold what ends a script; as an escape it says the same and ends nothing.
    return json.dumps(plain, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")
