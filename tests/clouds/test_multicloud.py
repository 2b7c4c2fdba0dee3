"""The example of a fleet on five clouds: previewed as in CI, with doubles of the providers and no credentials."""

from pathlib import Path

import pytest
from clouds.examples import previewed
from clouds.rig import Clouds, stand_in

pytestmark = pytest.mark.engine

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "multicloud"
CLUSTERS = {"aws-east", "google-central", "azure-west", "nebius-north", "vultr-newark", "own"}
STORES = ("aws", "gcp", "azure-native", "terraform-provider", "vultr", "kubernetes")


def test_it_previews_without_credentials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clouds = Clouds(tmp_path / "clouds")
    stand_in(clouds, monkeypatch, with_account=False)
    report, _ = previewed(EXAMPLE, tmp_path / "fleet")
    assert report["errors"] == []
    assert report["exitCode"] == 0
    made = {
        stack.removeprefix("world.cluster."): found["changes"]["create"]
        for stack, found in report["stacks"].items()
        if stack.startswith("world.cluster.")
    }
    assert made.keys() == CLUSTERS
    assert made.pop("own") == 0
    assert min(made.values()) > 1
    placed = {key: (state["wanted"], state["placed"]) for key, state in report["deployments"].items()}
    assert placed == {"ml-team/large": (4, 4), "ml-team/small": (3, 3)}
    assert {change["cluster"] for change in report["ledger"]} == CLUSTERS
    assert (report["cost"]["before"], report["cost"]["after"]) == (0, 371.0)
    assert {store: clouds.held(store) for store in STORES} == {store: {} for store in STORES}
