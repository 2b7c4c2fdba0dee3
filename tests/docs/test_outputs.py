"""Pages that show what commands print show it to the letter."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from docs.texts import ROOT, typed

from scheduler.what_if import FORMS

PLACEMENT = ROOT / "docs" / "placement.md"
FILES = (PLACEMENT, ROOT / "docs" / "guides" / "first-model.md")


def told(file: Path) -> Iterator[tuple[str, str]]:
    """Every command below which something is shown, with that."""
    return ((command, output) for command, output in typed(file) if output.strip())


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the examples, where one command may leave a file for the next."""
    folder = tmp_path_factory.mktemp("place")
    shutil.copytree(ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns(".modelplane"))
    return folder


@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_commands_print_what_is_shown(file: Path, place: Path) -> None:
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("PULUMI_", "MODELPLANE_"))}
    for command, output in told(file):
        done = subprocess.run(
            ["bash", "-c", f'modelplane() {{ "{sys.executable}" -m cli "$@"; }}\n{command}'],
            cwd=place,
            env=variables | {"PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.stdout.rstrip("\n") == output.rstrip("\n"), f"{command}\n{done.stderr}"


def test_nothing_but_the_file_that_was_asked_for_is_written(place: Path) -> None:
    assert not list(place.rglob(".modelplane"))
    assert sorted(path.name for path in place.iterdir()) == ["examples", "observed.json"]


def test_every_edit_is_told() -> None:
    verbs = {form: " ".join(word for word in form.split() if word.islower()) for form in FORMS}
    text = PLACEMENT.read_text()
    assert [form for form, verb in verbs.items() if f"`{verb} " not in text] == []
