"""All recipes as one fleet, previewed as in CI: with doubles of the providers, without credentials."""

import shutil
from pathlib import Path

import pytest
from clouds.rig import Clouds, stand_in

from api.loader import load
from stacks.environment import environment_of
from stacks.preview import Preview, PreviewOptions
from stacks.preview_engine import preview_engine

pytestmark = pytest.mark.engine

RECIPES = Path(__file__).resolve().parents[2] / "examples" / "recipes"
WITHOUT_DEFINITIONS = """\
spec:
  servingStack: {crds: {enabled: false}}
  gateway:
    crds: {enabled: false}
"""
"""Their files come from the network, and are no matter of recipes."""
ROOM = ("nodeCount: 2", "nodeCount: 14")
"""Each recipe brings the hardware for itself; where the largest node fits all of them, many of it are enough."""


def test_they_preview_as_one_fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "fleet"
    shutil.copytree(RECIPES, folder)
    fleet = folder / "fleet" / "fleet.yaml"
    fleet.write_text(fleet.read_text().replace("spec:\n  gateway:\n", WITHOUT_DEFINITIONS))
    largest = folder / "hardware" / "aws-h200.yaml"
    largest.write_text(largest.read_text().replace(*ROOM))
    clouds = Clouds(tmp_path / "clouds")
    stand_in(clouds, monkeypatch, with_account=False)
    documents = load(folder)
    with preview_engine(environment_of(folder, {}), documents) as engine:
        report = Preview(documents, engine, PreviewOptions(), lambda _: None).run().plain()
    assert (report["errors"], report["exitCode"]) == ([], 0)
    placed = {key: (state["wanted"], state["placed"]) for key, state in report["deployments"].items()}
    assert placed == {f"ml-team/{document.name}": (1, 1) for document in documents.deployments.values()}
    made = {stack: found["changes"]["create"] for stack, found in report["stacks"].items()}
    assert min(made[f"recipes.workloads.{cluster}"] for cluster in documents.clusters) > 1
