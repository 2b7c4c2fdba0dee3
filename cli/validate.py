"""`modelplane validate`: every problem of a fleet's documents, without touching a stack or a network."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.options import AgainstState, FleetPaths, IgnoreUnknown, Recursive, Strict

if TYPE_CHECKING:
    from api.errors import Problem
    from api.quotas import Quota


class Report(StrEnum):
    """How findings are printed."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"
    SARIF = "sarif"


Paths = Annotated[list[Path] | None, typer.Argument(metavar="PATH", help="The same as -f PATH.", show_default=False)]
ReportFormat = Annotated[Report, typer.Option("--output", "-o", help="How findings are printed.")]


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("validate")(validate)


def validate(
    paths: Paths = None,
    fleet: FleetPaths = None,
    recursive: Recursive = False,  # noqa: FBT002 - a flag of the command line
    ignore_unknown: IgnoreUnknown = False,  # noqa: FBT002 - a flag of the command line
    strict: Strict = False,  # noqa: FBT002 - a flag of the command line
    against_state: AgainstState = False,  # noqa: FBT002 - a flag of the command line
    output: ReportFormat = Report.TABLE,
) -> None:
    """Check the documents of a fleet.

    Nothing is written and nothing is called. Every problem is told at once, with file, line and field. Exit 2
    where there is an error, 0 with warnings only.

    Example: modelplane validate -f examples/local
    """
    from api.errors import InvalidFleet, Severity
    from cli.findings import check_all
    from cli.options import Output
    from cli.printing import plain_problem, print_plain
    from cli.sarif import sarif

    given = [*(paths or ()), *(fleet or ())]
    found = check_all(given, recursive=recursive, ignore_unknown=ignore_unknown, against_state=against_state)
    errors = sum(problem.severity is Severity.ERROR for problem in found.problems)
    if output is Report.TABLE:
        _print_table(found.problems, errors, found.counted)
        _print_quotas(found.quotas)
    elif output is Report.SARIF:
        print_plain(sarif(found.problems), Output.JSON)
    else:
        plain = {
            "valid": not errors,
            "documents": found.documents,
            "problems": [plain_problem(problem) for problem in found.problems],
            "quotas": [quota.plain() for quota in found.quotas],
        }
        print_plain(plain, Output(output.value))
    if errors or (strict and found.are_strictly_wrong):
        raise typer.Exit(InvalidFleet.exit_code)


def _print_table(problems: "tuple[Problem, ...]", errors: int, checked: str) -> None:
    from cli.printing import counted, counted_problems, data, print_problems, say

    print_problems(problems)
    if errors:
        say(counted_problems(errors, len(problems) - errors))
    else:
        warnings = f", {counted(len(problems), 'warning')}" if problems else ""
        data(f"ok: {checked}{warnings}")


def _print_quotas(quotas: "tuple[Quota, ...]") -> None:
    """A hint: whether an account has them, no document can tell."""
    from cli.printing import say, table

    if quotas:
        rows = (
            (quota.source, quota.account, quota.region or "all", quota.name, f"{quota.least} {quota.unit}".rstrip())
            for quota in quotas
        )
        say("hint: quotas that these clusters take, with every pool as large as it may be:")
        say(table(("CLOUD", "CREDENTIALS", "REGION", "QUOTA", "AT LEAST"), rows).rstrip())
