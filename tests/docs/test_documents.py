"""What documents point at is there, and what they tell a reader to type works."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from docs.texts import DOCUMENTS, IDS, ROOT, blocks, commands, shell_lines
from ruamel.yaml import YAML
from unit.cli.running import COMMANDS

from api import ModelDeployment

README = ROOT / "README.md"
SUFFIXES = (".py", ".md", ".toml", ".yaml", ".lock")


@pytest.mark.parametrize("file", DOCUMENTS, ids=IDS)
def test_links_lead_somewhere(file: Path) -> None:
    targets = re.findall(r"\]\((?!https?:)([^)#]+)[^)]*\)", file.read_text())
    assert [target for target in targets if not (file.parent / target).exists()] == []


@pytest.mark.parametrize("file", DOCUMENTS, ids=IDS)
def test_files_that_are_named_exist(file: Path) -> None:
    named = re.findall(r"`((?:[\w.-]+/)+[\w.-]*)`", file.read_text())
    tops = {path.name for path in ROOT.iterdir() if path.is_dir() and not path.name.startswith(".")}
    ours = {name for name in named if name.partition("/")[0] in tops and "NNNN" not in name}
    assert sorted(name for name in ours if not (ROOT / name).exists()) == []


@pytest.mark.parametrize("file", DOCUMENTS, ids=IDS)
def test_commands_that_are_shown_parse(file: Path) -> None:
    for arguments in commands(file, "modelplane"):
        words = tuple(arguments)
        path = next((path for path in COMMANDS if words[: len(path)] == path), None)
        assert path is not None, f"there is no command `modelplane {' '.join(words)}`"
        plain = [word for word in words[len(path) :] if not word.startswith("#")]
        comment = next((position for position, word in enumerate(words) if word == "#"), len(words))
        COMMANDS[path].make_context("modelplane", list(words[len(path) : comment]) if comment < len(words) else plain)


@pytest.mark.parametrize("file", DOCUMENTS, ids=IDS)
def test_targets_that_are_shown_are_in_the_makefile(file: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for arguments in commands(file, "make"):
        wanted = [word for word in arguments if "=" not in word][:1]
        assert set(wanted) - {"#"} <= targets


def test_the_document_in_the_readme_is_the_examples_own() -> None:
    (shown,) = (YAML(typ="safe").load(block) for block in blocks(README, "yaml"))
    example = YAML(typ="safe").load((ROOT / "examples/local/mock-demo.yaml").read_text())
    for engine in example["spec"]["template"]["spec"]["engines"]:
        for member in engine["members"]:
            del member["template"]["metadata"]
    assert ModelDeployment.parse(shown) == ModelDeployment.parse(example)


def test_the_tour_begins_as_the_readme_says(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns(".modelplane"))
    lines = list(shell_lines(README))
    first = lines.index("export PATH=$PWD/.venv/bin:$PATH")
    last = lines.index("modelplane validate")
    program = "\n".join(['modelplane() { "$PYTHON" -m cli "$@"; }', *lines[first : last + 1]])
    done = subprocess.run(
        ["bash", "-euc", program],
        cwd=tmp_path,
        env={"PYTHON": sys.executable, "PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    told = next(block for block in blocks(README, "console") if block.startswith("$ modelplane validate"))
    assert done.stdout == told.removeprefix("$ modelplane validate\n…\n"), "below the warnings, which are no data"


def test_every_step_can_be_laid_over_the_example(tmp_path: Path) -> None:
    fleet = tmp_path / "fleet"
    shutil.copytree(ROOT / "examples/local", fleet, ignore=shutil.ignore_patterns(".modelplane"))
    for step in sorted((ROOT / "examples/local-steps").iterdir()):
        shutil.copytree(step, fleet, dirs_exist_ok=True)
        done = subprocess.run(
            [sys.executable, "-m", "cli", "validate", "-f", fleet],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith("ok: ")


def test_a_change_is_one_sentence_under_a_name_that_says_its_kind() -> None:
    for file in (ROOT / "changelog.d").iterdir():
        if file.name != "README.md":
            assert re.fullmatch(r"[a-z0-9-]+\.(added|changed|fixed|removed)\.md", file.name), file.name
            assert len(file.read_text().strip().splitlines()) == 1, file.name
