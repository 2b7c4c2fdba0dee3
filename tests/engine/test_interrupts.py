"""The long form: five kills in five lives of the example, and twenty repetitions of runs side by side.

Kills come at moments drawn from a seed, which is printed; MODELPLANE_SEED sets it.
"""

import random
from pathlib import Path
from typing import Any

import pytest
from engine.fleets import Scratch
from engine.runs import ends_like, killed_up, tell
from engine.test_kills import SEED, fleet, undisturbed
from engine.test_stops import broken, repeat
from engine.test_stops import fleet as without_clusters

pytestmark = [pytest.mark.engine, pytest.mark.cluster, pytest.mark.timeout(1800)]

__all__ = ["broken", "fleet", "undisturbed", "without_clusters"]

VICTIMS = [("driver",), ("engine",), ("provider",), ("driver", "engine"), ("driver", "engine", "provider")]
LAST_SECOND = 25.0


def test_up_ends_where_it_would_have_ended_wherever_it_was_killed(
    fleet: Scratch, undisturbed: dict[str, Any], tmp_path: Path
) -> None:
    tell(f"MODELPLANE_SEED={SEED}")
    moments = random.Random(SEED)
    for victims in moments.sample(VICTIMS, len(VICTIMS)):
        killed_up(fleet, tmp_path / "runs", victims, moments.uniform(0.0, LAST_SECOND))
        ends_like(fleet, undisturbed)
        assert fleet.run("destroy", "--yes").code == 0


def test_side_by_side_twenty_times(without_clusters: Scratch, broken: None) -> None:
    repeat(without_clusters, 20)
