"""Which tests of the engine are for `make soak`: they bring fleets up and down for many minutes."""

import pytest

LONG = {
    "test_charts",
    "test_day_two",
    "test_demo",
    "test_interrupts",
    "test_kills",
    "test_loop",
    "test_lost_documents",
    "test_many_kills",
    "test_moves",
    "test_pages",
    "test_plain",
    "test_pools",
    "test_preview",
    "test_readme",
    "test_shares",
    "test_stops",
    "test_trouble",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent.name == "engine" and item.path.stem in LONG:
            item.add_marker(pytest.mark.soak)
