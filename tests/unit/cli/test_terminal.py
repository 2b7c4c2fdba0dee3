"""The command line on a terminal and beside one: colours, what is under way, and words that were meant otherwise."""

import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Mapping

import pytest
from unit.cli.running import ROOT, Run

from api.names import StackName
from cli.progress import LONG_SECONDS, Progress, Reminders
from stacks.under_way import Ongoing

CLUSTER, SERVING = StackName("demo", "cluster", "us"), StackName("demo", "serving", "us")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
SECONDS = 120.0
SHOWN = """
from cli.progress import Progress
from api.names import StackName
from stacks.under_way import Ongoing
stack = StackName("demo", "cluster", "us")
ongoing = Ongoing(stack=stack, action="up", seconds=250.0, resources=("creating Cluster us/cluster",))
with Progress("demo: up", [str(stack)], lambda: [ongoing]) as progress:
    progress.on_note("waiting for 1 replica to become ready")
"""


def on_a_terminal(*arguments: str, env: Mapping[str, str]) -> str:
    """What a command writes to a terminal."""
    leader, follower = pty.openpty()
    with subprocess.Popen(
        [sys.executable, *arguments],
        cwd=ROOT,
        stdin=follower,
        stdout=follower,
        stderr=follower,
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "120", **env},
        close_fds=True,
    ) as process:
        os.close(follower)
        told = b""
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            if not select.select([leader], [], [], 0.1)[0]:
                continue
            try:
                told += os.read(leader, 65536)
            except OSError:  # what a terminal says when nobody has it open any more
                break
        os.close(leader)
        assert process.wait(SECONDS) == 0, told.decode()
    return told.decode().replace("\r\n", "\n")


NO_COLOUR = {"NO_COLOR": "1"}
PLAIN = [
    (("get", "modeldeployments"), NO_COLOUR),
    (("validate",), NO_COLOUR),
    (("plan",), NO_COLOUR),
    (("plan",), {"TERM": "dumb"}),
]


@pytest.mark.parametrize(("command", "env"), PLAIN)
def test_there_are_no_colours_where_none_are_wanted(command: tuple[str, ...], env: Mapping[str, str]) -> None:
    told = on_a_terminal("-m", "cli", *command, env={"MODELPLANE_FLEET": str(ROOT / "examples" / "local"), **env})
    assert told.strip()
    assert COLOUR.findall(told) == []


def test_a_terminal_shows_what_is_under_way_below_what_was_told() -> None:
    told = on_a_terminal("-c", SHOWN, env=NO_COLOUR)
    assert COLOUR.findall(told) == []
    assert "waiting for 1 replica to become ready\n" in told
    assert "demo: up" in told
    assert "demo.cluster.us  up       goes on for 4 min 10 s: creating Cluster us/cluster" in told


def test_a_narrow_terminal_shows_each_in_one_line() -> None:
    told = on_a_terminal("-c", SHOWN, env=NO_COLOUR | {"COLUMNS": "60"})
    lines = [COLOUR.sub("", line).strip() for line in re.split(r"[\r\n]+|\x1b\[[0-9]*[A-Z]", told)]
    assert "demo.cluster.us  up       goes on for 4 min 10 s: creatin…" in lines
    assert not [line for line in lines if line.startswith("Cluster us/cluster")]


def slow(seconds: float, *resources: str) -> Ongoing:
    return Ongoing(stack=CLUSTER, action="up", seconds=seconds, resources=resources)


def test_beside_a_terminal_what_goes_on_for_long_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    told = ""
    deadline = time.monotonic() + SECONDS
    with Progress("demo: up", [str(CLUSTER)], lambda: [slow(LONG_SECONDS + 1, "creating Cluster a", "creating b")]):
        while "\n" not in told and time.monotonic() < deadline:
            told += capsys.readouterr().err
    assert told == "demo.cluster.us  up       goes on for 61.0 s: creating Cluster a and 1 more\n"


def test_it_is_told_once_in_a_while() -> None:
    reminders, other = Reminders(), Ongoing(stack=SERVING, action="up", seconds=3.0, resources=())
    told = [[each.stack for each in reminders.due([slow(seconds), other])] for seconds in range(0, 200, 10)]
    assert [index * 10 for index, found in enumerate(told) if found] == [60, 120, 180]
    assert all(found in ([], [CLUSTER]) for found in told)
    assert reminders.due([]) == []
    assert reminders.due([slow(0.0)]) == [], "another operation on the stack is counted from its own beginning"
    assert [each.seconds for each in reminders.due([slow(61.0)])] == [61.0]


WRONG = {
    "a command": (("stauts",), "'status'"),
    "an option": (("up", "--parralel", "3"), "--parallel"),
    "a kind": (("get", "modeldeploymnt"), "did you mean ModelDeployment?"),
    "a field": (("explain", "Fleet.spec.gatway"), "did you mean"),
    "an object": (("describe", "ModelDeployment/mock-dmo"), "did you mean mock-demo?"),
}


@pytest.mark.parametrize(("arguments", "meant"), WRONG.values(), ids=WRONG)
def test_a_word_that_is_nearly_right_is_answered_with_the_right_one(
    run: Run, arguments: tuple[str, ...], meant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MODELPLANE_FLEET", str(ROOT / "examples" / "local"))
    done = run(*arguments)
    assert done.code == 2
    assert meant in done.err
