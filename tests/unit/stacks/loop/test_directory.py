"""Edits of a fleet directory: taken up when they are whole, told and left alone when they are not."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from builders import a_class, a_cluster, a_fleet
from states import documents_of

from api.documents import FleetDocuments
from api.errors import InvalidFleet, ModelplaneError
from api.loader import load
from stacks.loop.directory import SETTLE_SECONDS, Directory, fingerprint, value_digests

GOOD = "apiVersion: modelplane.ai/v1alpha1\nkind: Fleet\nmetadata: {name: f}\nspec: {}\n"
GATEWAY = (
    "apiVersion: modelplane.ai/v1alpha1\nkind: InferenceGateway\nmetadata: {name: default}\n"
    "spec: {backend: Traefik, traefik: {version: 40.2.0}}\n"
)


@dataclass
class Bench:
    """A directory with a clock of its own."""

    folder: Path
    now: float = 0.0
    woken: int = 0
    load: Callable[[], FleetDocuments] | None = None
    directory: Directory = field(init=False)

    def __post_init__(self) -> None:
        (self.folder / "fleet.yaml").write_text(GOOD)

        def count() -> None:
            self.woken += 1

        reading = self.load or (lambda: load(self.folder))
        self.directory = Directory(self.folder, reading, load(self.folder), count, clock=lambda: self.now)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_nothing_is_read_again_while_nothing_changes(bench: Bench) -> None:
    bench.now = 1000.0
    taken = bench.directory.take()
    assert (taken.documents, taken.trouble) == (None, None)
    assert bench.directory.due is None


def test_an_edit_is_taken_up_once_the_directory_is_quiet(bench: Bench) -> None:
    (bench.folder / "more.yaml").write_text(GATEWAY)
    assert bench.directory.take().documents is None
    assert bench.directory.due == SETTLE_SECONDS
    bench.now = SETTLE_SECONDS
    taken = bench.directory.take()
    assert taken.documents is not None
    assert taken.documents.gateway is not None
    assert bench.directory.due is None


def test_a_file_that_is_still_being_written_is_no_edit(bench: Bench) -> None:
    writing = bench.folder / "more.yaml"
    for second in range(5):
        writing.write_text("apiVersion: modelplane.ai/v1alpha1\nkind: Infer"[: 30 + second])
        bench.now = float(second) * 0.9
        taken = bench.directory.take()
        assert (taken.documents, taken.trouble) == (None, None)


def test_what_changes_while_it_is_read_is_read_again(tmp_path: Path) -> None:
    readings: list[int] = []

    def reading() -> FleetDocuments:
        readings.append(1)
        if len(readings) == 1:
            (tmp_path / "late.yaml").write_text("# written just now\n")
        return load(tmp_path)

    bench = Bench(tmp_path, load=reading)
    (tmp_path / "fleet.yaml").write_text(GOOD + "# edited\n")
    bench.directory.look()
    bench.now = 10.0
    assert bench.directory.take().documents is None
    (tmp_path / "late.yaml").unlink()
    bench.directory.look()
    bench.now = 20.0
    assert bench.directory.take().documents is not None


@pytest.mark.parametrize("damage", ["empty", "half", "gone", "fleetless"])
def test_damage_is_told_and_gives_no_documents(bench: Bench, damage: str) -> None:
    file = bench.folder / "fleet.yaml"
    if damage == "half":
        file.write_text(GOOD + "---\napiVersion: modelplane.ai/v1alpha1\nkind: ModelDeployment\nmetadata: {na")
    elif damage == "fleetless":
        file.write_text(GOOD.replace("kind: Fleet", "kind: Flee"))
    else:
        file.unlink()
    if damage == "gone":
        bench.folder.rmdir()
    bench.directory.look()
    bench.now = 5.0
    taken = bench.directory.take()
    assert taken.documents is None
    assert isinstance(taken.trouble, InvalidFleet)

    bench.folder.mkdir(exist_ok=True)
    file.write_text(GOOD)
    bench.directory.look()
    bench.now = 10.0
    assert bench.directory.take().documents is not None, "it recovers"


def test_the_documents_of_another_fleet_are_refused(bench: Bench) -> None:
    (bench.folder / "fleet.yaml").write_text(GOOD.replace("{name: f}", "{name: other}"))
    bench.directory.look()
    bench.now = 5.0
    trouble = bench.directory.take().trouble
    assert isinstance(trouble, ModelplaneError)
    assert trouble.error_code == "MP137"


def test_what_lies_in_hidden_folders_is_no_change(bench: Bench) -> None:
    before = fingerprint(bench.folder)
    (bench.folder / ".modelplane").mkdir()
    (bench.folder / ".modelplane" / "state.yaml").write_text("x")
    assert fingerprint(bench.folder) == before
    (bench.folder / "seen.yaml").write_text("x")
    assert fingerprint(bench.folder) != before


def test_a_rotated_kubeconfig_is_a_change_and_its_text_is_nowhere(tmp_path: Path) -> None:
    file = tmp_path / "kubeconfig"
    secrets = [{"namespace": "modelplane-system", "name": "us", "keys": {"kubeconfig": {"fromFile": str(file)}}}]
    documents = documents_of(a_fleet(secrets=secrets), a_class(), a_cluster("us"))
    key = ("modelplane-system", "us")
    absent = value_digests(documents)[key]
    file.write_text("a-token-that-is-secret")
    first = value_digests(documents)[key]
    file.write_text("another")
    assert len({absent, first, value_digests(documents)[key]}) == 3
    assert "a-token-that-is-secret" not in first
