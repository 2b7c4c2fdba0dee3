"""A preview in words: tables for a terminal, and Markdown for a comment on a pull request."""

from collections.abc import Iterable, Iterator, Sequence

from cli.costs import COST_HEAD, cost_rows, cost_table
from cli.printing import counted, table
from cli.progress import TO_COME
from cli.summary import refusal_rows
from programs.outputs import UNKNOWN
from stacks.changes import CHANGES, SAME, Step
from stacks.engine import Operation
from stacks.preview_diff import LedgerChange, WeightChange
from stacks.preview_report import PreviewReport

MOST_FIELDS = 3
"""Of one resource that are shown; `-o json` has all."""
MOST_ROWS = 150
"""Of one table in Markdown: a comment on a pull request holds 65,536 characters."""
LONGEST_CELL = 300
ASSUMED = "assumed: what is new or changed will be ready; addresses that only an update can tell are unknown"

Row = tuple[str, ...]


def preview_tables(report: PreviewReport) -> str:
    """Stacks with their resources, then the ledger's changes, services' weights, and what finds no place."""
    parts = [table(("STACK", *(kind.upper() for kind in CHANGES)), _stack_rows(report.operations))]
    if report.ledger:
        parts.append(table(("REPLICA", "CHANGE", "CLUSTER", "DETAIL"), map(_ledger_row, report.ledger)))
    if report.replacements:
        parts.append("".join(f"{found}\n" for found in report.replacements))
    if services := list(_service_rows(report)):
        parts.append(table(("SERVICE", "ENDPOINT", "WEIGHT"), services))
    if short := list(_short_rows(report)):
        parts.append(table(("DEPLOYMENT", "WANTED", "PLACED"), short))
    parts += cost_table(report.costs)
    if report.unreachable:
        parts.append("".join(f"{line}\n" for line in _unreachable(report)))
    if report.assumed:
        parts.append(f"{ASSUMED}\n")
    return "\n".join(parts)


def preview_markdown(report: PreviewReport, fleet: str) -> str:
    """The same as Markdown."""
    parts = [f"### Preview of fleet `{fleet}`", f"**{sentence(report)}**", *_markdown_stacks(report.operations)]
    parts += [f"#### {title}\n\n{_markdown(head, rows)}" for title, head, rows in _sections(report) if rows]
    if report.unreachable:
        parts.append("\n".join(f"- {line}" for line in _unreachable(report)))
    if report.assumed:
        parts.append(f"_{ASSUMED}_")
    return "\n\n".join(parts) + "\n"


def _markdown_stacks(operations: Sequence[Operation]) -> Iterator[str]:
    """Stacks that change with their counts, and their resources below a fold."""
    touched = [done for done in operations if _changing(done) or done.error or done.action != "preview"]
    if touched:
        yield _markdown(("stack", *CHANGES), ((_code(str(done.stack)), *_numbers(done, "")) for done in touched))
    if others := len(operations) - len(touched):
        yield f"{counted(others, 'stack')} without a change."
    resources = [(_code(str(done.stack)), *_resource(step)) for done in operations for step in _changing(done)]
    if resources:
        rows = _markdown(("stack", "operation", "kind", "resource", "fields"), resources)
        yield f"<details><summary>{counted(len(resources), 'resource')}</summary>\n\n{rows}\n</details>"


def _sections(report: PreviewReport) -> Iterator[tuple[str, Row, Sequence[Row]]]:
    """Title, columns and rows of the other tables."""
    drift = [(_code(str(done.stack)), found) for done in report.operations for found in done.drift]
    rows = [(stack, found.kind, found.name, str(found)) for stack, found in drift]
    yield "Changed on clusters by others", ("stack", "kind", "object", "drift"), rows
    yield "Replicas", ("replica", "change", "cluster", "detail"), [_ledger_row(change) for change in report.ledger]
    replaced = [(found.replica, found.cluster, str(found)) for found in report.replacements]
    yield "Replaced pods", ("replica", "cluster", "what it takes"), replaced
    yield "Services", ("service", "endpoint", "weight"), list(_service_rows(report))
    short = [row for row in _short_rows(report) if len(row) > 1]
    yield "Short of replicas", ("deployment", "wanted", "placed"), short
    yield "Cost per hour", COST_HEAD, cost_rows(report.costs)
    errors = [(error.error_code, error.where, error.message) for error in report.errors]
    yield "Errors", ("code", "where", "what"), errors


