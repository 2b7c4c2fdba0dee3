"""Which format a report is written in, and where."""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from api.documents import FleetDocuments
    from cli.report.page import Page
    from cli.report.parts import Beside
    from stacks.environment import Environment

MOST_ROOMS = 200
"""Deployments whose head-room a report tells; `modelplane capacity` tells that of all."""


class ReportOutput(StrEnum):
    """How a preview or a pass is printed."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"
    MARKDOWN = "markdown"
    JUNIT = "junit"
    HTML = "html"


BY_SUFFIX: Mapping[str, ReportOutput] = {
    ".txt": ReportOutput.TABLE,
    ".json": ReportOutput.JSON,
    ".yaml": ReportOutput.YAML,
    ".yml": ReportOutput.YAML,
    ".md": ReportOutput.MARKDOWN,
    ".xml": ReportOutput.JUNIT,
    ".html": ReportOutput.HTML,
}

ReportFormat = Annotated[
    ReportOutput,
    typer.Option("--output", "-o", help="How it is printed; markdown fits a pull request, junit a CI system."),
]
ReportFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "--report",
        metavar="FILE",
        help="Write the whole report there, too, as its name says: .md, .html, .xml, .json, .yaml, .txt.",
    ),
]


def formats_of(files: Sequence[Path]) -> dict[Path, ReportOutput]:
    """What each file is written in.

    Raises:
        InvocationError: a name says no format.

    """
    from api.errors import InvocationError

    for file in files:
        if file.suffix.lower() not in BY_SUFFIX:
            known = ", ".join(BY_SUFFIX)
            raise InvocationError(
                f"--report {file}: its name says no format", hint=f"end it with one of {known}, or with .xml for JUnit"
            )
    return {file: BY_SUFFIX[file.suffix.lower()] for file in files}


def render(page: "Page", output: ReportOutput) -> str:
    """The report in one format."""
    from cli.options import Output
    from cli.printing import as_plain
    from cli.report.as_html import as_html
    from cli.report.as_junit import as_junit
    from cli.report.as_markdown import as_markdown
    from cli.report.as_text import as_text

    writers: Mapping[ReportOutput, Callable[[Page], str]] = {
        ReportOutput.TABLE: as_text,
        ReportOutput.JSON: lambda each: as_plain(dict(each.plain), Output.JSON),
        ReportOutput.YAML: lambda each: as_plain(dict(each.plain), Output.YAML),
        ReportOutput.MARKDOWN: as_markdown,
        ReportOutput.JUNIT: as_junit,
        ReportOutput.HTML: as_html,
    }
    return writers[output](page)


def write_reports(page: "Page", files: Mapping[Path, ReportOutput]) -> None:
    """Write each file.

    Raises:
        InvocationError: MP204, one cannot be written.

    """
    from cli.observed import write

    for file, output in files.items():
        write(render(page, output), file)


def beside(documents: "FleetDocuments", environment: "Environment") -> "Beside":
    """Warnings on the documents, and the head-room that their deployments have now; none where it cannot be told."""
    from api.errors import ModelplaneError
    from api.secrets import unresolved
    from cli.report.parts import Beside
    from scheduler import schedule
    from scheduler.headroom import headroom
    from stacks.observation import observe

    findings = (*documents.warnings, *unresolved(documents))
    try:
        snapshot = observe(documents, environment).snapshot
    except ModelplaneError:
        return Beside(findings=findings)  # what cannot be read is among the errors of the report itself
    plan = schedule(snapshot)
    keys = sorted((each.namespace, each.name) for each in snapshot.deployments)[:MOST_ROOMS]
    return Beside(findings=findings, rooms=[headroom(snapshot, key, plan) for key in keys])
