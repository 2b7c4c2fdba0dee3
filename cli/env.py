"""`modelplane env`: what a plain `pulumi` needs to work on the same stacks, for a shell to evaluate."""

from pathlib import Path

import typer

from cli.options import FleetPaths, IgnoreUnknown

PROGRAMS = ("pulumi", "pulumi-language-python", "pulumi-resource-kubernetes")


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("env")(env)


def env(
    fleet: FleetPaths = None,
    ignore_unknown: IgnoreUnknown = False,  # noqa: FBT002 - a flag of the command line
) -> None:
    """Print what plain Pulumi needs, as `export` lines.

    Backend, passphrase file, fleet directory, the folder with the stacks' settings, and PATH where it lacks the
    engine. Use it as in: eval "$(modelplane env -f DIR)" && pulumi stack ls

    Example: modelplane env -f examples/local
    """
    import shlex

    from api.loader import IGNORE_UNKNOWN
    from cli.fleet import place_of
    from cli.printing import data
    from stacks.environment import PASSPHRASE, environment_of
    from stacks.project import built_provider

    place = place_of(fleet, ignore_unknown=ignore_unknown)
    refuse_files(place.given)
    environment = environment_of(place.directory)
    environment.prepare()
    folders = _cached_folders()
    variables = dict(environment.variables)
    variables.pop(PASSPHRASE, None)  # whoever set it has it, and it is shown nowhere
    if place.ignore_unknown:
        variables[IGNORE_UNKNOWN] = "true"
    if built_provider() is not None:
        variables["PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION"] = "true"
    lines = [f"export {name}={shlex.quote(value)}" for name, value in variables.items()]
    if folders:
        lines.append(f'export PATH={":".join(shlex.quote(folder) for folder in folders)}:"$PATH"')
    data("\n".join(lines))


def refuse_files(given: tuple[Path, ...]) -> None:
    """Refuse files that are named besides a directory.

    Raises:
        InvocationError: plain Pulumi would not read them.

    """
    from api.errors import InvocationError

    if len(given) != 1 or not given[0].is_dir():
        shown = ", ".join(str(path) for path in given)
        hint = "put the documents into one directory and name that"
        raise InvocationError(f"plain Pulumi reads a fleet directory, which this is not: {shown}", hint=hint)


def _cached_folders() -> list[str]:
    """Folders of the programs that were built here and are not on PATH; told when a program is missing."""
    import os

    from cli.printing import say
    from tools.locate import Origin, ToolMissing, look_up

    known = os.environ.get("PATH", "").split(os.pathsep)
    folders: list[str] = []
    for name in PROGRAMS:
        try:
            found = look_up(name)
        except ToolMissing as error:
            say(f"warning: {error.message}\nhint: {error.hint}")
            continue
        folder = str(found.path.parent)
        if found.origin is Origin.CACHE and folder not in (*known, *folders):
            folders.append(folder)
    return folders
