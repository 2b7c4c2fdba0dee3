"""Fifty runs of `up`, each killed at a moment of its own: what follows ends where it would have, nothing is left over.

Of five points three are in an edit on its way there or back, which uninstalls or installs a chart as well; one waits
for a Helm install to be under way, and one is from nothing. Victims and moments come from a seed.

What was seen is noted in `.soak/kills.jsonl`, so that a run which was cut short goes on with the next point and the
same seed. The file may be deleted at any time.
"""

import json
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from engine.fleets import ROOT, Scratch
from engine.kills import ANY_VICTIMS, SEED, TRIES, vary, vary_charts
from engine.runs import ends_like, has_begun_creation, installs, killed_up, tell, whole

pytestmark = [pytest.mark.engine, pytest.mark.cluster, pytest.mark.timeout(6 * 3600)]

POINTS = 50
NOTES = ROOT / ".soak" / "kills.jsonl"
LAST_SECOND = 20.0
LAST_SECOND_FROM_NOTHING = 40.0


class Fleet(Scratch):
    """The scratch fleet, with the edit or without it."""

    varied = False

    def flip(self) -> None:
        self.varied = not self.varied
        vary(self, on=self.varied)
        vary_charts(self, on=self.varied)

    def settled(self) -> dict[str, Any]:
        """What an `up` comes to that nobody disturbs."""
        up = self.run("up", "--wait", "3m")
        assert up.code == 0, up.err
        return whole(self)


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    scratch = Fleet(tmp_path_factory.mktemp("many-kills") / "fleet")
    with scratch.clusters_up():
        yield scratch


@pytest.fixture(scope="module")
def undisturbed(fleet: Fleet) -> dict[bool, dict[str, Any]]:
    """What the fleet comes to with the edit and without it, undisturbed."""
    found = {False: fleet.settled()}
    fleet.flip()
    found[True] = fleet.settled()
    fleet.flip()
    assert fleet.settled() == found[False], "the way there and back is none"
    return found


def noted() -> list[dict[str, Any]]:
    return [json.loads(line) for line in NOTES.read_text().splitlines()] if NOTES.exists() else []


def test_up_ends_where_it_would_have_ended_wherever_it_was_killed(
    fleet: Fleet, undisturbed: dict[bool, dict[str, Any]], tmp_path: Path
) -> None:
    done = noted()
    seed = done[0]["seed"] if done else SEED
    tell(f"MODELPLANE_SEED={seed}, {len(done)} of {POINTS} points are noted")
    for number in range(len(done), POINTS):
        point = kill_once(fleet, undisturbed, tmp_path / "runs", number, seed)
        NOTES.parent.mkdir(exist_ok=True)
        with NOTES.open("a") as file:
            file.write(json.dumps(point) + "\n")
    found = noted()
    assert len(found) == POINTS
    assert any(point["inHelm"] for point in found)


def kill_once(
    fleet: Fleet, undisturbed: dict[bool, dict[str, Any]], folder: Path, number: int, seed: int
) -> dict[str, Any]:
    """One point: a killed run and one that is left alone; what it was."""
    moments = random.Random(f"{seed}/{number}")
    victims = moments.choice(ANY_VICTIMS)
    from_nothing, in_helm = number % 5 == 4, number % 5 == 2
    if in_helm:
        victims = tuple(dict.fromkeys((*victims, "engine", "provider")))  # Helm runs in the provider
    last = LAST_SECOND_FROM_NOTHING if from_nothing else LAST_SECOND
    for _ in range(TRIES):
        prepare(fleet, from_nothing=from_nothing, in_helm=in_helm)
        after, begun, patience = moments.uniform(0.0, last), has_begun_creation, 3.0
        if in_helm:
            after, begun, patience = 0.0, for_seconds(installs, moments.uniform(0.0, 2.0)), 60.0
        tell(f"point {number}: {'from nothing, ' if from_nothing else ''}{victims} after {after:.1f} s")
        if killed_up(fleet, folder, victims, after, patience, begun=begun):
            break
        last /= 2
    else:
        raise AssertionError("no run lasted until it could be killed")
    inside = installs(fleet.directory)
    ends_like(fleet, undisturbed[fleet.varied])
    return {"seed": seed, "point": number, "victims": victims, "fromNothing": from_nothing, "inHelm": inside}


def prepare(fleet: Fleet, *, from_nothing: bool, in_helm: bool) -> None:
    """Leave the next run something to do: all of it, the edit's way there or back, or a chart to install."""
    if from_nothing:
        down = fleet.run("destroy", "--yes")
        assert down.code == 0, down.err
        return
    if in_helm and not fleet.varied:
        fleet.flip()
        fleet.settled()
    fleet.flip()


def for_seconds(begun: Callable[[Path], bool], seconds: float) -> Callable[[Path], bool]:
    """Whether something has been so for a while."""
    since: list[float] = []

    def has_been(directory: Path) -> bool:
        if not begun(directory):
            return False
        since.append(time.monotonic())
        return since[-1] - since[0] >= seconds

    return has_been
