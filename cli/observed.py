"""The fleet that a question about placement is asked of: what the stacks last exported, or a file of it."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from api.errors import InvocationError

if TYPE_CHECKING:
    from scheduler import Snapshot
    from stacks.observation import Observation


def observed_fleet(fleet: Sequence[Path] | None, file: Path | None) -> "Observation":
    """What is planned from; with a file that alone is, and no document is read.

    Raises:
        InvalidFleet: documents cannot be used.
        InvocationError: MP203, the file cannot be.
        UnreadableStack: a stack exists and cannot be read.
        DeletionRefused: replicas run and there is no ledger.

    """
    from stacks.observation import Observation, observe

    if file is not None:
        return Observation(snapshot=_load(file))
    from cli.fleet import load_documents, place_of
    from cli.printing import print_problems
    from stacks.environment import environment_of

    place = place_of(fleet)
    documents = load_documents(place)
    print_problems(documents.warnings)
    return observe(documents, environment_of(place.directory))


def save_observed(observation: "Observation", file: Path) -> None:
    """Write what is planned from, so that the plan can be made again anywhere.

    Raises:
        InvocationError: MP204, the file cannot be written.

    """
    from scheduler.saved import to_plain

    text = json.dumps(to_plain(observation.snapshot), indent=1, ensure_ascii=False)
    try:
        file.write_text(text + "\n", encoding="utf-8")
    except OSError as problem:
        raise InvocationError(f"cannot be written: {problem.strerror}", where=str(file), code="MP204") from None


def say_assumed(observation: "Observation") -> None:
    """Say which clusters are taken for ready although none has been brought up."""
    from cli.printing import say

    if observation.assumed:
        say(f"assumed: not up yet and taken for ready: {', '.join(observation.assumed)}")


def _load(file: Path) -> "Snapshot":
    from scheduler.saved import from_plain

    try:
        plain = json.loads(file.read_bytes())
    except OSError as problem:
        raise InvocationError(f"cannot be read: {problem.strerror}", where=str(file), code="MP203") from None
    except (ValueError, RecursionError):
        hint = "`modelplane plan --save-observed FILE` writes such a file"
        raise InvocationError("is not JSON", where=str(file), hint=hint, code="MP203") from None
    return from_plain(plain)
