"""What comes before an operation: a dead engine's lock is taken over, what is open is settled; and nothing twice."""

import json
import os
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from exported import a_state, an_entry, live
from pulumi import automation
from pulumi.automation import errors as engine_errors

from api.errors import LockHeld
from api.names import StackName
from stacks import recovery
from stacks.recovery import Recovery, said

STACK = StackName("demo", "workloads", "us")
LOCKED = """error: the stack is currently locked by 1 lock(s). Either wait for the other process(es) to end.
  file:///state: created by ops@elsewhere (pid 812) at 2026-08-01T09:00:00Z"""


def locked() -> engine_errors.CommandError:
    return engine_errors.create_command_error(automation.CommandResult("", LOCKED, 255))


@dataclass
class Cli:
    """A backend with one stack, as the CLI's commands see it."""

    folder: Path
    state: dict[str, Any] = field(default_factory=a_state)
    calls: list[str] = field(default_factory=list)

    @property
    def locks(self) -> Path:
        return self.folder / ".pulumi" / "locks" / "organization" / "modelplane" / str(STACK)

    def lock(self, pid: int, host: str = "", since: str = "2026-08-01T09:00:00Z") -> None:
        self.locks.mkdir(parents=True)
        facts = {"pid": pid, "hostname": host or socket.gethostname(), "timestamp": since}
        (self.locks / "lock.json").write_text(json.dumps(facts))

    def run(self, *arguments: str) -> str | engine_errors.CommandError:
        plain = [word for word in arguments if word not in {"--yes", "--stack", "--file", str(STACK)}]
        self.calls.append(" ".join(word for word in plain if not word.startswith("/")))
        if plain == ["cancel"]:
            (self.locks / "lock.json").unlink()
        if plain[:2] == ["stack", "import"]:
            if self.is_locked:
                return locked()
            self.state = json.loads(Path(plain[2]).read_text())
        return json.dumps(self.state)

    @property
    def is_locked(self) -> bool:
        return (self.locks / "lock.json").exists()


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path)


@dataclass
class Operations:
    """What was run, and whether it was to refresh."""

    cli: Cli
    refreshed: list[bool] = field(default_factory=list)
    failing: Exception | None = None

    def __call__(self, refresh: bool) -> None:
        if self.cli.is_locked:
            raise locked()
        self.refreshed.append(refresh)
        if self.failing:
            raise self.failing


@pytest.fixture
def operation(cli: Cli) -> Operations:
    return Operations(cli)


Make = Callable[[], tuple[Recovery, list[str]]]


