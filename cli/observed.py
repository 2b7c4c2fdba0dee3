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

    write(json.dumps(to_plain(observation.snapshot), indent=1, ensure_ascii=False) + "\n", file)


def write(text: str, file: Path) -> None:
    """Write what a command was asked to put into a file.

    Raises:
        InvocationError: MP204, the file cannot be written.

    """
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as problem:
        message = f"cannot be written: {problem.strerror}"
        hint = "name a file in a folder that can be written"
        raise InvocationError(message, where=str(file), hint=hint, code="MP204") from None


def refuse_among_documents(fleet: Sequence[Path] | None, file: Path) -> None:
    """Stop before a saved fleet is written where it would be read as one of the documents.

    Raises:
        InvocationError: MP204, it would be.

    """
    from api.reading import is_read_from
    from cli.fleet import place_of

    if any(is_read_from(directory, file) for directory in place_of(fleet).given):
        raise InvocationError(
            "would be read as a document of the fleet",
            where=str(file),
            hint=f"name a file that no document is read from, such as {file.with_suffix('.observed').name}",
            code="MP204",
        )


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
        hint = "name a file that `modelplane plan --save-observed FILE` wrote"
        raise InvocationError(f"cannot be read: {problem.strerror}", where=str(file), hint=hint, code="MP203") from None
    except (ValueError, RecursionError):
        hint = "`modelplane plan --save-observed FILE` writes such a file"
        raise InvocationError("is not JSON", where=str(file), hint=hint, code="MP203") from None
    return from_plain(plain)
