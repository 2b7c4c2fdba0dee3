"""Where and what runs are killed in, drawn from a seed, and the edit that they are killed in the middle of."""

import json
import os
import random
from pathlib import Path
from typing import Any

from engine.fleets import Scratch
from engine.runs import killed_up, tell

SEED = int(os.environ.get("MODELPLANE_SEED") or random.SystemRandom().randrange(10**6))
VICTIMS: list[tuple[str, ...]] = [
    ("driver",),
    ("driver", "engine"),
    ("driver", "engine"),
    ("driver", "engine", "provider"),
]
"""Who is killed at once, where the run is to be over with that."""
ANY_VICTIMS = [*VICTIMS, ("engine",), ("provider",)]
TRIES = 4
"""How often a moment is drawn again, earlier, that came when the run was over already."""
INTERVAL = "local.modelplane.ai/token-interval"


def vary(fleet: Scratch, *, on: bool) -> None:
    """Make an edit that creates, updates and rolls something on every cluster and on the hub, or take it back."""

    def paced(document: dict[str, Any]) -> dict[str, Any]:
        for engine in document["spec"]["template"]["spec"]["engines"]:
            for member in engine["members"]:
                member["template"]["metadata"]["annotations"][INTERVAL] = "55ms" if on else "60ms"
        return document

    fleet.edit("ModelDeployment", "mock-demo", paced)
    file = fleet.directory / "mock-too.json"
    file.unlink(missing_ok=True)
    if on:
        [service] = [it for _, found in fleet.documents() for it in found if it["kind"] == "ModelService"]
        file.write_text(json.dumps({**service, "metadata": {**service["metadata"], "name": "mock-too"}}))


def vary_charts(fleet: Scratch, *, on: bool) -> None:
    """Switch a chart off on every cluster, or on again: runs uninstall and install it with Helm."""

    def switched(document: dict[str, Any]) -> dict[str, Any]:
        charts = document["spec"]["servingStack"]["charts"]
        charts.pop("leader-worker-set", None)
        if on:
            charts["leader-worker-set"] = {"enabled": False}
        return document

    fleet.edit("Fleet", "demo", switched)


def kill_five(fleet: Scratch, folder: Path) -> None:
    """Kill five runs in a row at moments of their own, of an edit's way there and back; the edit is taken back then.

    The first two fall into moments when something is being created, the others wherever they fall.
    """
    tell(f"MODELPLANE_SEED={SEED}")
    moments, varied = random.Random(SEED), False
    for number, victims in enumerate(moments.sample(VICTIMS, 3) + moments.sample(VICTIMS, 2)):
        after, patience = moments.uniform(0.0, 6.0), 5.0 if number < 2 else 0.0
        for _ in range(TRIES):
            varied = not varied
            vary(fleet, on=varied)
            if killed_up(fleet, folder, victims, after, patience, flags=("--changed-only",)):
                break
            after /= 4
        else:
            raise AssertionError("no run lasted until it could be killed")
    vary(fleet, on=False)
