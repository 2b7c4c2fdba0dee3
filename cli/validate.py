"""`modelplane validate`: every problem of a fleet's documents, without touching a stack or a network."""

import typer

from cli.options import FleetPaths, Output, OutputFormat


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("validate")(validate)


def validate(fleet: FleetPaths = None, output: OutputFormat = Output.TABLE) -> None:
    """Check the documents of a fleet.

    Nothing is written and nothing is called. Every problem is told at once, with file, line and field. Exit 2
    where there is an error, 0 with warnings only.

    Example: modelplane validate -f examples/local
    """
    from api.errors import InvalidFleet, Severity
    from api.secrets import unresolved
    from cli.fleet import load_documents, place_of
    from cli.printing import counted, counted_problems, data, plain_problem, print_plain, print_problems, say

    count = 0
    try:
        documents = load_documents(place_of(fleet))
        count = sum(1 for _ in documents.all())
        problems = [*documents.warnings, *unresolved(documents)]
    except InvalidFleet as invalid:
        problems = list(invalid.problems)
    errors = sum(problem.severity is Severity.ERROR for problem in problems)
    if output is Output.TABLE:
        print_problems(problems)
        if errors:
            say(counted_problems(errors, len(problems) - errors))
        else:
            warnings = f", {counted(len(problems), 'warning')}" if problems else ""
            data(f"ok: {counted(count, 'document')}{warnings}")
    else:
        plain = {"valid": not errors, "documents": count, "problems": [plain_problem(problem) for problem in problems]}
        print_plain(plain, output)
    if errors:
        raise typer.Exit(InvalidFleet.exit_code)
