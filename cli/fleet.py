"""Which fleet a command is about: its directory, its documents, and as much as can be read where they are broken."""

import os
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from api.documents import FleetDocuments
from api.errors import InvalidFleet, InvocationError, Severity
from api.fleets import Fleet
from api.loader import ignores_unknown, load
from api.reading import STDIN, SUFFIXES, read
from api.secrets import unresolved
from scheduler.cel import compile_error
from scheduler.matcher import Matcher

VARIABLE = "MODELPLANE_FLEET"


@dataclass(frozen=True, kw_only=True)
class Place:
    """A fleet directory and the files named besides; `given` are the paths that documents are read from."""

    directory: Path
    given: tuple[Path, ...]
    ignore_unknown: bool = False
    named: bool = True
    """Whether somebody has named it; where nobody has, it is the current directory."""


def place_of(paths: Sequence[Path] | None, *, is_only_read: bool = False, ignore_unknown: bool = False) -> Place:
    """The place that `-f`, the environment or the current directory names; state lies in its directory.

    What is only read may have its documents in several directories. Documents of other systems are skipped where that
    is asked for, or where MODELPLANE_IGNORE_UNKNOWN is set.

    Raises:
        InvocationError: two directories are named.

    """
    variable = os.environ.get(VARIABLE)
    given = tuple(_near(path) for path in paths or ()) or (_near(Path(variable or ".")),)
    directories = [path for path in given if not _is_file(path)]
    if len(directories) > 1 and not is_only_read:
        shown = ", ".join(str(path) for path in directories)
        raise InvocationError(
            f"{len(directories)} fleet directories are named: {shown}", hint="name one; it has the state"
        )
    files = tuple(path for path in given if _is_file(path))
    directory = directories[0] if directories else files[0].parent
    return Place(
        directory=directory,
        given=(*directories, *files),
        ignore_unknown=ignore_unknown or ignores_unknown(os.environ),
        named=bool(paths or variable),
    )


def load_documents(place: Place) -> FleetDocuments:
    """All documents, with device selectors compiled.

    Raises:
        InvalidFleet: every problem of every document.
        InvocationError: nobody has named a fleet, and the current directory is none: it has several below it.

    """
    try:
        documents = load(
            place.given[0],
            place.given[1:],
            check_cel=compile_error,
            fits=Matcher().fit,
            ignore_unknown=place.ignore_unknown,
        )
    except InvalidFleet:
        if not place.named and len(_fleet_documents(place)) > 1:
            raise _several_fleets(place) from None
        raise
    return replace(documents, directory=place.directory)


def load_with_fleet(place: Place) -> FleetDocuments:
    """All documents, the Fleet among them.

    Raises:
        InvalidFleet: every problem of every document.
        InvocationError: there is no Fleet.

    """
    documents = load_documents(place)
    if documents.fleet is None:
        raise _no_fleet(place)
    return documents


def load_to_run(place: Place) -> FleetDocuments:
    """All documents of a fleet that is about to be brought up, which can have every value it names.

    Raises:
        InvalidFleet: a document has an error, or a value of `Fleet.spec.secrets` cannot be had.
        InvocationError: there is no Fleet.

    """
    documents = load_with_fleet(place)
    missing = [replace(problem, severity=Severity.ERROR) for problem in unresolved(documents)]
    if missing:
        raise InvalidFleet([*documents.warnings, *missing])
    return documents


def load_checked(place: Place) -> FleetDocuments:
    """The same, and nothing in it that this release does not do.

    Raises:
        InvalidFleet: as `load_to_run` does, and for every place where more is asked for.
        InvocationError: there is no Fleet.

    """
    from programs.preflight import refuse_unsupported

    documents = load_to_run(place)
    refuse_unsupported(documents, fleet_of(documents))
    return documents


def load_leniently(place: Place) -> FleetDocuments:
    """As much of a fleet as looking at its stacks and destroying them needs: its Fleet, whatever else is broken.

    Raises:
        InvalidFleet: there are problems, and the Fleet's name is not to be had.
        InvocationError: there is no Fleet.

    """
    try:
        return load_with_fleet(place)
    except InvalidFleet as error:
        fleet = _readable_fleet(place)
        if fleet is None:
            raise
        return FleetDocuments(directory=place.directory, fleet=fleet, warnings=error.problems)


def fleet_of(documents: FleetDocuments) -> Fleet:
    """The Fleet, of documents that were loaded to run or leniently."""
    if documents.fleet is None:
        raise AssertionError("these documents were loaded with their Fleet")
    return documents.fleet


def _near(path: Path) -> Path:
    """The path as one who works in the current directory would write it: what lies below is not told from the root."""
    if path.is_absolute():
        with suppress(OSError, ValueError):
            return path.relative_to(Path.cwd())
    return path


def _is_file(path: Path) -> bool:
    return path == STDIN or (not path.is_dir() and (path.exists() or path.suffix in SUFFIXES))


def _several_fleets(place: Place) -> InvocationError:
    hint = f"name one of them: -f DIRECTORY, or export {VARIABLE}=DIRECTORY"
    return InvocationError(
        "several fleets are below, and none is named", where=str(place.directory.resolve()), hint=hint
    )


def _no_fleet(place: Place) -> InvocationError:
    hint = "add a document of kind Fleet (modelplane.ai/v1alpha1); its name begins the name of every stack"
    return InvocationError("no document is of kind Fleet", where=str(place.directory), hint=hint)


def _fleet_documents(place: Place) -> list[dict[str, Any]]:
    readings = read(place.given[0], place.given[1:]).values()
    values = [document.value for reading in readings for document in reading.documents]
    return [value for value in values if isinstance(value, dict) and value.get("kind") == "Fleet"]


def _readable_fleet(place: Place) -> Fleet | None:
    """The one Fleet among the documents; with settings that cannot be used, its name alone."""
    found = _fleet_documents(place)
    if len(found) != 1:
        return None
    bare = {key: found[0].get(key) for key in ("apiVersion", "kind", "metadata")}
    for candidate in (found[0], bare):
        try:
            return Fleet.parse(candidate)
        except ValidationError:
            continue
    return None


def refuse_documented(clusters: Collection[str], documents: FleetDocuments) -> None:
    """Refuse to delete clusters that the documents still want.

    Raises:
        InvocationError: one of them has a document.

    """
    wanted = sorted(set(clusters) & set(documents.clusters))
    if wanted:
        cluster = documents.clusters[wanted[0]]
        hint = "remove its document first; deleting it then drains it and destroys its stacks"
        raise InvocationError(
            f"cluster {wanted[0]} is still in the documents", where=documents.where(cluster), hint=hint
        )
