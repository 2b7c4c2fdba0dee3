"""A preview as a report. Pure."""

from collections.abc import Iterator

from cli.preview_tables import ASSUMED, ledger_row, sentence, service_rows, short_rows, unreachable_lines
from cli.report import parts
from cli.report.page import Case, Page, Section
from programs.outputs import UNKNOWN
from stacks.changes import CHANGES
from stacks.operation import Operation
from stacks.preview_report import PreviewReport


def preview_page(report: PreviewReport, fleet: str, beside: parts.Beside) -> Page:
    """What a preview says: what goes on top, then replicas, stacks, services, room, cost and what is not known."""
    unknowns = list(_unknowns(report))
    return Page(
        fleet=fleet,
        command="preview",
        sentence=sentence(report),
        exit_code=report.exit_code,
        sections=[*_placement(report), *_stacks(report), *_rest(report, beside)],
        unknowns=unknowns,
        cases=list(_cases(report)),
        plain={"fleet": fleet, **report.plain(), **parts.beside_plain(beside), "unknowns": unknowns},
    )


def _placement(report: PreviewReport) -> Iterator[Section]:
    yield parts.errors(report.errors)
    yield parts.goes(report.operations)
    replaced = [(found.replica, found.cluster, str(found)) for found in report.replacements]
    yield Section(title="Replaced pods", head=("REPLICA", "CLUSTER", "WHAT IT TAKES"), rows=replaced, urgent=True)
    head = ("REPLICA", "CHANGE", "CLUSTER", "DETAIL")
    yield Section(title="Replicas", head=head, rows=[ledger_row(change) for change in report.ledger])
    yield Section(
        title="Short of replicas", head=("DEPLOYMENT", "WANTED", "PLACED"), rows=list(short_rows(report)), urgent=True
    )


def _stacks(report: PreviewReport) -> Iterator[Section]:
    touched = [done for done in report.operations if parts.changing(done) or done.error or done.action != "preview"]
    rows: list[tuple[str, ...]] = [(str(done.stack), *_numbers(done)) for done in touched]
    if others := len(report.operations) - len(touched):
        rows.append((f"{others} {'stack' if others == 1 else 'stacks'} without a change",))
    yield Section(title="Changes by stack", head=("STACK", *(kind.upper() for kind in CHANGES)), rows=rows, code=True)
    yield parts.resources(report.operations)
    drift = [(str(done.stack), each.kind, each.name, str(each)) for done in report.operations for each in done.drift]
    head = ("STACK", "KIND", "OBJECT", "DRIFT")
    yield Section(title="Changed on clusters by others", head=head, rows=drift, code=True)


def _rest(report: PreviewReport, beside: parts.Beside) -> Iterator[Section]:
    yield Section(title="Traffic", head=("SERVICE", "ENDPOINT", "WEIGHT"), rows=list(service_rows(report)))
    yield parts.capacity(beside)
    yield parts.costs(report.costs)
    yield parts.findings(beside)


def _unknowns(report: PreviewReport) -> Iterator[str]:
    yield from unreachable_lines(report)
    for name, outputs in sorted(report.clusters.items()):
        if outputs.assumed:
            yield f"cluster {name} was not asked: its pools are taken to be as they are declared"
    for key, state in sorted(report.after.routing.services.items()):
        if state.address is UNKNOWN:
            yield f"the address of service {key} is told by the update"
    if report.assumed:
        yield ASSUMED.removeprefix("assumed: ")


def _cases(report: PreviewReport) -> Iterator[Case]:
    yield from map(parts.stack_case, report.operations)
    for key, state in sorted(report.after.placement.deployments.items()):
        reasons = (
            f"{name}: {'; '.join(each.message or each.code for each in found)}"
            for name, found in sorted(state.verdicts.items())
        )
        yield parts.placement_case(key, wanted=state.wanted, placed=state.placed, reasons=reasons)
    for name, reason in sorted(report.unreachable.items()):
        yield Case(group="clusters", name=name, failure=f"did not answer when last asked: {reason}", kind="Unreachable")
    for error in report.failures:
        yield Case(group="fleet", name=error.where or error.error_code, failure=str(error), kind=error.error_code)
    if report.expect_no_changes:
        failure = sentence(report) if report.has_changes else ""
        yield Case(group="fleet", name="no changes", failure=failure, kind="Changes" if failure else "")


def _numbers(done: Operation) -> tuple[str, ...]:
    return tuple(str(done.changes.get(kind) or "-") for kind in CHANGES)
