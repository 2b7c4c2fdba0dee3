"""Locks of a fleet: who holds them, and which may be broken."""

import json
import os
import shutil
import socket
from datetime import UTC, datetime
from pathlib import Path

import pytest
from unit.cli.running import ROOT, Run


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    folder = tmp_path / "fleet"
    shutil.copytree(ROOT / "examples" / "local", folder, ignore=shutil.ignore_patterns(".modelplane"))
    (folder / ".modelplane").mkdir()
    return folder


def lock(fleet: Path, host: str, pid: int) -> Path:
    file = fleet / ".modelplane" / "pass.lock"
    file.write_text(json.dumps({"host": host, "pid": pid, "started": "2026-08-01T09:00:00Z"}))
    return file


def test_where_nothing_is_locked_that_is_said(fleet: Path, run: Run) -> None:
    done = run("unlock", "-f", str(fleet), "--yes")
    assert (done.code, done.out) == (0, "")
    assert "nothing is locked" in done.err


def test_a_lock_of_another_machine_is_shown_with_owner_host_and_age_and_broken_when_confirmed(
    fleet: Path, run: Run
) -> None:
    file = lock(fleet, "a-host", 812)
    asked = run("unlock", "-f", str(fleet))
    assert asked.code == 2
    assert "pid 812 on a-host, since 2026-08-01T09:00:00Z (" in asked.out
    assert file.exists(), "nothing is broken without a word"
    done = run("unlock", "-f", str(fleet), "--yes", "-o", "json")
    assert done.code == 0, done.err
    [told] = json.loads(done.out)["locks"]
    assert (told["lock"], told["state"]) == ("pass", "of another machine or user")
    assert not file.exists()


def test_a_lock_whose_process_lives_is_not_broken(fleet: Path, run: Run) -> None:
    file = fleet / ".modelplane" / "pass.lock"
    started = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    file.write_text(json.dumps({"host": socket.gethostname(), "pid": os.getpid(), "started": started}))
    done = run("unlock", "-f", str(fleet), "--yes")
    assert done.code == 24
    assert "running" in done.out
    assert file.exists()
