"""How things look: tables of plain columns, JSON, YAML, problems and errors. Nothing needs colour to be read."""

import io
import json
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, TextIO

from ruamel.yaml import YAML

from api.errors import InvalidFleet, ModelplaneError, Problem, Severity
from cli.options import Output


def say(line: str) -> None:
    """Print one line for people, beside the data."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def data(text: str) -> None:
    """Print a text that is what the command was asked for."""
    sys.stdout.write(text if text.endswith("\n") or not text else f"{text}\n")
    sys.stdout.flush()


def print_plain(value: Any, output: Output) -> None:
    """Print plain data as JSON or YAML."""
    data(as_plain(value, output))


def as_plain(value: Any, output: Output) -> str:
    """Plain data as JSON or YAML."""
    if output is Output.JSON:
        return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
    text = io.StringIO()
    write_yaml(value, text)
    return text.getvalue()


def write_yaml(value: Any, stream: TextIO) -> None:
    """Write plain data as YAML, keys in their order."""
    writer = YAML(typ="safe", pure=True)
    writer.default_flow_style = False
    writer.sort_base_mapping_type_on_output = False  # type: ignore[assignment]  # declared without a type
    writer.width = 4096
    writer.dump(value, stream)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Columns under their names, two blanks apart; a row of one cell is a note below the row before it."""
    lines = [tuple(head), *(tuple(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines if len(line) == len(head)) for column in range(len(head))]
    return "".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=False)).rstrip() + "\n"
        if len(line) == len(head)
        else f"  {line[0]}\n"
        for line in lines
    )


def print_problems(problems: Iterable[Problem]) -> None:
    """Print problems of documents, one below the other, each with its hint."""
    for problem in problems:
        head = f"{problem.severity} {problem.code}"
        parts = [part for part in (problem.where, problem.subject, problem.path, problem.message) if part]
        say(f"{head}: {': '.join(parts)}" + _hint(problem.hint))


def print_error(error: ModelplaneError) -> None:
    """Print an error once: code, place, what, and the way out."""
    if isinstance(error, InvalidFleet):
        print_problems(error.problems)
        counts = Counter(problem.severity for problem in error.problems)
        say(f"{counted_problems(counts[Severity.ERROR], counts[Severity.WARNING])}; nothing was changed")
        return
    where = f"{error.where}: " if error.where else ""
    say(f"error {error.error_code}: {where}{error.message}" + _hint(error.hint))


def counted(number: int, noun: str) -> str:
    """`1 stack`, `2 stacks`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def counted_problems(errors: int, warnings: int) -> str:
    """`2 errors, 1 warning`."""
    return f"{counted(errors, 'error')}, {counted(warnings, 'warning')}"


def plain_problem(problem: Problem) -> dict[str, Any]:
    """A problem for programs."""
    return {
        "severity": str(problem.severity),
        "code": str(problem.code),
        "rule": problem.rule,
        "file": problem.file,
        "line": problem.line,
        "subject": problem.subject,
        "path": problem.path,
        "message": problem.message,
        "hint": problem.hint,
    }


def _hint(hint: str) -> str:
    return f"\nhint: {hint}" if hint else ""
