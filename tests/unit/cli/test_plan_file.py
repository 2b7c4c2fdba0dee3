"""`preview --save-plan` and `up --plan`: an update that begins only where nothing of its plan has moved."""

import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from unit.cli.running import Run, files_below
from unit.cli.test_preview import FakePreview, a_preview, a_report, previewed
from unit.cli.test_up import FakePass, a_pass
from unit.cli.test_up import a_report as a_pass_report

from programs.context import Permissions
from stacks.operation import OperationFailed
from stacks.saved_plan import ClusterSeen, SavedPlan, document_digests

__all__ = ["a_pass", "a_preview"]

NodesOf = dict[str, int]


@pytest.fixture
def nodes(monkeypatch: pytest.MonkeyPatch) -> NodesOf:
    """Nodes that clusters have just now; what is looked at is the documents as they are and these."""
    having = {"gpu-us-east": 1}

    def look(_: Any, documents: Any) -> SavedPlan:
        clusters = {name: ClusterSeen(reachable=True, nodes={"h100": count}) for name, count in having.items()}
        return SavedPlan(fleet="demo", backend="b", documents=document_digests(documents), stacks={}, clusters=clusters)

    monkeypatch.setattr("stacks.plan_sight.look", look)
    return having


@pytest.fixture
def planned(
    run: Run, fleet: Path, tmp_path: Path, nodes: NodesOf, a_preview: type[FakePreview], a_pass: type[FakePass]
) -> Path:
    """A plan that was saved with a permission."""
    a_preview.report = a_report()
    a_pass.report = a_pass_report()
    a_pass.given = {}
    file = tmp_path / "plan.json"
    done = run("preview", "-f", fleet, "--save-plan", file, "--allow", "abc")
    assert done.code == 0
    assert f"{file}: `modelplane up --plan {file}` does this" in done.err
    return file


def test_a_plan_is_its_owners_and_brings_its_permissions_with_it(
    planned: Path, run: Run, fleet: Path, a_pass: type[FakePass]
) -> None:
    assert stat.S_IMODE(planned.stat().st_mode) == 0o600
    done = run("up", "-f", fleet, "--plan", planned)
    assert done.code == 0
    assert "documents, state and nodes are those of the plan: 1 to create, " in done.err
    assert a_pass.given["options"].permissions == Permissions(deletions=frozenset({"abc"}))


def lose_a_node(_: Path, nodes: NodesOf) -> None:
    nodes["gpu-us-east"] = 0


def edit(fleet: Path, _: NodesOf) -> None:
    file = fleet / "mock-demo.yaml"
    file.write_text(file.read_text().replace("replicas: 2", "replicas: 1"))


MOVES: dict[str, tuple[Callable[[Path, NodesOf], None], str]] = {
    "a node was lost": (lose_a_node, "cluster gpu-us-east, pool h100: 0 nodes, 1 when it was planned"),
    "a document was edited": (edit, "ModelDeployment ml-team/mock-demo has changed"),
}


@pytest.mark.parametrize("what", MOVES)
def test_an_update_is_refused_before_a_stack_is_touched_and_says_what_moved(
    what: str, planned: Path, run: Run, fleet: Path, nodes: NodesOf, a_pass: type[FakePass]
) -> None:
    move, words = MOVES[what]
    move(fleet, nodes)
    done = run("up", "-f", fleet, "--plan", planned)
    assert (done.code, done.out, a_pass.given) == (25, "", {})
    assert f"error MP325: {planned}: the plan is not of what is now: {words}\n" in done.err
    assert "hint: look at a new `modelplane preview --save-plan`, and give that" in done.err


REFUSED = {
    "permissions besides": (("--allow", "abc"), "error MP100: a plan has its permissions"),
    "a part of the fleet": (("-l", "region=us-east"), "error MP100: a plan is of the whole fleet"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_does_not_go_with_a_plan_is_refused(what: str, planned: Path, run: Run, fleet: Path) -> None:
    arguments, words = REFUSED[what]
    done = run("up", "-f", fleet, "--plan", planned, *arguments)
    assert done.code == 2
    assert words in done.err


@pytest.mark.parametrize("content", [None, b"{}", b"\xff\xfe"])
def test_a_file_that_is_no_plan_is_refused(
    content: bytes | None, run: Run, fleet: Path, tmp_path: Path, a_pass: type[FakePass]
) -> None:
    file = tmp_path / "plan.json"
    if content is not None:
        file.write_bytes(content)
    done = run("up", "-f", fleet, "--plan", file)
    assert done.code == 2
    assert f"error MP203: {file}: " in done.err


def test_a_preview_with_errors_leaves_no_plan(
    run: Run, fleet: Path, tmp_path: Path, nodes: NodesOf, a_preview: type[FakePreview]
) -> None:
    a_preview.report = a_report(operations=[previewed("workloads", "us", error=OperationFailed("no"))])
    done = run("preview", "-f", fleet, "--save-plan", tmp_path / "plan.json")
    assert done.code == 21
    assert "no plan is kept, for the preview has errors" in done.err
    assert not (tmp_path / "plan.json").exists()


def test_clusters_that_did_not_answer_are_told(
    run: Run, fleet: Path, tmp_path: Path, a_preview: type[FakePreview], monkeypatch: pytest.MonkeyPatch
) -> None:
    silent = SavedPlan(fleet="demo", backend="", documents={}, stacks={}, clusters={"us": ClusterSeen(reachable=False)})
    monkeypatch.setattr("stacks.plan_sight.look", lambda *_: replace(silent))
    a_preview.report = a_report()
    done = run("preview", "-f", fleet, "--save-plan", tmp_path / "plan.json")
    assert "warning: us did not answer; the plan holds while that is so" in done.err


def test_a_plan_is_not_written_among_the_documents(run: Run, fleet: Path, a_preview: type[FakePreview]) -> None:
    before = files_below(fleet)
    done = run("preview", "-f", fleet, "--save-plan", fleet / "plan.json")
    assert (done.code, done.out) == (2, "")
    assert "error MP204: " in done.err
    assert files_below(fleet) == before
