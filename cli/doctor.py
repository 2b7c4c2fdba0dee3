"""`modelplane doctor`: whether everything is at hand, each failure with its fix."""

from typing import TYPE_CHECKING, Annotated

import typer

from cli.options import FleetPaths, Output, OutputFormat

if TYPE_CHECKING:
    from tools.doctor import Check as Checked


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("doctor")(doctor)


def doctor(
    fleet: FleetPaths = None,
    local: Annotated[  # noqa: FBT002 - a flag of the command line
        bool, typer.Option("--local", help="Check, too, what a fleet on this machine needs, as `make doctor` does.")
    ] = False,
    output: OutputFormat = Output.TABLE,
) -> None:
    """Check machine, programs, documents, backend and clusters.

    Credentials are checked as well, and what fails is told with its fix.
    API servers are asked for one object; nothing is written, and no value of a secret is shown. Exit 1 when something
    fails.

    Example: modelplane doctor -f examples/local
    """
    from api.errors import InvalidFleet
    from cli.fleet import load_documents, place_of
    from cli.printing import counted_problems, data, print_plain
    from stacks import doctor as fleets
    from stacks.environment import environment_of
    from tools import doctor as machine
    from tools.doctor import Check

    place = place_of(fleet)
    checks = list(machine.examine()) if local else [machine.check_system(), machine.check_python()]
    checks += fleets.check_programs()
    try:
        documents = load_documents(place)
    except InvalidFleet as invalid:
        found = counted_problems(len(invalid.problems), 0)
        checks.append(Check(subject="Documents", found=f"{place.directory}: {found}", fix="run `modelplane validate`"))
    else:
        number = sum(1 for _ in documents.all())
        checks.append(Check(subject="Documents", found=f"{place.directory}: {number} are valid"))
        checks += fleets.examine(documents, environment_of(place.directory))
    if output is Output.TABLE:
        data("".join(_line(check) for check in checks))
    else:
        plain = [
            {"subject": each.subject, "passed": each.passed, "found": each.found, "fix": each.fix} for each in checks
        ]
        print_plain(plain, output)
    if not all(check.passed for check in checks):
        raise typer.Exit(1)


def _line(check: "Checked") -> str:
    if check.passed:
        return f"ok      {check.subject}: {check.found}\n"
    return f"FAILED  {check.subject}: {check.found}\n        hint: {check.fix}\n"
