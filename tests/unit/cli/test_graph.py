"""The graph as a page that needs nothing and lets nothing out, and as text for other programs."""

import base64
import hashlib
import html
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from graphs import a_large_graph
from unit.cli.running import Run, files_below

from cli.graph_page import page
from cli.graph_texts import as_json, dot, mermaid
from stacks.graph import Edge, Graph, Node

SMALL = Graph(
    fleet="prod",
    nodes=(
        Node(id="service/ml/demo", kind="service", name="ml/demo", facts=(("address", "http://x"),)),
        Node(id='replica/ml/a"b', kind="replica", name='ml/a"b', state="ready", why=("</script><b>",)),
        Node(id="replica/ml/new", kind="replica", name="ml/new", change="added"),
    ),
    edges=(
        Edge(source="service/ml/demo", target='replica/ml/a"b', label="75 %"),
        Edge(source="service/ml/demo", target="replica/ml/new", label="25 %", change="added"),
    ),
)


def inside(text: str, tag: str) -> list[str]:
    return re.findall(rf"<{tag}(?: [^>]*)?>(.*?)</{tag}>", text, re.DOTALL)


def test_the_page_allows_its_own_style_and_program_and_nothing_else() -> None:
    text = page(SMALL)
    policy = html.unescape(re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)[0])
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    (style,) = inside(text, "style")
    _, program = inside(text, "script")
    for name, content in (("style-src", style), ("script-src", program)):
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert rules[name] == f"'sha256-{digest}'"
    assert not re.findall(r"""(?:src|href)=|url\(|@import|\bfetch\(|XMLHttpRequest|innerHTML|\son\w+=|\sstyle=""", text)


def test_no_name_can_end_the_data() -> None:
    text = page(SMALL)
    data, _ = inside(text, "script")
    assert "<" not in data
    drawn = json.loads(data)
    assert drawn["nodes"][1][5] == ["</script><b>"]
    assert drawn["edges"] == [[0, 1, "75 %", ""], [0, 2, "25 %", "added"]]


def test_a_thousand_clusters_are_less_than_five_megabytes() -> None:
    condition = "Ready True: Serving: 8 of 8 pods ready on every node of the pool that was chosen for it"
    assert len(page(a_large_graph(condition)).encode()) < 5_000_000


@pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not there to read the program with")
def test_the_program_of_the_page_can_be_read(tmp_path: Path) -> None:
    _, program = inside(page(SMALL), "script")
    (tmp_path / "page.js").write_text(program)
    checked = subprocess.run(["node", "--check", "page.js"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr


def test_texts_for_other_programs_name_the_same_things() -> None:
    assert [node["id"] for node in json.loads(as_json(SMALL))["nodes"]] == [node.id for node in SMALL.nodes]
    assert '"service/ml/demo" -> "replica/ml/a\\"b" [label="75 %", style=solid];' in dot(SMALL)
    assert '"replica/ml/new" [label="replica\\n+ ml/new", color="#5f6b7a", style=bold];' in dot(SMALL)
    lines = mermaid(SMALL).splitlines()
    assert lines[0] == "flowchart LR"
    assert '  n1["replica<br/>ml/a#quot;b"]:::ready' in lines
    assert "  n0 ==>|25 %| n2" in lines


def test_a_fleet_that_is_not_up_is_an_empty_graph_and_nothing_is_written(run: Run, fleet: Path, tmp_path: Path) -> None:
    before = files_below(fleet)
    done = run("graph", "-f", fleet, "-o", "json")
    assert (done.code, json.loads(done.out)["nodes"]) == (0, [])
    assert "`modelplane up` brings it up" in done.err
    written = run("graph", "-f", fleet, "--file", tmp_path / "fleet.html")
    assert (written.code, written.out) == (0, "")
    assert (tmp_path / "fleet.html").read_text().startswith("<!doctype html>")
    assert files_below(fleet) == before


def test_a_planned_fleet_is_drawn_before_it_is_up(run: Run, fleet: Path) -> None:
    drawn = json.loads(run("graph", "-f", fleet, "--plan", "-o", "json").out)
    replicas = [node for node in drawn["nodes"] if node["kind"] == "replica"]
    assert [(node["name"], node["change"]) for node in replicas] == [
        ("ml-team/mock-demo-49b71", "added"),
        ("ml-team/mock-demo-be445", "added"),
    ]


def test_a_file_that_cannot_be_written_is_told(run: Run, fleet: Path, tmp_path: Path) -> None:
    done = run("graph", "-f", fleet, "--file", tmp_path / "nowhere" / "fleet.html")
    assert done.code == 2
    assert "error MP204" in done.err
