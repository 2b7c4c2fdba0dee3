"""Where and what runs are killed in, drawn from a seed, and the edit that they are killed in the middle of."""

import json
import os
import random
from typing import Any

from engine.fleets import Scratch

SEED = int(os.environ.get("MODELPLANE_SEED") or random.SystemRandom().randrange(10**6))
VICTIMS: list[tuple[str, ...]] = [
    ("driver",),
    ("driver", "engine"),
    ("driver", "engine"),
    ("driver", "engine", "provider"),
]
"""Who is killed at once, where the run is to be over with that."""
ANY_VICTIMS = [*VICTIMS, ("engine",), ("provider",)]
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
