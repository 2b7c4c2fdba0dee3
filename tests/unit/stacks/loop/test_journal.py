"""What the loop keeps of what it did."""

from pathlib import Path

import pytest

from api.names import StackName
from stacks.loop.agenda import Asked, Done
from stacks.loop.journal import FILE, keep, recall

GATEWAY, ROUTING = StackName("f", "gateway"), StackName("f", "routing")
DONE = Done(asked=Asked(digest="d", edited="e", astray=frozenset({"n/one is ready"})), at=100.0)


def test_what_was_done_well_is_recalled_on_another_clock_while_its_state_is_the_same(tmp_path: Path) -> None:
    failed = Done(asked=Asked(digest="x"), at=100.0, failures=1)
    keep(tmp_path, {GATEWAY: DONE, ROUTING: failed}, {"f.gateway": 7, "f.routing": 8}, 1000.0)
    found = recall(tmp_path, {"f.gateway": 7, "f.routing": 8}, 1050.0)
    assert found == {GATEWAY: Done(asked=Asked(digest="d", edited="e"), at=50.0)}
    assert recall(tmp_path, {"f.gateway": 9}, 1050.0) == {}
    assert recall(tmp_path, {}, 1050.0) == {}
    assert recall(tmp_path, None, 1050.0) == {}


def test_nothing_is_kept_where_the_backend_does_not_tell(tmp_path: Path) -> None:
    keep(tmp_path, {GATEWAY: DONE}, None, 0.0)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["", "{", "[]", '{"version": 2, "stacks": {}}', '{"version": 1, "stacks": {"f": {}}}'])
def test_notes_that_cannot_be_used_are_none(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE).write_text(text)
    assert recall(tmp_path, {"f.gateway": 7}, 0.0) == {}
