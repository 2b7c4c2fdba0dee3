"""What the shell offers while a command is typed: kinds, names, namespaces and stacks, out of the documents.

Nothing is asked beyond the documents, and what cannot be read offers nothing: a shell waits for this.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from api.documents import FleetDocuments


def complete_kinds(incomplete: str) -> Iterator[str]:
    """Kinds in the plural, and by their short names."""
    from api.kinds import LISTED, plural

    before, comma, last = incomplete.rpartition(",")
    offered = [word for kind, short in LISTED.items() for word in dict.fromkeys((plural(kind), short))]
    yield from (f"{before}{comma}{word}" for word in offered if word.startswith(last))


def complete_names(ctx: Any, incomplete: str) -> Iterator[str]:
    """Names of documents of the kind that was written before; of every kind where that is none."""
    from api.errors import InvocationError
    from api.kinds import kind_named

    documents = _documents(ctx.params)
    word = ctx.params.get("kinds") or ctx.params.get("kind") or ""
    try:
        kinds = {kind_named(each) for each in word.split(",")} if word else None
    except InvocationError:
        return
    for document in documents.all() if documents else ():
        if (kinds is None or document.kind in kinds) and document.name.startswith(incomplete):
            yield document.name


def complete_namespaces(ctx: Any, incomplete: str) -> Iterator[str]:
    """Namespaces that documents are in."""
    documents = _documents(ctx.params)
    found = {document.namespace for document in documents.all() if document.namespaced} if documents else set()
    yield from sorted(name for name in found if name.startswith(incomplete))


def complete_deployments(ctx: Any, incomplete: str) -> Iterator[str]:
    """Deployments as `deployment/NAMESPACE/NAME`."""
    documents = _documents(ctx.params)
    for namespace, name in sorted(documents.deployments) if documents else ():
        if (word := f"deployment/{namespace}/{name}").startswith(incomplete):
            yield word


def complete_stacks(ctx: Any, incomplete: str) -> Iterator[str]:
    """Stacks that the documents come to."""
    from stacks.plan import fleet_stacks

    documents = _documents(ctx.params)
    if documents and documents.fleet:
        for stack in fleet_stacks(documents.fleet.name, documents.clusters):
            if str(stack).startswith(incomplete):
                yield str(stack)


def _documents(given: dict[str, Any]) -> "FleetDocuments | None":
    """The documents of the fleet that the command names so far; None where they cannot be used."""
    from api.errors import ModelplaneError
    from cli.fleet import VARIABLE, load_leniently, place_of

    paths = given.get("fleet") or [os.environ.get(VARIABLE) or "."]
    try:
        return load_leniently(place_of([Path(path) for path in paths]))
    except ModelplaneError:
        return None
