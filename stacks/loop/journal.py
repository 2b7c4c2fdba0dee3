"""What the loop did last, kept beside the fleet: a loop that was killed or restarted goes on, and repeats nothing.

An entry counts only while the stack's state is the very one that its run left. What a killed run was in the middle of,
and what somebody else has brought up since, is therefore brought up again. The file may be deleted at any time.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from api.names import StackName, parse_stack_name
from stacks.loop.agenda import Asked, Done

FILE = "loop.json"
VERSION = 1


def keep(folder: Path, done: Mapping[StackName, Done], stamps: Mapping[str, int] | None, ago: float) -> None:
    """Write down what was done well. `ago` is what to add to a run's time to get seconds since 1970.

    Nothing is kept for a backend that does not tell when a stack was written.
    """
    if stamps is None:
        return
    entries = {
        str(stack): {
            "digest": each.asked.digest,
            "edited": each.asked.edited,
            "at": each.at + ago,
            "stamp": stamps[str(stack)],
        }
        for stack, each in done.items()
        if each.failures == 0 and str(stack) in stamps
    }
    file = folder / FILE
    other = file.with_name(f".{FILE}.{os.getpid()}")
    try:
        other.write_text(json.dumps({"version": VERSION, "stacks": entries}))
        other.replace(file)
    finally:
        other.unlink(missing_ok=True)


def recall(folder: Path, stamps: Mapping[str, int] | None, ago: float) -> dict[StackName, Done]:
    """What was done and still counts; nothing where there is no file, or it cannot be read."""
    try:
        found = json.loads((folder / FILE).read_text())
        if found["version"] != VERSION:
            return {}
        entries = found["stacks"].items()
        return {
            parse_stack_name(name): _done(entry, ago)
            for name, entry in entries
            if stamps is not None and entry["stamp"] == stamps.get(name)
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def _done(entry: Mapping[str, Any], ago: float) -> Done:
    asked = Asked(digest=str(entry["digest"]), edited=str(entry["edited"]))
    return Done(asked=asked, at=float(entry["at"]) - ago)
