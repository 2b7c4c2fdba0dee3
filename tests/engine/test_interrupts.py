"""The long form of runs side by side, one of which has a bug: twenty repetitions."""

import pytest
from engine.fleets import Scratch
from engine.test_stops import broken, repeat
from engine.test_stops import fleet as without_clusters

pytestmark = [pytest.mark.engine, pytest.mark.timeout(1800)]

__all__ = ["broken", "without_clusters"]


def test_side_by_side_twenty_times(without_clusters: Scratch, broken: None) -> None:
    repeat(without_clusters, 20)
