"""What `get` and `describe` share: objects of the fleet, chosen, and written in a format."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from api.errors import InvalidFleet, InvocationError
from cli.fleet import Place, load_documents, load_leniently, place_of
from cli.object_columns import Layout, full_name, object_table
from cli.options import Output
from cli.printing import as_plain, data, print_error, say

if TYPE_CHECKING:
    from api.documents import FleetDocuments
    from api.errors import ModelplaneError

Plain = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Listing:
    """What `get` is asked for, in the words of the command line."""

    kinds: str
    names: Sequence[str] = ()
    namespace: str | None = None
    selector: str = ""
    sort_by: str | None = None
    layout: Layout = field(default_factory=Layout)

    def choose(self, objects: Sequence[Plain]) -> "Chosen":
        """The objects that are meant.

        Raises:
            InvocationError: a word means no kind, or something that is named is not there.

        """
        from api.kinds import kinds_named
        from api.label_queries import LabelQuery, label_query
        from stacks.query import Query, select

        kinds, slash, name = self.kinds.partition("/")
        names = (name, *self.names) if slash else tuple(self.names)
        meant = kinds_named(kinds, ALL_KINDS)
        if names and len(meant) > 1:
            raise InvocationError(f"{', '.join(names)} of {len(meant)} kinds", hint="name one kind, or no names")
        query = Query(
            kinds=meant,
            names=names,
            namespace=self.namespace,
            labels=label_query(self.selector) if self.selector else LabelQuery(),
            sort_by=self.sort_by,
        )
        return Chosen(kinds=meant, objects=select(objects, query), listing=self, one=len(names) == 1)


ALL_KINDS = dict.fromkeys(
    (
        "ModelDeployment",
        "ModelReplica",
        "ModelService",
        "ModelEndpoint",
        "ModelCache",
        "InferenceCluster",
        "InferenceGateway",
        "InferenceClass",
    )
)
"""Kinds that `all` stands for: those with a status, what people ask for most first."""


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """Objects of some kinds. `one` says that one was asked for by name."""

    kinds: Sequence[str]
    objects: Sequence[Plain]
    listing: Listing
    one: bool = False

    @property
    def nothing(self) -> str:
        """That nothing is there, in words."""
        where = f" in namespace {self.listing.namespace}" if self.listing.namespace else ""
        labelled = f" with labels {self.listing.selector}" if self.listing.selector else ""
        return f"no {', '.join(self.kinds)}{where}{labelled}"


Writer = Callable[[Chosen], str]


def as_table(chosen: Chosen) -> str:
    """A table for each kind; with several, names say their kind."""
    layout = replace(chosen.listing.layout, kind=len(chosen.kinds) > 1)
    now = datetime.now(UTC)
    of_kind = {kind: [shown for shown in chosen.objects if shown["kind"] == kind] for kind in chosen.kinds}
    return "\n".join(object_table(kind, objects, layout, now) for kind, objects in of_kind.items() if objects)


def as_names(chosen: Chosen) -> str:
    """A line each: `modeldeployment.modelplane.ai/qwen`."""
    return "".join(f"{full_name(shown)}\n" for shown in chosen.objects)


def as_json(chosen: Chosen) -> str:
    """A List; the object itself where one was asked for by name."""
    return as_plain(_plain(chosen), Output.JSON)


def as_yaml(chosen: Chosen) -> str:
    """The same as YAML."""
    return as_plain(_plain(chosen), Output.YAML)


def show(fleet: Sequence[Path] | None, listing: Listing, writer: Writer, *, watch: bool = False) -> None:
    """Print what is asked for, once, or again whenever it changes.

    Raises:
        InvocationError: it is not there.
        Exit: some stack could not be read; everything else is shown.

    """
    import typer

    from cli.watching import changes, follow
    from stacks.environment import environment_of

    place = place_of(fleet)
    if watch:
        follow(changes(environment_of(place.directory)), lambda: _once(place, listing, writer)[0])
        return
    text, problems = _once(place, listing, writer)
    data(text)
    if problems:
        raise typer.Exit(problems[0].exit_code)


def everything(place: Place) -> "tuple[list[Plain], FleetDocuments, list[ModelplaneError]]":
    """All objects, the documents they come from, and why some stacks cannot be read; what is broken is said.

    Raises:
        InvalidFleet: there are problems, and the Fleet's name is not to be had.

    """
    from stacks import state
    from stacks.environment import environment_of
    from stacks.inventory import inventory
    from stacks.status import FleetOutputs

    try:
        documents = load_documents(place)
    except InvalidFleet:
        documents = load_leniently(place)
        say("documents have errors, so only what stacks know is shown; `modelplane validate` tells them")
    if documents.fleet is None:
        return inventory(documents, FleetOutputs()), documents, []
    objects, problems = state.inventory(environment_of(place.directory), documents, documents.fleet.name)
    return objects, documents, problems


def refuse_both(namespace: str | None, *, all_namespaces: bool) -> None:
    """Refuse one namespace and all of them.

    Raises:
        InvocationError: both are asked for.

    """
    if namespace and all_namespaces:
        raise InvocationError("-n names one namespace and -A asks for all", hint="leave out one of them")


def _once(place: Place, listing: Listing, writer: Writer) -> "tuple[str, list[ModelplaneError]]":
    objects, _, problems = everything(place)
    chosen = listing.choose(objects)
    if not chosen.objects:
        say(chosen.nothing)
    for problem in problems:
        print_error(problem)
    empty_is_told = chosen.objects or writer in (as_json, as_yaml)
    return writer(chosen) if empty_is_told else "", problems


def _plain(chosen: Chosen) -> Plain:
    if chosen.one and len(chosen.objects) == 1:
        return chosen.objects[0]
    return {"apiVersion": "v1", "kind": "List", "items": list(chosen.objects)}
