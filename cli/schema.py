"""`modelplane schema`: JSON schemas of the kinds for editors and other programs, and pages for readers."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

KindName = Annotated[
    str | None,
    typer.Argument(metavar="KIND", help="A kind, as in modeldeployment.", show_default="one schema for every kind"),
]
Directory = Annotated[
    Path | None,
    typer.Option("--directory", metavar="DIR", help="Write a file for every kind, and a schema for all."),
]


class Form(StrEnum):
    """What is written of a kind."""

    JSON = "json"
    MARKDOWN = "markdown"


FormOption = Annotated[Form, typer.Option("--output", "-o", help="A JSON schema, or a page of documentation.")]


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("schema")(schema)


def schema(kind: KindName = None, directory: Directory = None, output: FormOption = Form.JSON) -> None:
    """Print the JSON schema of a kind, or of all for editors.

    In an editor with yaml-language-server begin a file with
    # yaml-language-server: $schema=modelplane.json

    Example: modelplane schema modeldeployment
    """
    from api.errors import InvocationError
    from cli.printing import data, say

    if directory is None:
        data(_one(kind, output).rstrip("\n"))
        return
    if kind:
        raise InvocationError("--directory writes every kind", hint="leave out the kind, or --directory")
    files = _files(output)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (directory / name).write_text(text)
    except OSError as problem:
        raise InvocationError(
            f"cannot be written: {problem.strerror}", where=str(directory), hint="name a directory that can be written"
        ) from None
    what = "schemas" if output is Form.JSON else "pages"
    say(f"wrote {len(files)} {what} to {directory}")


def _one(kind: str | None, output: Form) -> str:
    from api.describe import find_kind
    from api.errors import InvocationError
    from api.pages import page
    from api.schema import EVERY_KIND, schemas

    if output is Form.JSON:
        return _json(schemas()[find_kind(kind).__name__ if kind else EVERY_KIND])
    if kind is None:
        raise InvocationError("a page is of one kind", hint="name a kind, or write all of them with --directory")
    return page(kind)


def _files(output: Form) -> dict[str, str]:
    from api.pages import pages
    from api.schema import schemas

    if output is Form.JSON:
        return {f"{name}.json": _json(found) for name, found in schemas().items()}
    return {f"{name.lower()}.md": text for name, text in pages().items()}


def _json(found: Any) -> str:
    import json

    return json.dumps(found, indent=2) + "\n"
