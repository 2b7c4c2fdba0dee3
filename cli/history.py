"""`modelplane history`: which operations there were on the stacks of a fleet."""

import re
from typing import Annotated

import typer

from cli.asked_stack import MaybeStack
from cli.options import FleetPaths, Output, OutputFormat

_FRACTION = re.compile(r"\.\d+(?=Z$)")
"""Of a second, which nobody reads in a table."""


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("history")(history)


def history(
    stack: MaybeStack = None,
    fleet: FleetPaths = None,
    most: Annotated[int, typer.Option("--last", metavar="N", min=1, max=1000, help="How many operations.")] = 20,
    output: OutputFormat = Output.TABLE,
) -> None:
    """Show the last operations on stacks, the newest first.

    Operations of plain Pulumi count as well; looks, previews and what changed nothing else than the state's own times
    are no operations or have no changes.

    Example: modelplane history -f examples/local --last 5
    """
    from cli.asked_stack import asked
    from cli.printing import data, print_plain, say, table
    from stacks.records import history_of

    about = asked(fleet, stack)
    stacks = [about.stack] if about.stack else list(about.known)
    found = history_of(about.pulumi(), stacks, most) if stacks else []
    if output is not Output.TABLE:
        print_plain([update.plain() for update in found], output)
    elif found:
        counted = any(update.version for update in found)
        head = ("STACK", *(["NUMBER"] if counted else []), "BEGAN", "OPERATION", "RESULT", "CHANGES", "TOOK")
        data(
            table(
                head,
                (
                    (
                        update.stack,
                        *([str(update.version or "-")] if counted else []),
                        _FRACTION.sub("", update.began),
                        update.kind,
                        update.result or "-",
                        ", ".join(f"{count} {kind}" for kind, count in update.changes.items()) or "none",
                        "-" if update.seconds is None else f"{update.seconds:.0f}s",
                    )
                    for update in found
                ),
            )
        )
    else:
        say(f"{about.fleet}: nothing was ever brought up")
