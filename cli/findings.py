"""What `validate` finds: the problems of one fleet or of many, in the order of their files."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from api.codes import Code
from api.documents import FleetDocuments
from api.errors import InvalidFleet, InvocationError, Problem
from api.fixed import check_against
from api.quotas import Quota, quotas_of
from api.reading import fleets_below
from api.secrets import unresolved
from cli.fleet import Place, fleet_of, load_documents, load_with_fleet, place_of
from cli.printing import counted


@dataclass(frozen=True, kw_only=True)
class Findings:
    """Problems by file and line, and how much was checked; documents of an invalid fleet are not counted."""

    problems: tuple[Problem, ...]
    documents: int
    fleets: int
    quotas: tuple[Quota, ...] = ()
    """What the clouds of the fleets have to allow; where there are several fleets, to each by itself."""

    @property
    def are_strictly_wrong(self) -> bool:
        """Whether there is anything but documents that were skipped, as was asked for."""
        return any(problem.code != Code.IGNORED_DOCUMENT for problem in self.problems)

    @property
    def counted(self) -> str:
        """`7 documents`, `78 documents in 20 folders`."""
        folders = f" in {self.fleets} folders" if self.fleets > 1 else ""
        return f"{counted(self.documents, 'document')}{folders}"


def check_all(
    paths: Sequence[Path], *, recursive: bool = False, ignore_unknown: bool = False, against_state: bool = False
) -> Findings:
    """Check the documents that are named, as one fleet or, recursively, each folder below as one.

    With `against_state` those of one fleet are compared with what its stacks deployed, too.

    Raises:
        InvocationError: a path cannot be used, or there is no one Fleet to compare.
        ModelplaneError: a stack cannot be read.

    """
    if recursive and against_state:
        raise InvocationError(
            "--against-state is about one fleet", hint="leave out --recursive, and name its directory"
        )
    whole = place_of(paths, is_only_read=True, ignore_unknown=ignore_unknown)
    places = list(_places(whole)) if recursive else [whole]
    checked = [_check(place, against_state=against_state) for place in places or [whole]]
    problems = {problem for found, _ in checked for problem in found}
    ordered = sorted(problems, key=lambda problem: (problem.file, problem.line, problem.path, problem.code))
    valid = [documents for _, documents in checked if documents is not None]
    return Findings(
        problems=tuple(ordered),
        documents=sum(sum(1 for _ in documents.all()) for documents in valid),
        fleets=len(checked),
        quotas=tuple(quota for documents in valid for quota in quotas_of(documents)),
    )


def _places(whole: Place) -> Iterator[Place]:
    for path in whole.given:
        if not path.is_dir():
            yield Place(directory=path.parent, given=(path,), ignore_unknown=whole.ignore_unknown)
            continue
        for folder, given in fleets_below(path):
            yield Place(directory=folder, given=given, ignore_unknown=whole.ignore_unknown)


def _check(place: Place, *, against_state: bool) -> tuple[list[Problem], FleetDocuments | None]:
    """The problems of one fleet, and its documents where they can be used."""
    try:
        documents = load_with_fleet(place) if against_state else load_documents(place)
    except InvalidFleet as invalid:
        return list(invalid.problems), None
    problems = [*documents.warnings, *unresolved(documents)]
    if against_state:
        problems += _changes(documents)
    return problems, documents


def _changes(documents: FleetDocuments) -> Iterator[Problem]:
    """What the documents change that cannot change any more; no cluster is asked."""
    from stacks import state
    from stacks.environment import environment_of

    environment = environment_of(documents.directory)
    if not state.has_state(environment):
        return
    from programs.deployed import deployed

    outputs, unreadable = state.observe(environment, fleet_of(documents).name)
    if unreadable:
        raise unreadable[0]
    yield from check_against(documents, deployed(outputs.clusters, outputs.placement))
