"""`modelplane init`: the first documents of a fleet."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class From(StrEnum):
    """Where the first cluster comes from."""

    LOCAL = "local"
    EXISTING = "existing"
    EKS = "eks"
    GKE = "gke"


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("init")(init)


def init(
    directory: Annotated[
        Path, typer.Argument(metavar="[DIR]", help="Where to write them; it is made where it is not there.")
    ] = Path(),
    name: Annotated[
        str, typer.Option("--name", metavar="NAME", help="Name of the fleet; it begins the names of all stacks.")
    ] = "demo",
    source: Annotated[
        From,
        typer.Option("--cluster", help="The first cluster: on this machine, one of your own, or made on a cloud."),
    ] = From.LOCAL,
) -> None:
    """Write a small fleet: one cluster, one model, one URL.

    Nothing that is there is overwritten. What is written is checked as `validate` does, and the next commands are
    printed.

    Example: modelplane init fleet --name demo
    """
    from api.errors import InvalidFleet, InvocationError
    from cli.fleet import load_documents, place_of
    from cli.printing import counted, data, say
    from stacks.starter import Source, next_steps, starter

    files = starter(name, Source(source.value))
    there = sorted(each for each in files if (directory / each).exists())
    if there:
        hint = "name another directory; nothing is overwritten"
        raise InvocationError(f"has {', '.join(there)} already", where=str(directory), hint=hint)
    made = [directory / each for each in files]
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for file, text in zip(made, files.values(), strict=True):
            file.write_text(text, encoding="utf-8")
    except OSError as problem:
        hint = "name a directory that can be written"
        raise InvocationError(f"cannot be written: {problem.strerror}", where=str(directory), hint=hint) from None
    try:
        documents = load_documents(place_of([directory]))
    except InvalidFleet as invalid:
        if any(Path(problem.file).name not in files for problem in invalid.problems):
            raise  # what lay there before does not go with it
        for file in made:
            file.unlink()
        if not any(directory.iterdir()):
            directory.rmdir()
        raise
    number = sum(1 for _ in documents.all())
    say(f"{directory}: {counted(number, 'document')} in {counted(len(files), 'file')}, all valid. Next:")
    at = [] if directory == Path() else [f"export MODELPLANE_FLEET={directory.resolve()}"]
    data("\n".join([*at, *next_steps(Source(source.value))]))
