"""Local fleets for tests: brought up in a scratch folder, and gone afterwards whatever happens."""

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from cluster.local.running import Eventually, Running, free_port


@pytest.fixture(scope="session")
def east(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A hub and one cluster `east` of two nodes, up for all tests that leave it whole."""
    with _scratch(tmp_path_factory.mktemp("the east ü")) as running:
        running.write(east=2)
        running.up()
        yield running


@pytest.fixture
def scratch(tmp_path: Path) -> Iterator[Running]:
    """A hub of its own that is not up yet, for tests that break things."""
    with _scratch(tmp_path) as running:
        running.write()
        yield running


@pytest.fixture(scope="session")
def eventually() -> Eventually:
    """Wait until a check gives something true, and return that; what it says at the deadline fails the test."""

    def wait(check: Callable[[], object], seconds: float = 60) -> Any:
        deadline = time.monotonic() + seconds
        while True:
            problem: object = "nothing true"
            try:
                if result := check():
                    return result
            except AssertionError as error:
                problem = error
            assert time.monotonic() < deadline, f"not within {seconds} s: {problem}"
            time.sleep(0.1)

    return wait


@contextmanager
def _scratch(directory: Path) -> Iterator[Running]:
    running = Running(directory, free_port())
    try:
        yield running
    finally:
        running.down()
        shutil.rmtree(directory)
