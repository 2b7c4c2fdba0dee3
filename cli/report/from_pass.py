"""A pass of `up` as a report. Pure."""

from collections.abc import Iterator, Mapping

from cli.report import parts
from cli.report.page import Case, Page, Section
from cli.summary import closing, deployment_rows, url
from stacks.changes import CHANGES
from stacks.report import Report


def pass_page(report: Report, fleet: str, beside: parts.Beside, took: object) -> Page:
    """What a pass did: what failed and went on top, then deployments, stacks, services, room and cost."""
    unknowns = [f"replica {name} was applied and is not ready yet" for name in sorted(report.starting)]
    told = report.plain()
    return Page(
        fleet=fleet,
        command="up",
        sentence=closing(report, fleet, took).removeprefix(f"{fleet}: "),
        exit_code=report.exit_code,
        sections=list(_sections(report, beside, told["stacks"])),
        unknowns=unknowns,
        cases=list(_cases(report)),
        plain={"fleet": fleet, **told, **parts.beside_plain(beside)},
    )


def _sections(
    report: Report, beside: parts.Beside, stacks: Mapping[str, Mapping[str, Mapping[str, int]]]
) -> Iterator[Section]:
    yield parts.errors(report.errors)
    yield parts.goes(report.operations)
    deployments = dict(report.placement.deployments) if report.placement else {}
    head = ("DEPLOYMENT", "WANTED", "PLACED", "READY", "STATUS")
    yield Section(title="Deployments", head=head, rows=list(deployment_rows(deployments)))
    counted = {name: found["changes"] for name, found in stacks.items()}
    rows = [(name, *(str(found.get(kind) or "-") for kind in CHANGES)) for name, found in counted.items() if found]
    if quiet := len(counted) - len(rows):
        rows.append((f"{quiet} {'stack' if quiet == 1 else 'stacks'} without a change",))
    yield Section(title="Changes by stack", head=("STACK", *(kind.upper() for kind in CHANGES)), rows=rows, code=True)
    yield parts.resources(report.operations)
    services = dict(report.routing.services) if report.routing else {}
    traffic = [
        (key, backend.endpoint, str(backend.weight), url(state.address))
        for key, state in sorted(services.items())
        for backend in state.backends
    ]
    yield Section(title="Traffic", head=("SERVICE", "ENDPOINT", "WEIGHT", "URL"), rows=traffic)
    yield parts.capacity(beside)
    yield parts.costs(report.costs)
    yield parts.findings(beside)


def _cases(report: Report) -> Iterator[Case]:
    yield from map(parts.stack_case, report.last.values())
    for key, state in sorted((report.placement.deployments if report.placement else {}).items()):
        reasons = (
            f"{name}: {'; '.join(each.message or each.code for each in found)}"
            for name, found in sorted(state.verdicts.items())
        )
        yield parts.placement_case(key, wanted=state.wanted, placed=state.placed, reasons=reasons)
    for name, cluster in sorted(report.clusters.items()):
        failure = "" if cluster.reachable else f"does not answer: {cluster.reason}"
        yield Case(group="clusters", name=name, failure=failure, kind="Unreachable" if failure else "")
    for error in report.failures:
        yield Case(group="fleet", name=error.where or error.error_code, failure=str(error), kind=error.error_code)
    if report.timed_out:
        waiting = ", ".join(sorted(report.starting))
        yield Case(group="fleet", name="ready in time", failure=f"still starting: {waiting}", kind="TimedOut")
