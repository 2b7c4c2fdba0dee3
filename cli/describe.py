"""`modelplane describe`: objects of the fleet in full."""

from typing import Annotated

import typer

from cli.completing import complete_kinds
from cli.get import AllNamespaces, InNamespace, Labels, Names
from cli.options import FleetPaths

Kind = Annotated[
    str,
    typer.Argument(
        metavar="KIND[/NAME]",
        help="A kind by name, plural or short name, as in modeldeployment or md.",
        show_default=False,
        autocompletion=complete_kinds,
    ),
]


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("describe")(describe)


def describe(
    kinds: Kind,
    names: Names = None,
    fleet: FleetPaths = None,
    namespace: InNamespace = None,
    all_namespaces: AllNamespaces = False,  # noqa: FBT002 - a flag of the command line
    selector: Labels = None,
) -> None:
    """Show objects in full, with conditions and what belongs to them.

    No cluster is asked: it is what the last `up` left. Of a Secret only the sizes of its values are shown.

    Example: modelplane describe modeldeployment mock-demo -f examples/local
    """
    from datetime import UTC, datetime

    from cli.fleet import place_of
    from cli.object_text import described
    from cli.objects import Listing, everything, refuse_both
    from cli.printing import data, print_error, say
    from stacks.inventory import identity, related

    refuse_both(namespace, all_namespaces=all_namespaces)
    objects, documents, problems = everything(place_of(fleet))
    listing = Listing(kinds=kinds, names=tuple(names or ()), namespace=namespace, selector=selector or "")
    chosen = listing.choose(objects)
    written = {(each.kind, each.namespace, each.name): each for each in documents.all()}
    texts = []
    for shown in chosen.objects:
        document = written.get(identity(shown))
        secret = documents.secrets.get(identity(shown)[1:]) if shown["kind"] == "Secret" else None
        texts.append(
            described(
                shown,
                place=documents.where(document) if document else "",
                related=list(related(shown, objects)),
                sizes={key: len(value) for key, value in secret.values().items()} if secret else None,
                now=datetime.now(UTC),
            )
        )
    data("\n\n".join(texts))
    if not chosen.objects:
        say(chosen.nothing)
    for problem in problems:
        print_error(problem)
    if problems:
        raise typer.Exit(problems[0].exit_code)
