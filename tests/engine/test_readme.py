"""The README's five minutes, typed in one shell as they stand there, from a fresh copy of the examples to nothing."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from docs.texts import ROOT, typed
from engine.typed import ADDRESS, a_checkout, at, missing, shell

from stacks.state import held_resources

pytestmark = [pytest.mark.engine, pytest.mark.cluster, pytest.mark.timeout(3600)]

REPLICAS = 2
"""One of them answers a request, and the page shows which: another one is asked next."""


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """A reader's checkout; what runs of its fleet is ended, however far the reader came."""
    (tmp_path / "checkout").mkdir()
    yield tmp_path / "checkout"
    if (tmp_path / "checkout" / "fleet").exists():
        down = subprocess.run(
            [sys.executable, "-m", "cli", "local", "down", "--discard-state", "-f", tmp_path / "checkout" / "fleet"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert down.returncode == 0, down.stderr


def test_five_minutes_go_as_the_readme_says(place: Path, tmp_path: Path) -> None:
    address = a_checkout(place)
    steps = list(typed(ROOT / "README.md", "Five minutes"))
    assert len(steps) > 10, "the section was found"
    wrong = {}
    with shell(place, tmp_path / "shown") as bash:
        for command, shown in steps:
            for _ in range(REPLICAS if command.startswith("curl ") else 1):
                seen = bash.enter(at(address, command))
                assert seen.code == 0, (command, seen)
                if not shown or not (lines := missing(at(address, shown), seen)):
                    break
            else:
                wrong[command] = (lines, seen.out, seen.err)
    assert wrong == {}
    assert any(ADDRESS in command for command, _ in steps), "a request was sent"
    assert held_resources(place / "fleet") == {}, "nothing is left in the state"
    assert not (place / "fleet" / ".modelplane" / "local").exists(), "nothing is left of the clusters"
