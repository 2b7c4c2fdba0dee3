"""`doctor` tells what is missing with its fix; `init` writes a fleet that is valid and overwrites nothing."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from unit.cli.running import Run, files_below

from stacks.starter import Source
from tools.doctor import Check

GOOD = Check(subject="Backend", found="file:///state: 0 stacks of this fleet")
BAD = Check(subject="Hub", found="Unreachable: ConnectTimeout", fix="check its address")


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> list[Check]:
    """What is found of the fleet; programs are all there."""
    found: list[Check] = [GOOD]

    def examine(*_: Any) -> Iterator[Check]:
        yield from found

    monkeypatch.setattr("stacks.doctor.examine", examine)
    monkeypatch.setattr("stacks.doctor.check_programs", lambda: iter([Check(subject="pulumi", found="3.1")]))
    monkeypatch.setattr(
        "tools.doctor.examine", lambda: (Check(subject="Private network", found="none", fix="run as root"),)
    )
    return found


def test_all_is_well_or_each_failure_has_its_fix(run: Run, fleet: Path, checks: list[Check]) -> None:
    before = files_below(fleet)
    done = run("doctor", "-f", fleet)
    assert (done.code, done.err) == (0, "")
    assert {line.partition(" ")[0] for line in done.out.splitlines()} == {"ok"}
    assert f"ok      Documents: {fleet}: 7 are valid\n" in done.out
    checks.append(BAD)
    failed = run("doctor", "-f", fleet)
    assert failed.code == 1
    assert failed.out.endswith("FAILED  Hub: Unreachable: ConnectTimeout\n        hint: check its address\n")
    told = json.loads(run("doctor", "-f", fleet, "-o", "json").out)
    assert told[-1] == {
        "subject": "Hub",
        "passed": False,
        "found": "Unreachable: ConnectTimeout",
        "fix": "check its address",
    }
    assert files_below(fleet) == before


def test_what_a_fleet_on_this_machine_needs_is_checked_when_asked_for(
    run: Run, fleet: Path, checks: list[Check]
) -> None:
    assert "Private network" not in run("doctor", "-f", fleet).out
    assert "FAILED  Private network" in run("doctor", "--local", "-f", fleet).out


def test_broken_documents_are_one_failure_among_the_others(run: Run, fleet: Path, checks: list[Check]) -> None:
    (fleet / "mock.yaml").write_text("kind: [")
    done = run("doctor", "-f", fleet)
    assert done.code == 1
    assert "hint: run `modelplane validate`" in done.out
    assert "ok      pulumi: 3.1" in done.out


@pytest.mark.parametrize("source", [str(source) for source in Source])
def test_a_fleet_that_was_begun_is_valid_and_says_what_comes_next(
    source: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HUB_KUBECONFIG", "FIRST_KUBECONFIG"):
        monkeypatch.setenv(name, "apiVersion: v1\nkind: Config\n")
    directory = tmp_path / "new" / "fleet"
    done = run("init", directory, "--name", "mine", "--cluster", source)
    assert (done.code, done.err) == (0, f"{directory}: 6 documents in 4 files, all valid. Next:\n")
    assert done.out.splitlines()[0] == f"export MODELPLANE_FLEET={directory}"
    assert done.out.splitlines()[-1] == "modelplane up"
    assert run("validate", "-f", directory, *([] if source == "local" else ["--strict"])).code == 0
    assert run("plan", "-f", directory).code == 0
    assert "mine.cluster.first" in run("stacks", "-f", directory).out


def test_nothing_is_overwritten(run: Run, fleet: Path) -> None:
    before = files_below(fleet)
    done = run("init", fleet)
    assert (done.code, done.out) == (2, "")
    assert done.err == (
        f"error MP100: {fleet}: has clusters.yaml, fleet.yaml, gateway.yaml already\n"
        "hint: name another directory; nothing is overwritten\n"
    )
    assert files_below(fleet) == before


def test_a_name_that_cannot_be_one_leaves_nothing_behind(run: Run, tmp_path: Path) -> None:
    done = run("init", tmp_path / "new", "--name", "Not_A_Name")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("error MP115: ")
    assert not (tmp_path / "new").exists()
    (tmp_path / "taken").write_text("")
    assert run("init", tmp_path / "taken").err.startswith(f"error MP100: {tmp_path}/taken: cannot be written")


def test_documents_that_lie_there_are_no_reason_to_take_away_what_was_written(run: Run, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("kind: [")
    assert run("init", tmp_path).code == 2
    assert (tmp_path / "fleet.yaml").exists()
