"""One pass at a time: who holds the lock is named, and a holder that dies blocks nobody."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest

from api.errors import LockHeld
from stacks.lock import pass_lock

PROJECT = Path(__file__).parents[3]

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


def test_a_lock_that_another_run_holds_names_it(tmp_path: Path) -> None:
    with another_run(tmp_path) as process:
        with pytest.raises(LockHeld) as caught, pass_lock(tmp_path):
            pass
        assert f"pid {process.pid} on " in str(caught.value)
        assert str(tmp_path / "pass.lock") in str(caught.value)
        assert caught.value.exit_code == 24


def test_the_lock_of_a_run_that_was_killed_is_free(tmp_path: Path) -> None:
    with another_run(tmp_path) as process:
        process.kill()
        process.wait()
        with pass_lock(tmp_path):
            pass


def test_programs_that_outlive_a_killed_run_do_not_hold_its_lock(tmp_path: Path) -> None:
    """The engine and its providers are children of a run."""
    with another_run(tmp_path, "with a child") as process:
        process.kill()
        process.wait()
        with pass_lock(tmp_path):
            pass


def test_the_lock_says_who_holds_it_while_it_is_held(tmp_path: Path) -> None:
    with another_run(tmp_path) as process:
        owner = json.loads((tmp_path / "pass.lock").read_text())
        assert owner["pid"] == process.pid
        assert set(owner) == {"host", "pid", "started"}


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
        with pytest.raises(LockHeld, match="its owner is not known"), pass_lock(tmp_path):
            pass


def test_two_fleets_do_not_keep_each_other_out(tmp_path: Path) -> None:
    with pass_lock(tmp_path / "a"), pass_lock(tmp_path / "b"):
        assert (tmp_path / "b/pass.lock").exists()
