"""`modelplane schema`: JSON schemas of the kinds, for editors and other programs."""

from pathlib import Path
from typing import Annotated

import typer

KindName = Annotated[
    str | None,
    typer.Argument(metavar="KIND", help="A kind, as in modeldeployment.", show_default="one schema for every kind"),
]
Directory = Annotated[
    Path | None,
    typer.Option("--directory", metavar="DIR", help="Write a file for every kind, and modelplane.json for all."),
]


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("schema")(schema)


def schema(kind: KindName = None, directory: Directory = None) -> None:
    """Print the JSON schema of a kind, or one for editors that knows every kind.

    In an editor with yaml-language-server begin a file with
    # yaml-language-server: $schema=modelplane.json

    Example: modelplane schema modeldeployment
    """
    import json

    from api.describe import find_kind
    from api.errors import InvocationError
    from api.schema import EVERY_KIND, schemas
    from cli.printing import data, say

    made = schemas()
    if directory is None:
        name = find_kind(kind).__name__ if kind else EVERY_KIND
        data(json.dumps(made[name], indent=2))
        return
    if kind:
        raise InvocationError("--directory writes every kind", hint="leave out the kind, or --directory")
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for name, found in made.items():
            (directory / f"{name}.json").write_text(json.dumps(found, indent=2) + "\n")
    except OSError as problem:
        raise InvocationError(
            f"cannot be written: {problem.strerror}", where=str(directory), hint="name a directory that can be written"
        ) from None
    say(f"wrote {len(made)} schemas to {directory}")
