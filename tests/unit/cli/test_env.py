"""`env`: lines that a shell evaluates to what the driver uses itself."""

import stat
import subprocess
from pathlib import Path

import pytest
from unit.cli.running import Run

from stacks.environment import environment_of

NAMES = ("PULUMI_BACKEND_URL", "PULUMI_CONFIG_PASSPHRASE_FILE", "MODELPLANE_FLEET")


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


def test_the_engine_that_was_built_here_is_put_on_the_path(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cli.env._cached_folders", lambda: ["/a cache/bin", "/b/bin"])
    path, *_ = evaluated(run("env", "-f", tmp_path).out, "PATH")
    assert path.startswith("/a cache/bin:/b/bin:/")


@pytest.mark.parametrize("name", ["absent", "fleet.yaml"])
def test_plain_pulumi_reads_a_directory(name: str, run: Run, tmp_path: Path) -> None:
    (tmp_path / "fleet.yaml").write_text("kind: Fleet\n")
    done = run("env", "-f", tmp_path / name)
    assert (done.code, done.out) == (2, "")
    assert not (tmp_path / ".modelplane").exists()
