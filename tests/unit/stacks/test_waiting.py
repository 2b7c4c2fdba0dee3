"""What a pass waits for before it looks at a replica again."""

import pytest
from states import an_engine_entry, an_entry

from api.terms import Stack
from stacks.waiting import waiting_for_replica


@pytest.mark.parametrize(
    ("stack", "has_picker", "kinds"),
    [
        ("Standard", False, ["Deployment"]),
        ("Standard", True, ["Deployment", "Picker"]),
        ("Dynamo", True, ["Deployment", "Picker"]),
    ],
)
def test_a_replica_is_waited_for_with_its_picker(stack: Stack, has_picker: bool, kinds: list[str]) -> None:
    entry = an_entry(engines=(an_engine_entry(),))
    waiting = waiting_for_replica(entry, stack, has_picker=has_picker)
    assert [workload.partition("/")[0] for workload in waiting.workloads] == kinds
    assert waiting.key == entry.key
    if has_picker:
        assert waiting.workloads[-1].endswith("-epp")
