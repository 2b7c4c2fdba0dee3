"""Sections that a preview and a pass have in common. Pure: values in, rows out."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from api.errors import ModelplaneError, Problem
from cli.costs import COST_HEAD, cost_rows
from cli.placement_words import CAPACITY_HEAD, capacity_rows, headroom_plain
from cli.printing import plain_problem
from cli.report.page import MOST_FINDINGS, Case, Row, Section
from scheduler.headroom import Headroom
from stacks.changes import DELETE, REPLACE, SAME, Step
from stacks.costs import Costs
from stacks.operation import Operation

MOST_FIELDS = 3
"""Of one resource that are shown; JSON has all."""


@dataclass(frozen=True, kw_only=True)
class Beside:
    """What a report tells beside the preview or the pass itself."""

    findings: Sequence[Problem] = ()
    """Warnings on the documents."""
    rooms: Sequence[Headroom] = ()
    """Head-room after it, by deployment."""


def changing(operation: Operation) -> list[Step]:
    """Resources that change, in the order of their names."""
    found = (step for step in operation.steps if step.operation != SAME)
    return sorted(found, key=lambda step: (step.name, step.type))


def resource_row(operation: Operation, step: Step) -> Row:
    """One resource of one stack."""
    more = len(step.fields) - MOST_FIELDS
    fields = [*step.fields[:MOST_FIELDS], *([f"{more} more"] if more > 0 else [])]
    return str(operation.stack), step.operation, step.kind, step.name, ", ".join(fields)


def goes(operations: Iterable[Operation]) -> Section:
    """Resources that are deleted or made anew."""
    rows = [
        resource_row(operation, step)
        for operation in operations
        for step in changing(operation)
        if step.operation in (DELETE, REPLACE)
    ]
    head = ("STACK", "OPERATION", "KIND", "RESOURCE", "FIELDS")
    return Section(title="Deleted and replaced", head=head, rows=rows, urgent=True, code=True)


def resources(operations: Iterable[Operation]) -> Section:
    """Every resource that changes."""
    rows = [resource_row(operation, step) for operation in operations for step in changing(operation)]
    head = ("STACK", "OPERATION", "KIND", "RESOURCE", "FIELDS")
    return Section(title="Resources", head=head, rows=rows, folded=True, code=True)


def capacity(beside: Beside) -> Section:
    """How many more replicas of each deployment fit, and where."""
    return Section(title="Capacity and head-room", head=CAPACITY_HEAD, rows=list(capacity_rows(beside.rooms)))


def costs(found: Costs) -> Section:
    """Cost per hour, before and after."""
    return Section(title="Cost per hour", head=COST_HEAD, rows=cost_rows(found))


def findings(beside: Beside) -> Section:
    """Warnings on the documents."""
    head = ("CODE", "WHERE", "WHAT", "HINT")
    rows: list[Row] = [
        (str(each.code), each.where, ": ".join(filter(None, [each.subject, each.path, each.message])), each.hint)
        for each in beside.findings[:MOST_FINDINGS]
    ]
    if more := len(beside.findings) - MOST_FINDINGS:
        rows += [(f"{more} more; `modelplane validate` shows them",)] if more > 0 else []
    return Section(title="Findings in the documents", head=head, rows=rows)


def errors(found: Iterable[ModelplaneError]) -> Section:
    """What failed, each once."""
    rows = [(error.error_code, error.where, error.message, error.hint) for error in found]
    return Section(title="Errors", head=("CODE", "WHERE", "WHAT", "HINT"), rows=list(dict.fromkeys(rows)), urgent=True)


def stack_case(operation: Operation) -> Case:
    """Whether an operation went well."""
    error = operation.error
    return Case(
        group="stacks",
        name=str(operation.stack),
        seconds=operation.seconds,
        failure=str(error) if error else "",
        kind=error.error_code if error else "",
        note="\n".join(operation.messages),
    )


def placement_case(key: str, *, wanted: int, placed: int, reasons: Iterable[str]) -> Case:
    """Whether a deployment has a place for all its replicas."""
    failure = "" if placed >= wanted else "\n".join([f"{placed} of {wanted} replicas have a place", *reasons])
    return Case(group="deployments", name=key, failure=failure, kind="NotPlaced" if failure else "")


def beside_plain(beside: Beside) -> dict[str, Any]:
    """The same for programs."""
    return {
        "capacity": [headroom_plain(room) for room in beside.rooms],
        "findings": [plain_problem(problem) for problem in beside.findings],
    }
