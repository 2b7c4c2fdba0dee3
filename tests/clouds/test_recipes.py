"""All recipes as one fleet, previewed as in CI: with doubles of the providers, without credentials."""

from pathlib import Path

import pytest
from clouds.examples import previewed
from clouds.rig import Clouds, stand_in

pytestmark = pytest.mark.engine

RECIPES = Path(__file__).resolve().parents[2] / "examples" / "recipes"
ROOM = ("nodeCount: 2", "nodeCount: 14")
"""Each recipe brings the hardware for itself; where the largest node fits all of them, many of it are enough."""


def test_they_preview_as_one_fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(Clouds(tmp_path / "clouds"), monkeypatch, with_account=False)

    def roomy(folder: Path) -> None:
        largest = folder / "hardware" / "aws-h200.yaml"
        largest.write_text(largest.read_text().replace(*ROOM))

    report, documents = previewed(RECIPES, tmp_path / "fleet", roomy)
    assert (report["errors"], report["exitCode"]) == ([], 0)
    placed = {key: (state["wanted"], state["placed"]) for key, state in report["deployments"].items()}
    assert placed == {f"ml-team/{document.name}": (1, 1) for document in documents.deployments.values()}
    made = {stack: found["changes"]["create"] for stack, found in report["stacks"].items()}
    assert min(made[f"recipes.workloads.{cluster}"] for cluster in documents.clusters) > 1
