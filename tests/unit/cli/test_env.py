"""`env`: lines that a shell evaluates to what the driver uses itself."""

import importlib
import stat
import subprocess
from pathlib import Path

import pytest
from unit.cli.running import Run

from stacks.environment import environment_of
from tools.locate import Found, Origin, ToolMissing

NAMES = ("PULUMI_BACKEND_URL", "PULUMI_CONFIG_PASSPHRASE_FILE", "MODELPLANE_FLEET", "PULUMI_OPTION_CWD")


def evaluated(lines: str, *names: str) -> list[str]:
    """What a shell makes of the lines."""
    program = f"{lines}\nprintf '%s\\n' " + " ".join(f'"${name}"' for name in names)
    return subprocess.run(["bash", "-euc", program], capture_output=True, text=True, check=True).stdout.splitlines()


@pytest.mark.parametrize("name", ["plain", "with a blank", "it's", 'a "quote"', "$HOME", "`id`", "50 % of #1"])
def test_a_shell_gets_what_the_driver_uses(name: str, run: Run, tmp_path: Path) -> None:
    directory = tmp_path / name
    directory.mkdir()
    done = run("env", "-f", directory)
    assert done.code == 0, done.err
    variables = environment_of(directory).variables
    assert evaluated(done.out, *NAMES) == [variables[name] for name in NAMES]


def test_the_passphrase_is_made_for_its_owner_and_never_shown(run: Run, tmp_path: Path) -> None:
    done = run("env", "-f", tmp_path)
    passphrase = tmp_path / ".modelplane" / "passphrase"
    assert stat.S_IMODE(passphrase.stat().st_mode) == 0o600
    assert passphrase.read_text().strip() not in done.out
    assert run("env", "-f", tmp_path).out == done.out


def test_a_backend_and_a_passphrase_that_are_set_stay(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PULUMI_BACKEND_URL", "s3://states")
    monkeypatch.setenv("PULUMI_CONFIG_PASSPHRASE", "hush")
    done = run("env", "-f", tmp_path)
    assert "export PULUMI_BACKEND_URL=s3://states\n" in done.out
    assert "hush" not in done.out
    assert "PASSPHRASE" not in done.out


def found_in(monkeypatch: pytest.MonkeyPatch, **folders: str) -> None:
    """Where the programs that plain Pulumi needs are; one that is not named is not there."""

    def look_up(name: str) -> Found:
        folder = folders.get(name.rpartition("-")[2])
        if folder is None:
            raise ToolMissing(name, f"{name} is not there", "run `make tools`")
        origin = Origin.CACHE if "cache" in folder else Origin.PATH
        return Found(name=name, path=Path(folder, name), version="1.0.0", origin=origin)

    for module in ("tools.locate", "stacks.project"):
        monkeypatch.setattr(importlib.import_module(module), "look_up", look_up)


def test_what_was_built_is_put_on_the_path_and_nothing_is_fetched(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found_in(monkeypatch, pulumi="/a cache/bin", python="/a cache/bin", kubernetes="/cache/b/bin")
    done = run("env", "-f", tmp_path)
    path, fetches = evaluated(done.out, "PATH", "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION")
    assert path.startswith("/a cache/bin:/cache/b/bin:/")
    assert fetches == "true"
    assert done.err == ""


def test_what_is_on_the_path_is_not_put_there_again(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found_in(monkeypatch, pulumi="/a cache/bin", python="/a cache/bin", kubernetes="/cache/b/bin")
    monkeypatch.setenv("PATH", "/a cache/bin:/usr/bin:/bin:/cache/b/bin")
    assert "PATH" not in run("env", "-f", tmp_path).out


def test_an_engine_of_the_machine_is_left_to_find_and_fetch_what_it_needs(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found_in(monkeypatch, pulumi="/usr/bin", python="/usr/bin", kubernetes="/a home/.pulumi/plugins/x")
    out = run("env", "-f", tmp_path).out
    assert "PATH" not in out
    assert "ACQUISITION" not in out


def test_what_is_missing_is_told(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found_in(monkeypatch, kubernetes="/cache/b/bin")
    done = run("env", "-f", tmp_path)
    assert done.code == 0
    assert done.err == (
        "warning: pulumi is not there\nhint: run `make tools`\n"
        "warning: pulumi-language-python is not there\nhint: run `make tools`\n"
    )


def test_a_second_fleet_gets_nothing_of_the_first(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`eval "$(modelplane env -f A)"`, then the same with B."""
    first, second = tmp_path / "a", tmp_path / "b"
    for directory in (first, second):
        directory.mkdir()
    alone = evaluated(run("env", "-f", second).out, *NAMES)
    for name, value in zip(NAMES, evaluated(run("env", "-f", first).out, *NAMES), strict=True):
        monkeypatch.setenv(name, value)
    assert evaluated(run("env", "-f", second).out, *NAMES) == alone


@pytest.mark.parametrize("name", ["absent", "fleet.yaml"])
def test_plain_pulumi_reads_a_directory(name: str, run: Run, tmp_path: Path) -> None:
    (tmp_path / "fleet.yaml").write_text("kind: Fleet\n")
    done = run("env", "-f", tmp_path / name)
    assert (done.code, done.out) == (2, "")
    assert not (tmp_path / ".modelplane").exists()


def test_plain_pulumi_skips_documents_of_other_systems_too(run: Run, tmp_path: Path) -> None:
    assert "MODELPLANE_IGNORE_UNKNOWN" not in run("env", "-f", tmp_path).out
    lines = run("env", "-f", tmp_path, "--ignore-unknown").out
    assert evaluated(lines, "MODELPLANE_IGNORE_UNKNOWN") == ["true"]
