"""`modelplane logs`: what the last operations on stacks told."""

from typing import TYPE_CHECKING, Annotated

import typer

from cli.asked_stack import MaybeStack
from cli.options import FleetPaths, Output, OutputFormat

if TYPE_CHECKING:
    from stacks.journal import Entry


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("logs")(logs)


def logs(
    stack: MaybeStack = None,
    fleet: FleetPaths = None,
    most: Annotated[
        int, typer.Option("--last", metavar="N", min=1, max=20, help="How many operations of each stack.")
    ] = 1,
    output: OutputFormat = Output.TABLE,
) -> None:
    """Show what the engine said during the last operations.

    Its providers are heard as well. It is kept beside the fleet, in .modelplane/logs, by the machine that ran the
    operation: 20 operations of each stack. Secrets are not in it.

    Example: modelplane logs -f examples/local
    """
    from api.errors import InvocationError
    from cli.fleet import fleet_of, load_leniently, place_of
    from cli.printing import data, print_plain, say
    from stacks.environment import environment_of
    from stacks.journal import read, stacks_kept
    from stacks.records import near_stack

    place = place_of(fleet)
    name = fleet_of(load_leniently(place)).name
    folder = environment_of(place.directory).folder
    kept = [each for each in stacks_kept(folder) if each.startswith(f"{name}.")]
    if stack is not None:
        whole = stack if stack in kept else f"{name}.{stack}"
        if whole not in kept:
            near = near_stack(stack, name, kept)
            hint = f"did you mean {near}?" if near else "only operations of this machine are kept, in .modelplane/logs"
            raise InvocationError(f"nothing is kept of a stack {stack}", hint=hint, code="MP201")
        kept = [whole]
    entries = [entry for each in kept for entry in read(folder, each)[-most:]]
    if output is not Output.TABLE:
        print_plain([entry.plain() for entry in entries], output)
    elif entries:
        data("\n".join(_text(entry) for entry in sorted(entries, key=lambda entry: entry.at)))
    else:
        say(f"{name}: nothing is kept; `modelplane up` fills it")


def _text(entry: "Entry") -> str:
    came = "failed" if entry.error else "no change" if not entry.changed else f"{entry.changed} changed"
    lines = [f"{entry.at}  {entry.stack}  {entry.action}  {came}  {entry.seconds}s", *entry.lines]
    if entry.error:
        lines.append(f"error {entry.error}")
    return "".join(f"{line}\n" for line in [lines[0], *(f"  {each}" for each in "\n".join(lines[1:]).splitlines())])
