"""`modelplane version`: the release, and the programs it would run."""

import typer

from cli.options import Output, OutputFormat

PROGRAMS = ("pulumi", "pulumi-resource-kubernetes")


def add_to(app: typer.Typer) -> None:
    """Add the command, and the option that others have for it."""
    app.command("version")(version)
    app.callback()(_options)


def _options(
    asked: bool = typer.Option(  # noqa: FBT001 - a flag of the command line
        False,  # noqa: FBT003 - the same
        "--version",
        help="Print the version and exit; `modelplane version` tells more.",
        is_eager=True,
        callback=lambda asked: _print_version() if asked else None,
    ),
) -> None:
    """Take what is asked of the program as a whole."""


def _print_version() -> None:
    from importlib.metadata import version as version_of

    from cli.printing import data

    data(f"modelplane {version_of('modelplane')}")
    raise typer.Exit


def version(output: OutputFormat = Output.TABLE) -> None:
    """Print the versions of Modelplane and its engine.

    Example: modelplane version -o json
    """
    import platform
    from importlib.metadata import version as version_of

    from cli.printing import data, print_plain, table
    from tools.locate import ToolMissing, look_up

    rows = [
        ("modelplane", version_of("modelplane"), ""),
        ("python", platform.python_version(), ""),
        ("pulumi (Python)", version_of("pulumi"), ""),
    ]
    for name in PROGRAMS:
        try:
            found = look_up(name)
            rows.append((name, found.version, f"{found.origin}: {found.path}"))
        except ToolMissing:
            rows.append((name, "missing", "make tools"))
    if output is Output.TABLE:
        data(table(("PROGRAM", "VERSION", "FROM"), rows))
    else:
        print_plain({name: {"version": number, "from": origin} for name, number, origin in rows}, output)