@pytest.fixture
def made(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Make:
    monkeypatch.setattr(recovery, "look_up", lambda *_: live())

    def make() -> tuple[Recovery, list[str]]:
        told: list[str] = []
        return Recovery(f"file://{cli.folder}", cli.folder, cli.run, told.append), told

    return make


def nothing(_: StackName) -> None:
    """Every stack is there."""


def test_a_stack_that_was_seen_clean_is_not_asked_for_again(cli: Cli, made: Make, operation: Operations) -> None:
    recovered, told = made()
    recovered.saw(STACK, cli.state)
    recovered.perform(STACK, nothing, operation)
    recovered.perform(STACK, nothing, operation)
    assert (cli.calls, operation.refreshed, told) == ([], [False, False], [])


def test_a_stack_that_nobody_has_seen_is_looked_at_once(cli: Cli, made: Make, operation: Operations) -> None:
    recovered, _ = made()
    recovered.perform(STACK, nothing, operation)
    recovered.perform(STACK, nothing, operation)
    assert (cli.calls, operation.refreshed) == (["stack export"], [False, False])


def test_after_a_failure_it_is_looked_at_again(cli: Cli, made: Make, operation: Operations) -> None:
    recovered, _ = made()
    recovered.saw(STACK, None)
    operation.failing = ZeroDivisionError()
    with pytest.raises(ZeroDivisionError):
        recovered.perform(STACK, nothing, operation)
    operation.failing = None
    recovered.perform(STACK, nothing, operation)
    assert cli.calls == ["stack export"]


def test_what_is_open_is_settled_said_and_refreshed(cli: Cli, made: Make, operation: Operations) -> None:
    cli.state = a_state(("creating", an_entry()))
    recovered, told = made()
    recovered.saw(STACK, cli.state)
    recovered.perform(STACK, nothing, operation)
    recovered.perform(STACK, nothing, operation)
    assert cli.calls == ["stack export", "stack export --show-secrets", "stack import"]
    assert operation.refreshed == [True, False]
    assert told == [
        "demo.workloads.us: Service ml-team/qwen/service: interrupted while creating, found and kept",
    ]
    assert cli.state["deployment"]["resources"][-1]["id"] == "ml-team/qwen"
    assert list(cli.folder.iterdir()) == []


def test_the_lock_of_a_dead_engine_is_taken_over_and_that_is_said(
    cli: Cli, made: Make, operation: Operations, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stacks.lock.look", lambda _: None)
    cli.lock(pid=812)
    recovered, told = made()
    recovered.saw(STACK, cli.state)
    recovered.perform(STACK, nothing, operation)
    assert cli.calls == ["cancel", "stack export"], "what it left open is looked for"
    assert operation.refreshed == [False]
    [line] = told
    assert line.startswith(f"demo.workloads.us: took over the lock of an engine that was killed: pid 812 on {HERE}, ")


HERE = socket.gethostname()


def test_both_at_once(cli: Cli, made: Make, operation: Operations, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stacks.lock.look", lambda _: None)
    cli.lock(pid=812)
    cli.state = a_state(("creating", an_entry()))
    recovered, told = made()
    recovered.perform(STACK, nothing, operation)
    assert operation.refreshed == [True]
    assert len(told) == 2


def test_a_lock_of_another_machine_stops_the_operation(cli: Cli, made: Make, operation: Operations) -> None:
    cli.lock(pid=812, host="elsewhere")
    recovered, told = made()
    with pytest.raises(LockHeld, match="pid 812 on elsewhere, since 2026-08-01T09:00:00Z"):
        recovered.perform(STACK, nothing, operation)
    assert cli.is_locked
    assert (operation.refreshed, told) == ([], [])
    assert "cancel" not in cli.calls


def test_what_a_living_engine_has_begun_is_not_settled(cli: Cli, made: Make, operation: Operations) -> None:
    cli.lock(pid=os.getpid(), since=datetime.now(UTC).isoformat())
    cli.state = a_state(("creating", an_entry()))
    recovered, _ = made()
    before = json.dumps(cli.state)
    with pytest.raises(LockHeld):
        recovered.perform(STACK, nothing, operation)
    assert json.dumps(cli.state) == before


def test_a_lock_whose_owner_ends_meanwhile_is_tried_again(cli: Cli, made: Make) -> None:
    recovered, told = made()
    attempts: list[bool] = []

    def once(refresh: bool) -> None:
        attempts.append(refresh)
        if len(attempts) == 1:
            raise locked()

    recovered.perform(STACK, nothing, once)
    assert (len(attempts), told) == (2, [])
    assert "cancel" not in cli.calls


def test_a_creation_that_was_given_up_outlives_the_run(cli: Cli, made: Make, operation: Operations) -> None:
    recovered, _ = made()
    recovered.gave_up(STACK, [])
    assert list(cli.folder.iterdir()) == []
    recovered.gave_up(STACK, [an_entry()])
    later, told = made()
    later.saw(STACK, cli.state)
    later.perform(STACK, nothing, operation)
    assert operation.refreshed == [True]
    assert len(told) == 1
    assert list(cli.folder.iterdir()) == []
    later.perform(STACK, nothing, operation)
    assert operation.refreshed == [True, False]


def test_a_note_that_was_not_written_whole_is_none(cli: Cli, made: Make, operation: Operations) -> None:
    (cli.folder / f"{STACK}.given-up.json").write_text('[{"urn": "urn:pu')
    recovered, _ = made()
    recovered.perform(STACK, nothing, operation)
    assert operation.refreshed == [False]


def test_what_the_engine_says_of_a_lock_is_kept_with_its_owners() -> None:
    assert said(locked()).splitlines() == [
        "the stack is currently locked by 1 lock(s). Either wait for the other process(es) to end.",
        "file:///state: created by ops@elsewhere (pid 812) at 2026-08-01T09:00:00Z",
    ]
    assert said(ValueError("nothing to go by")) == "locked by another run"
