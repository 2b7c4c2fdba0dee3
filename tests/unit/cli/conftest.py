"""The command line in this process, on scratch copies of the example."""

import shutil
from pathlib import Path

import pytest
from unit.cli.running import ROOT, Done, Run

import cli


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run one command; nothing of the caller's environment names a fleet or a backend."""
    for name in ("MODELPLANE_FLEET", "PULUMI_BACKEND_URL", "PULUMI_CONFIG_PASSPHRASE", "PULUMI_CONFIG_PASSPHRASE_FILE"):
        monkeypatch.delenv(name, raising=False)

    def run_command(*arguments: str | Path) -> Done:
        capsys.readouterr()
        code = cli.main([str(argument) for argument in arguments])
        seen = capsys.readouterr()
        return Done(code, seen.out, seen.err)

    return run_command


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    """A copy of the example, with a file for each kubeconfig it names."""
    directory = tmp_path / "fleet"
    shutil.copytree(ROOT / "examples" / "local", directory, ignore=shutil.ignore_patterns(".modelplane"))
    for cluster in ("hub", "gpu-us-east", "gpu-eu-west"):
        file = directory / ".modelplane" / "local" / cluster / "kubeconfig"
        file.parent.mkdir(parents=True)
        file.write_text("apiVersion: v1\nkind: Config\n")
    return directory
