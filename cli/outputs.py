"""`modelplane outputs`: what a stack exports."""

from typing import Annotated, Any

import typer

from cli.asked_stack import Stack
from cli.options import FleetPaths, Output, OutputFormat

LONGEST = 100
"""Of a value in a table; `-o json` has it whole."""


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("outputs")(outputs)


def outputs(
    stack: Stack,
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="One output, alone and as it is.", show_default="all")
    ] = None,
    fleet: FleetPaths = None,
    show_secrets: Annotated[  # noqa: FBT002 - a flag of the command line
        bool, typer.Option("--show-secrets", help="Show secrets in clear: kubeconfigs, among others.")
    ] = False,
    output: OutputFormat = Output.TABLE,
) -> None:
    """Show what a stack exported last, secrets hidden.

    Secrets are shown with --show-secrets. Names of outputs are state and do not change between releases. One that is
    named is printed alone, texts without quotes, as a script needs it.

    Example: modelplane outputs demo.gateway address
    """
    import json

    from api.errors import InvocationError
    from api.problems import suggestion
    from cli.asked_stack import asked
    from cli.printing import data, print_plain, table
    from stacks.records import outputs_of

    about = asked(fleet, stack)
    if about.stack is None:
        raise AssertionError("a stack was named")
    found: dict[str, Any] = outputs_of(about.pulumi(), about.stack, show_secrets=show_secrets)
    if name is not None:
        if name not in found:
            hint = suggestion(name, found)
            raise InvocationError(f"stack {about.stack} exports no {name}", hint=hint, code="MP201")
        value = found[name]
        if output is Output.TABLE:
            data(value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False))
        else:
            print_plain(value, output)
    elif output is Output.TABLE:
        data(table(("OUTPUT", "VALUE"), ((key, _short(value)) for key, value in sorted(found.items()))))
    else:
        print_plain(found, output)


def _short(value: Any) -> str:
    import json

    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}…"
