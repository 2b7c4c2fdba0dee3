"""A preview in words: tables for a terminal, and rows that reports share."""

from collections.abc import Iterable, Iterator

from cli.costs import cost_table
from cli.printing import table
from cli.progress import TO_COME
from cli.report.parts import changing, goes, resource_row
from cli.summary import refusal_rows
from programs.outputs import UNKNOWN
from stacks.changes import CHANGES
from stacks.operation import Operation
from stacks.preview_diff import LedgerChange, WeightChange
from stacks.preview_report import PreviewReport

ASSUMED = "assumed: what is new or changed will be ready; addresses that only an update can tell are unknown"

Row = tuple[str, ...]


def preview_tables(report: PreviewReport) -> str:
    """What goes or is made anew, then stacks with their resources, replicas, weights, and what finds no place."""
    going = goes(report.operations)
    parts = [table(going.head, going.rows)] if going.rows else []
    parts.append(table(("STACK", *(kind.upper() for kind in CHANGES)), _stack_rows(report.operations)))
    if report.ledger:
        parts.append(table(("REPLICA", "CHANGE", "CLUSTER", "DETAIL"), map(ledger_row, report.ledger)))
    if report.replacements:
        parts.append("".join(f"{found}\n" for found in report.replacements))
    if services := list(service_rows(report)):
        parts.append(table(("SERVICE", "ENDPOINT", "WEIGHT"), services))
    if short := list(short_rows(report)):
        parts.append(table(("DEPLOYMENT", "WANTED", "PLACED"), short))
    parts += cost_table(report.costs)
    if report.unreachable:
        parts.append("".join(f"{line}\n" for line in unreachable_lines(report)))
    if report.assumed:
        parts.append(f"{ASSUMED}\n")
    return "\n".join(parts)


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
        for step in changing(done):
            _, operation, kind, name, fields = resource_row(done, step)
            yield (f"{operation:<7}  {kind} {name}{f'  ({fields})' if fields else ''}",)
        for found in done.drift:
            yield (f"drift    {found.kind} {found.name}: {found}",)
        if done.action == "forget":
            yield ("dropped from the state, what it holds is not called",)
        if done.error is not None:
            yield (f"error {done.error.error_code}: {done.error.message.splitlines()[0]}",)


def _numbers(done: Operation, none: str) -> Row:
    return tuple(str(done.changes.get(kind) or none) for kind in CHANGES)


def ledger_row(change: LedgerChange) -> Row:
    """One replica or cache that comes, goes or changes."""
    name = change.key if change.subject == "replica" else f"cache {change.key}"
    return name, change.kind, change.cluster, _detail(change)


def _detail(change: LedgerChange) -> str:
    if change.kind == "change":
        return ", ".join(change.fields)
    if change.kind == "retire":
        heir = f"{change.successor} takes its place" if change.successor else ""
        return "; ".join(part for part in (change.reason, heir) if part) or "-"
    return f"pool {', '.join(change.pools)}" if change.pools else "-"


def service_rows(report: PreviewReport) -> Iterator[Row]:
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


def short_rows(report: PreviewReport) -> Iterator[Row]:
    """Deployments that find no place for all their replicas, and below each why clusters take no more."""
    for key, state in sorted(report.after.placement.deployments.items()):
        if state.placed < state.wanted:
            yield key, str(state.wanted), str(state.placed)
            yield from refusal_rows(
                {cluster: [found.plain() for found in verdicts] for cluster, verdicts in state.verdicts.items()}, ""
            )


def unreachable_lines(report: PreviewReport) -> Iterator[str]:
    """Clusters that did not answer when they were last asked."""
    for name, reason in sorted(report.unreachable.items()):
        yield f"cluster {name} did not answer when it was last asked ({reason}): what is on it stays as it is"
