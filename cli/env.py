"""`modelplane env`: what a plain `pulumi` needs to work on the same stacks, for a shell to evaluate."""

from pathlib import Path

import typer

from cli.options import FleetPaths

PROGRAMS = ("pulumi", "pulumi-resource-kubernetes")


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("env")(env)


def env(fleet: FleetPaths = None) -> None:
    """Print what plain Pulumi needs, as `export` lines.

    Backend, passphrase file, fleet directory, and PATH where it lacks the engine. Use it in the checkout of
    Modelplane, as in: eval "$(modelplane env -f DIR)" && pulumi stack ls

    Example: modelplane env -f examples/local
    """
    import shlex

    from cli.fleet import place_of
    from cli.printing import data
    from stacks.environment import PASSPHRASE, environment_of

    place = place_of(fleet)
    _refuse_files(place.given)
    environment = environment_of(place.directory)
    environment.prepare()
    folders = _cached_folders()
    variables = dict(environment.variables)
    variables.pop(PASSPHRASE, None)  # whoever set it has it, and it is shown nowhere
    if folders:
        variables["PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION"] = "true"
    lines = [f"export {name}={shlex.quote(value)}" for name, value in variables.items()]
    if folders:
        lines.append(f'export PATH={":".join(shlex.quote(folder) for folder in folders)}:"$PATH"')
    data("\n".join(lines))


def _refuse_files(given: tuple[Path, ...]) -> None:
    from api.errors import InvocationError

    if len(given) != 1 or not given[0].is_dir():
        shown = ", ".join(str(path) for path in given)
        hint = "put the documents into one directory and name that"
        raise InvocationError(f"plain Pulumi reads a fleet directory, which this is not: {shown}", hint=hint)


def _cached_folders() -> list[str]:
    """Folders of the programs that were built here, where a shell does not find them; told when one is missing."""
    from cli.printing import say
    from tools.locate import Origin, ToolMissing, look_up

    folders: list[str] = []
    for name in PROGRAMS:
        try:
            found = look_up(name)
        except ToolMissing as error:
            say(f"warning: {error.message}\nhint: {error.hint}")
            continue
        if found.origin is Origin.CACHE:
            folders.append(str(found.path.parent))
    return folders