def sentence(report: PreviewReport) -> str:
    """What it all comes to: `3 to create, 1 to update; ledger: 1 to place`, or that nothing changes."""
    parts = [f"{count} {TO_COME[kind]}" for kind, count in report.changes.items() if count]
    kinds = [change.kind for change in report.ledger]
    ledger = [f"{kinds.count(kind)} to {kind}" for kind in ("place", "retire", "change") if kind in kinds]
    told = [", ".join(parts)] if parts else []
    told += [f"ledger: {', '.join(ledger)}"] if ledger else []
    return "; ".join(told) or "no changes"


def _stack_rows(operations: Iterable[Operation]) -> Iterator[Row]:
    for done in operations:
        yield str(done.stack), *_numbers(done, "-")
        for step in _changing(done):
            operation, kind, name, fields = _resource(step)
            yield (f"{operation:<7}  {kind} {name}{f'  ({fields})' if fields else ''}",)
        for found in done.drift:
            yield (f"drift    {found.kind} {found.name}: {found}",)
        if done.action == "forget":
            yield ("dropped from the state, what it holds is not called",)
        if done.error is not None:
            yield (f"error {done.error.error_code}: {done.error.message.splitlines()[0]}",)


def _numbers(done: Operation, none: str) -> Row:
    return tuple(str(done.changes.get(kind) or none) for kind in CHANGES)


def _changing(done: Operation) -> list[Step]:
    return sorted((step for step in done.steps if step.operation != SAME), key=lambda step: (step.name, step.type))


def _resource(step: Step) -> tuple[str, str, str, str]:
    more = len(step.fields) - MOST_FIELDS
    fields = [*step.fields[:MOST_FIELDS], *([f"{more} more"] if more > 0 else [])]
    return step.operation, step.kind, step.name, ", ".join(fields)


def _ledger_row(change: LedgerChange) -> Row:
    name = change.key if change.subject == "replica" else f"cache {change.key}"
    return name, change.kind, change.cluster, _detail(change)


def _detail(change: LedgerChange) -> str:
    if change.kind == "change":
        return ", ".join(change.fields)
    if change.kind == "retire":
        heir = f"{change.successor} takes its place" if change.successor else ""
        return "; ".join(part for part in (change.reason, heir) if part) or "-"
    return f"pool {', '.join(change.pools)}" if change.pools else "-"


def _service_rows(report: PreviewReport) -> Iterator[Row]:
    """Services that come, go, or split otherwise than before; each with all its endpoints."""
    before, after = report.before.routing.services, report.after.routing.services
    changed = {change.service for change in report.weights if change.is_one} | (before.keys() ^ after.keys())
    for service in sorted(changed):
        weights = [change for change in report.weights if change.service == service]
        for change in weights:
            yield service, change.endpoint, _weight(change)
        if not weights:
            yield service, "-", "new" if service in after else "gone"
        if service in after and after[service].address is UNKNOWN:
            yield service, "address", "unknown"


def _weight(change: WeightChange) -> str:
    old, new = (str(weight) if weight is not None else "-" for weight in (change.before, change.after))
    return f"{old} → {new}" if change.is_one else new


def _short_rows(report: PreviewReport) -> Iterator[Row]:
    for key, state in sorted(report.after.placement.deployments.items()):
        if state.placed < state.wanted:
            yield key, str(state.wanted), str(state.placed)
            yield from refusal_rows(
                {cluster: [found.plain() for found in verdicts] for cluster, verdicts in state.verdicts.items()}, ""
            )


def _unreachable(report: PreviewReport) -> Iterator[str]:
    for name, reason in sorted(report.unreachable.items()):
        yield f"cluster {name} did not answer when it was last asked ({reason}): what is on it stays as it is"


def _code(text: str) -> str:
    return f"`{text}`"


def _markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [tuple(_cell(cell) for cell in row) for row in rows]
    shown = [f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *lines[:MOST_ROWS])]
    if len(lines) > MOST_ROWS:
        shown.append(f"\n… and {len(lines) - MOST_ROWS} more")
    return "\n".join(shown)


def _cell(text: str) -> str:
    whole = " ".join(text.split())
    cut = whole if len(whole) <= LONGEST_CELL else f"{whole[:LONGEST_CELL]}…"
    return cut.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")
