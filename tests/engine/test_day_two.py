"""Drain, undrain and scale on a real fleet: what they foresee is what happens, and documents keep their comments."""

from collections.abc import Iterator

import pytest
from engine.fleets import Scratch

pytestmark = [pytest.mark.engine, pytest.mark.cluster, pytest.mark.timeout(900)]

EAST, WEST = "gpu-us-east", "gpu-eu-west"
COMMENT = "# What one GPU node offers."


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scratch]:
    """Two nodes in the west and one in the east."""
    scratch = Scratch(tmp_path_factory.mktemp("day-two") / "fleet")
    file = scratch.directory / "clusters.yaml"
    head, west = file.read_text().split(f"name: {WEST}\n")
    file.write_text(f"{head}name: {WEST}\n{west.replace('nodeCount: 1', 'nodeCount: 2', 1)}")
    with scratch.clusters_up():
        up = scratch.run("up", "--wait", "3m")
        assert up.code == 0, up.err
        yield scratch


def test_a_dry_run_shows_the_plan_and_the_edit_and_does_nothing(fleet: Scratch) -> None:
    before = (fleet.directory / "clusters.yaml").read_text()
    done = fleet.run("drain", EAST, "--dry-run")
    assert done.code == 0, done.err
    assert f"{EAST}  {WEST}" in done.out
    assert "+  - {key: modelplane.ai/drain, effect: NoExecute}" in done.out
    assert (fleet.directory / "clusters.yaml").read_text() == before


def test_a_drain_with_room_moves_and_loses_no_request(fleet: Scratch) -> None:
    done = fleet.run("drain", EAST, "--wait", "3m")
    assert done.code == 0, done.err
    assert fleet.places() == {WEST: 2}
    assert fleet.objects(EAST, "deployments", "-l", "modelplane.ai/fleet=demo") == []
    assert COMMENT in (fleet.directory / "clusters.yaml").read_text()
    assert fleet.count(20) == {"mock-demo": 20}


def test_a_drain_without_room_writes_nothing_and_says_why(fleet: Scratch) -> None:
    before = (fleet.directory / "clusters.yaml").read_text()
    done = fleet.run("drain", WEST)
    assert done.code == 20, done.err
    assert "ml-team/mock-demo would be short" in done.out
    assert "modelplane.ai/drain" in done.out
    assert (fleet.directory / "clusters.yaml").read_text() == before
    assert fleet.places() == {WEST: 2}


def test_an_undrain_brings_nothing_back_by_itself(fleet: Scratch) -> None:
    done = fleet.run("undrain", EAST, "--wait", "3m")
    assert done.code == 0, done.err
    assert "modelplane.ai/drain" not in (fleet.directory / "clusters.yaml").read_text()
    assert fleet.places() == {WEST: 2}


def test_scaling_up_and_down_through_the_command(fleet: Scratch) -> None:
    up = fleet.run("scale", "deployment/mock-demo", "--replicas", "3", "--wait", "3m")
    assert up.code == 0, up.err
    assert fleet.places() == {WEST: 2, EAST: 1}
    text = (fleet.directory / "mock-demo.yaml").read_text()
    assert "replicas: 3" in text
    assert "# One model, two whole copies" in text
    short = fleet.run("scale", "deployment/mock-demo", "--replicas", "4", "--wait", "10s")
    assert short.code == 20, short.err
    assert fleet.places() == {WEST: 2, EAST: 1}
    down = fleet.run("scale", "deployment/mock-demo", "--replicas", "1", "--wait", "3m")
    assert down.code == 0, down.err
    assert sum(fleet.places().values()) == 1, "two of three went: the command names them to the guard itself"


def test_what_the_documents_refuse_is_not_left_written(fleet: Scratch) -> None:
    before = (fleet.directory / "mock-demo.yaml").read_text()
    done = fleet.run("scale", "deployment/mock-demo", "--replicas", "11")
    assert done.code == 2
    assert "limits.replicas" in done.err
    assert (fleet.directory / "mock-demo.yaml").read_text() == before


def test_force_empties_a_cluster_whatever_it_costs(fleet: Scratch) -> None:
    held = next(iter(fleet.places()))
    other = EAST if held == WEST else WEST
    assert fleet.run("drain", other, "--wait", "2m").code == 0, "nothing is there"
    refused = fleet.run("drain", held)
    assert refused.code == 20
    forced = fleet.run("drain", held, "--force", "--wait", "2m")
    assert forced.code == 20, forced.err
    assert fleet.places() == {}
