"""One pass at a time: who holds a lock is named with its age, and a dead holder of this machine blocks nobody."""

import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, Any

import pytest

from api.errors import LockHeld
from api.names import StackName
from stacks import lock
from stacks.lock import Owner, age, pass_lock, stack_held, stack_owners
from stacks.processes import look

PROJECT = Path(__file__).parents[3]
HERE = socket.gethostname()
STACK = StackName("demo", "gateway")

HOLD = """
import subprocess, sys
from pathlib import Path
from stacks.lock import pass_lock
with pass_lock(Path(sys.argv[1])):
    child = subprocess.Popen(["cat"], stdin=sys.stdin, stdout=subprocess.DEVNULL) if len(sys.argv) > 2 else None
    print("held", flush=True)
    child.wait() if child else sys.stdin.read()
"""


@contextmanager
def another_run(folder: Path, *arguments: str) -> Iterator["subprocess.Popen[str]"]:
    """Another process that holds the lock until its input ends or it is killed."""
    command = [sys.executable, "-c", HOLD, str(folder), *arguments]
    with subprocess.Popen(command, cwd=PROJECT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert _pipe(process.stdout).readline() == "held\n"
            yield process
        finally:
            _pipe(process.stdin).close()
            process.kill()


def _pipe(pipe: IO[str] | None) -> IO[str]:
    assert pipe is not None
    return pipe


@pytest.fixture(scope="module")
def dead_pid() -> int:
    """An id of a process that was there a moment ago."""
    with subprocess.Popen(["true"]) as process:
        process.wait()
    return process.pid


def the_start(pid: int) -> datetime:
    found = look(pid)
    assert found is not None
    return datetime.fromtimestamp(found.started, UTC)


def left(folder: Path, **facts: Any) -> Path:
    path = folder / "pass.lock"
    path.write_text(json.dumps({"host": HERE, "pid": 1, "started": "2026-08-01T09:00:00Z"} | facts))
    return path


def test_a_lock_that_another_run_holds_names_it(tmp_path: Path) -> None:
    with another_run(tmp_path) as process:
        with pytest.raises(LockHeld) as caught, pass_lock(tmp_path):
            pass
        since = the_start(process.pid).strftime("%Y-%m-%dT%H:%M")
        assert f"pid {process.pid} on {HERE}, since {since}" in caught.value.message
        assert caught.value.message.endswith(" s)")
        assert f"kill -INT {process.pid}" in caught.value.hint
        assert caught.value.where == str(tmp_path / "pass.lock")
        assert caught.value.exit_code == 24


def test_the_lock_of_a_run_that_was_killed_is_taken_over_and_that_is_said(tmp_path: Path) -> None:
    with another_run(tmp_path) as process:
        process.kill()
        process.wait()
        said: list[str] = []
        with pass_lock(tmp_path, said.append):
            assert json.loads((tmp_path / "pass.lock").read_text())["pid"] == os.getpid()
    [line] = said
    assert line.startswith(f"took over the lock of a run that was killed: pid {process.pid} on {HERE}, since ")


def test_programs_that_outlive_a_killed_run_do_not_hold_its_lock(tmp_path: Path) -> None:
    """The engine and its providers are children of a run."""
    with another_run(tmp_path, "with a child") as process:
        process.kill()
        process.wait()
        with pass_lock(tmp_path):
            pass


def test_the_lock_says_who_holds_it_while_it_is_held_and_is_gone_afterwards(tmp_path: Path) -> None:
    with pass_lock(tmp_path):
        owner = json.loads((tmp_path / "pass.lock").read_text())
        assert (owner["host"], owner["pid"]) == (HERE, os.getpid())
        started = datetime.fromisoformat(owner["started"])
        assert abs(started - the_start(os.getpid())) < timedelta(seconds=2)
    assert list(tmp_path.iterdir()) == []


def test_a_run_keeps_others_out_and_lets_them_in_afterwards(tmp_path: Path) -> None:
    with pass_lock(tmp_path), pytest.raises(LockHeld), pass_lock(tmp_path):
        pass
    with pass_lock(tmp_path):
        pass


def test_an_error_inside_frees_the_lock(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), pass_lock(tmp_path):
        raise RuntimeError
    with pass_lock(tmp_path):
        pass


def test_a_lock_whose_owner_left_no_name_is_held_all_the_same(tmp_path: Path) -> None:
    with another_run(tmp_path):
        (tmp_path / "pass.lock").write_text("")
        with pytest.raises(LockHeld, match="it has not said which"), pass_lock(tmp_path):
            pass


def test_two_fleets_do_not_keep_each_other_out(tmp_path: Path) -> None:
    with pass_lock(tmp_path / "a"), pass_lock(tmp_path / "b"):
        assert (tmp_path / "b/pass.lock").exists()


def test_a_lock_that_another_machine_left_is_never_taken(tmp_path: Path, dead_pid: int) -> None:
    path = left(tmp_path, host="elsewhere", pid=dead_pid)
    before = path.read_text()
    with pytest.raises(LockHeld) as caught, pass_lock(tmp_path):
        pass
    assert f"pid {dead_pid} on elsewhere, since 2026-08-01T09:00:00Z" in caught.value.message
    assert "modelplane unlock" in caught.value.hint
    assert path.read_text() == before


def test_a_lock_that_names_a_living_process_is_not_taken(tmp_path: Path) -> None:
    """On a file system whose locks do not work, the name has to be enough."""
    left(tmp_path, pid=os.getpid(), started=the_start(os.getpid()).isoformat())
    with pytest.raises(LockHeld), pass_lock(tmp_path):
        pass


def test_a_lock_whose_process_id_was_given_to_another_process_is_taken(tmp_path: Path) -> None:
    earlier = the_start(os.getpid()) - timedelta(minutes=5)
    left(tmp_path, pid=os.getpid(), started=earlier.isoformat())
    with pass_lock(tmp_path):
        pass


def owner(**facts: Any) -> Owner:
    plain: dict[str, Any] = {"host": HERE, "pid": 1, "since": datetime.now(UTC)}
    return Owner(**(plain | facts))


def test_only_a_dead_process_of_this_machine_and_user_is_dead(dead_pid: int) -> None:
    assert owner(pid=dead_pid).is_dead
    assert not owner(pid=dead_pid, host="elsewhere").is_dead
    assert not owner(pid=dead_pid, user="somebody-else").is_dead
    assert not owner(pid=os.getpid()).is_dead


def test_an_exit_status_that_nobody_took_is_no_life() -> None:
    with subprocess.Popen(["true"]) as process:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert owner(pid=process.pid).is_dead


def test_an_engine_is_taken_for_the_owner_even_when_the_clock_was_set(monkeypatch: pytest.MonkeyPatch) -> None:
    late = owner(pid=os.getpid(), since=the_start(os.getpid()) - timedelta(hours=1))
    assert late.is_dead
    monkeypatch.setattr(lock, "ENGINE", look(os.getpid()).name)  # type: ignore[union-attr]  # this process is there
    assert not late.is_dead


def stack_lock(folder: Path, **facts: Any) -> None:
    path = folder / ".pulumi" / "locks" / "organization" / "modelplane" / str(STACK)
    path.mkdir(parents=True, exist_ok=True)
    plain = {"pid": 812, "username": "ops", "hostname": HERE, "timestamp": "2026-08-01T09:00:00.123456789+02:00"}
    (path / f"{len(list(path.iterdir()))}.json").write_text(json.dumps(plain | facts))
    (path / "0.json.attrs").write_text("{}")


def test_who_holds_a_stack_is_read_from_its_backend(tmp_path: Path) -> None:
    folder = tmp_path / "a folder # 1"
    backend = f"file://{tmp_path}/a%20folder%20%23%201"
    assert stack_owners(backend, STACK) == []
    stack_lock(folder)
    since = datetime(2026, 8, 1, 7, 0, 0, 123456, UTC)
    assert stack_owners(backend, STACK) == [Owner(host=HERE, pid=812, since=since, user="ops")]
    assert stack_owners(backend, StackName("demo", "routing")) == []


def test_a_lock_that_cannot_be_read_has_no_owner_to_be_told(tmp_path: Path) -> None:
    stack_lock(tmp_path)
    stack_lock(tmp_path, pid="many")
    assert stack_owners(f"file://{tmp_path}", STACK) is None
    assert stack_owners("s3://bucket", STACK) is None


HELD = {
    "it lives": (owner(pid=os.getpid()), f"pid {os.getpid()} on {HERE}", "wait for it to end"),
    "it is of another machine": (owner(host="elsewhere"), "pid 1 on elsewhere", "pulumi cancel --stack demo.gateway"),
    "it is of another user": (owner(user="ops"), f"pid 1 of ops on {HERE}", "pulumi cancel --stack demo.gateway"),
}


@pytest.mark.parametrize(("holder", "named", "hint"), HELD.values(), ids=HELD)
def test_a_stack_that_is_held_says_by_whom_for_how_long_and_what_to_do(holder: Owner, named: str, hint: str) -> None:
    error = stack_held(STACK, [holder], "")
    assert error.exit_code == 24
    assert error.where == "stack demo.gateway"
    assert f"locked by {named}, since " in error.message
    assert re.search(r" \(?(\d+ (s|min|h) ?)+\)", error.message), "its age is told"
    assert hint in error.hint


def test_where_only_the_engine_knows_it_has_the_word() -> None:
    error = stack_held(STACK, None, "created by ops@elsewhere (pid 812)")
    assert (error.message, error.exit_code) == ("created by ops@elsewhere (pid 812)", 24)
    assert "pulumi cancel --stack demo.gateway" in error.hint


AGES = {"no time": (-3, "0 s"), "seconds": (59.9, "59 s"), "minutes": (3599, "59 min"), "hours": (7200, "2 h")}


@pytest.mark.parametrize(("seconds", "words"), [*AGES.values(), (200_000, "2 d")], ids=[*AGES, "days"])
def test_ages_in_words(seconds: float, words: str) -> None:
    assert age(seconds) == words
