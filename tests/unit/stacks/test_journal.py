"""What operations told is kept beside the fleet, a few of each stack, and never stands in an operation's way."""

import stat
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from unit.stacks.test_engine_events import URN, a_message, a_step

from api.errors import ModelplaneError
from api.names import StackName
from stacks.events import Watch
from stacks.journal import MOST_ENTRIES, MOST_LINES, Entry, entry_of, journaled, keep, read, stacks_kept
from stacks.operation import Operation

STACK = StackName("prod", "routing")
BEGAN = datetime(2026, 3, 4, 12, 0, 0, tzinfo=UTC)


def an_entry(number: int = 0, stack: str = "prod.routing") -> Entry:
    return Entry(stack=stack, action="up", at="2026-03-04T12:00:00Z", seconds=float(number), changed=number)


def test_what_is_told_has_changes_failures_and_messages_of_each_severity_but_debug() -> None:
    watch = Watch(None)
    for event in (
        a_step("create"),
        a_step("same", name="-a"),
        a_message("pulled\nthe chart", "info"),
        a_message("look here", "warning"),
        a_message("wire bytes", "debug"),
        a_message("no room", urn=URN),
    ):
        watch(event)
    assert watch.told == [
        "create   Service ml-team/a/service",
        "info     pulled",
        "the chart",
        "warning  look here",
        "error    ml-team/a/service: no room",
    ]


def test_an_entry_says_what_came_of_it_and_keeps_its_last_lines() -> None:
    failed = Operation(stack=STACK, action="up", seconds=1.26, error=ModelplaneError("no room", code="MP340"))
    entry = entry_of(failed, [str(number) for number in range(MOST_LINES + 5)], BEGAN)
    assert (entry.at, entry.seconds, entry.error) == ("2026-03-04T12:00:00Z", 1.3, "MP340: no room")
    assert (len(entry.lines), entry.lines[-1]) == (MOST_LINES, str(MOST_LINES + 4))


def test_the_last_operations_of_each_stack_are_kept_for_their_owner_alone(tmp_path: Path) -> None:
    for number in range(MOST_ENTRIES + 3):
        keep(tmp_path, an_entry(number))
    keep(tmp_path, an_entry(7, "prod.gateway"))
    assert [entry.changed for entry in read(tmp_path, "prod.routing")] == list(range(3, MOST_ENTRIES + 3))
    assert stacks_kept(tmp_path) == ["prod.gateway", "prod.routing"]
    assert [stat.S_IMODE(file.stat().st_mode) for file in (tmp_path / "logs").iterdir()] == [0o600, 0o600]


def test_what_cannot_be_read_is_nothing_and_what_cannot_be_written_is_left(tmp_path: Path) -> None:
    assert read(tmp_path, "prod.routing") == []
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "prod.routing.jsonl").write_text('{"stack": "of another shape"}\nno JSON\n')
    assert read(tmp_path, "prod.routing") == []
    (tmp_path / "taken").write_text("")
    keep(tmp_path / "taken", an_entry())
    assert (tmp_path / "taken").read_text() == ""


class AnEngine:
    """An engine as far as keeping goes: one operation that hears one message."""

    def __init__(self, folder: Path, *, begun: bool = True) -> None:
        self.environment = SimpleNamespace(folder=folder)
        self._begun = begun

    @journaled
    def perform(
        self, stack: StackName, action: str, run: Callable[[Watch, bool], None], caught: list[Any]
    ) -> Operation:
        if not self._begun:
            return Operation(stack=stack, action=action, begun=False)
        run(Watch(None), False)
        return Operation(stack=stack, action=action)


def hear(watch: Watch, settled: bool) -> None:
    watch(a_message("by the way", "info"))


@pytest.mark.parametrize(("action", "kept"), {"up": 1, "destroy": 1, "preview": 0, "look": 0}.items())
def test_operations_that_change_something_are_kept_and_looks_are_not(action: str, kept: int, tmp_path: Path) -> None:
    engine: Any = AnEngine(tmp_path)
    operation = engine.perform(STACK, action, hear, [])
    assert operation == Operation(stack=STACK, action=action)
    assert [entry.lines for entry in read(tmp_path, str(STACK))] == [("info     by the way",)] * kept


def test_an_operation_that_was_not_begun_is_not_kept(tmp_path: Path) -> None:
    engine: Any = AnEngine(tmp_path, begun=False)
    engine.perform(STACK, "up", hear, [])
    assert read(tmp_path, str(STACK)) == []
