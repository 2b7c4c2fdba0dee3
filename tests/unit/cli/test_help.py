"""Help: fast, with an example for every command that works as it is written."""

import re
import shlex
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from unit.cli.running import COMMANDS, ROOT, Run

LOADED_LATE = ("api", "celpy", "lightkube", "local", "pulumi", "pulumi_kubernetes", "rich", "ruamel", "stacks")


IDS = [" ".join(path) for path in COMMANDS]


def example_of(command: Any) -> list[str]:
    found = re.search(r"Example: (modelplane .+)", " ".join(command.help.split()))
    assert found, "the help shows no example"
    return shlex.split(found.group(1))[1:]


@pytest.mark.parametrize("path", COMMANDS, ids=IDS)
def test_every_command_shows_an_example_of_itself_that_parses(path: tuple[str, ...]) -> None:
    example = example_of(COMMANDS[path])
    assert tuple(example[: len(path)]) == path
    COMMANDS[path].make_context("modelplane", example[len(path) :])


@pytest.mark.parametrize("path", COMMANDS, ids=IDS)
def test_every_option_says_what_it_does(path: tuple[str, ...]) -> None:
    silent = [parameter.name for parameter in COMMANDS[path].params if not getattr(parameter, "help", None)]
    assert silent == []


@pytest.mark.parametrize("group", [[], ["local"]], ids=["all", "local"])
def test_no_line_of_the_list_is_cut_on_a_narrow_terminal(run: Run, group: list[str]) -> None:
    listed = run(*group, "--help").out.partition("Commands:")[2]
    assert len(listed.splitlines()) > 4
    assert "..." not in listed


def test_the_version_is_an_option_as_elsewhere(run: Run) -> None:
    done = run("--version")
    assert (done.code, done.out) == (0, f"modelplane {version('modelplane')}\n")


ENDS_WITH_0 = (
    "validate",
    "get",
    "describe",
    "init",
    "history",
    "logs",
    "status",
    "destroy",
    "stacks",
    "env",
    "version",
    "explain",
    "plan",
    "schema",
    "rbac",
    "undrain",
    "scale",
    "drift",
    "unlock",
    "local status",
)
RUNS_ALONE = dict.fromkeys(ENDS_WITH_0, 0) | {"capacity": 20, "drain": 20}
"""Examples that need no cluster, with their exit codes. Where a local fleet is up, `tests/engine` runs the commands."""


@pytest.mark.parametrize("name", RUNS_ALONE)
def test_an_example_runs_as_it_is_written(name: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns(".modelplane"))
    monkeypatch.chdir(tmp_path)
    done = run(*example_of(COMMANDS[tuple(name.split())]))
    assert done.code == RUNS_ALONE[name], done.err
    assert done.out or done.err


@pytest.mark.parametrize("arguments", ["--help", "up --help", "local --help"])
def test_help_loads_neither_engine_nor_documents(arguments: str) -> None:
    program = (
        "import sys, cli\n"
        f"code = cli.main({arguments.split()!r})\n"
        f"print(*sorted(set({LOADED_LATE!r}) & {{name.partition('.')[0] for name in sys.modules}}), file=sys.stderr)\n"
        "sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.strip()) == (0, "")
    assert "Usage: modelplane" in done.stdout


def test_help_fits_a_terminal_and_needs_no_colour(run: Run) -> None:
    for path in [(), *COMMANDS]:
        done = run(*path, "--help")
        assert done.code == 0
        assert done.err == ""
        assert max(len(line) for line in done.out.splitlines()) <= 100
        assert "\x1b" not in done.out


def test_what_only_looks_loads_no_part_of_the_kubernetes_sdk() -> None:
    program = (
        "import sys\n"
        "import cli.tables, cli.objects, cli.explain_placement, stacks.engine, stacks.observation, stacks.state\n"
        "print(*(name for name in sys.modules if name.startswith('pulumi_kubernetes.core.v1.')))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


TYPED_WRONG = {
    "up --parallell 2": ("no such option: --parallell (Possible options: --parallel)", "modelplane up --help"),
    "statuss": ("no such command 'statuss'. Did you mean 'status', 'stacks'?", "modelplane --help"),
    "--nope": ("no such option: --nope", "modelplane --help"),
    "status -o csv": ("'csv' is not one of 'table', 'json', 'yaml'", "modelplane status --help"),
    "local upp": ("no such command 'upp'. Did you mean 'up'?", "modelplane local --help"),
    "scale deployment/x": ("missing option '--replicas'", "modelplane scale --help"),
}


@pytest.mark.parametrize("typed", TYPED_WRONG)
def test_what_is_typed_wrong_is_an_error_like_any_other(typed: str, run: Run) -> None:
    what, hint = TYPED_WRONG[typed]
    done = run(*typed.split())
    assert (done.code, done.out) == (2, "")
    error, advice = done.err.splitlines()
    assert error.startswith("error MP100: ")
    assert error.endswith(what)
    assert advice == f"hint: {hint} tells what there is"


def test_a_fleet_below_the_current_directory_is_named_from_there(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(ROOT / "examples" / "local", tmp_path / "fleet", ignore=shutil.ignore_patterns(".modelplane"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MODELPLANE_FLEET", str(tmp_path / "fleet"))
    assert "warning MP123: fleet/fleet.yaml:" in run("validate").err
    assert "warning MP123: fleet/fleet.yaml:" in run("validate", tmp_path / "fleet").err
    monkeypatch.chdir("/")
    assert f"warning MP123: {tmp_path.relative_to('/')}/fleet/fleet.yaml:" in run("validate").err


def test_a_directory_with_several_fleets_below_is_none_by_itself(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("east", "west"):
        shutil.copytree(ROOT / "examples" / "local", tmp_path / name)
    monkeypatch.chdir(tmp_path)
    for command in ("validate", "status", "up"):
        done = run(command)
        assert done.code == 2
        assert done.err.startswith(f"error MP100: {tmp_path}: several fleets are below, and none is named\nhint: "), (
            done.err
        )
        assert "second" not in done.err
    assert "keep one of the two" in run("validate", "-f", tmp_path).err, "the directory was named, so it is meant"
