"""`modelplane version`: the release, and the programs it would run."""

import typer

from cli.options import Output, OutputFormat

PROGRAMS = ("pulumi", "pulumi-resource-kubernetes")


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("version")(version)


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
