"""A fleet's graph as one page: data, style and program in it, and nothing from anywhere else.

Its content security policy allows the page's own style and program, by their hashes, and no connection at all.
"""

import base64
import hashlib
import html
import json
from importlib.resources import files
from typing import Any

from stacks.graph import COLUMNS, Graph

_HEADS = {
    "gateway": "Gateway",
    "service": "Services",
    "endpoint": "Endpoints",
    "replica": "Replicas",
    "pool": "Pools",
    "device": "Devices of a node",
}

_PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
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
<script type="application/json" id="graph">{data}</script>
<script>{program}</script>
</body>
</html>
"""


def page(graph: Graph) -> str:
    """The whole page as HTML."""
    style, program = (files(__package__).joinpath(name).read_text("utf-8") for name in ("page.css", "page.js"))
    own = f"style-src {_hash(style)}; script-src {_hash(program)}"
    policy = f"default-src 'none'; {own}; base-uri 'none'; form-action 'none'"
    return _PAGE.format(
        policy=html.escape(policy),
        title=html.escape(f"Fleet {graph.fleet}"),
        style=style,
        program=program,
        data=_data(graph),
    )


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


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
