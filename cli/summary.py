"""The end of a pass in words: deployments and why they are short, services and their URLs, what starts, what failed."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cli.costs import cost_table
from cli.printing import counted, print_error, say, table
from programs.outputs import DeploymentState
from stacks.operation import ProgramBug
from stacks.report import Report


def summary(report: Report) -> str:
    """The tables of a pass."""
    deployments = dict(report.placement.deployments) if report.placement else {}
    services = dict(report.routing.services) if report.routing else {}
    parts = []
    if deployments:
        head = ("DEPLOYMENT", "WANTED", "PLACED", "READY", "STATUS")
        parts.append(table(head, deployment_rows(deployments)))
    if services:
        rows = ((key, str(len(state.backends)), url(state.address)) for key, state in sorted(services.items()))
        parts.append(table(("SERVICE", "ENDPOINTS", "URL"), rows))
    parts += cost_table(report.costs)
    if report.starting:
        parts.append(f"starting: {', '.join(sorted(report.starting))}\n")
    return "\n".join(parts)


def print_failures(report: Report) -> None:
    """Print everything that failed, each once, and what else the engine said about it."""
    told: set[str] = set()
    for error in report.errors:
        if (text := str(error)) not in told:
            told.add(text)
            print_error(error)
            if isinstance(error, ProgramBug):
                say(error.trace)
    if report.not_done is not None:
        left = f"not done: {', '.join(report.not_done)}" if report.not_done else "every stack is done"
        say(f"stopped; {left}")
        say("hint: run the same command again, it goes on from where things are")
    for operation in report.last.values():
        for message in operation.messages if operation.error is not None else ():
            if operation.error is not None and message not in operation.error.message:
                say(f"  {operation.stack}: {message}")


def closing(report: Report, fleet: str, took: object) -> str:
    """The last line: what the pass came to."""
    stacks = {str(operation.stack) for operation in report.operations}
    changed = "no changes" if not report.changed else f"{counted(report.changed, 'resource')} changed"
    failed = len(report.errors)
    failures = f", {counted(failed, 'error')}" if failed else ""
    return f"{fleet}: {changed} in {counted(len(stacks), 'stack')}{failures}, {took}"


def deployment_rows(deployments: Mapping[str, DeploymentState]) -> Iterator[tuple[str, ...]]:
    """A row for each deployment, and below one that is short why each cluster takes no more."""
    for key, state in sorted(deployments.items()):
        conditions = {condition.type: condition for condition in state.conditions}
        ready = conditions.get("Ready")
        counts = (str(state.wanted), str(state.placed), str(state.ready))
        yield (
            key,
            *counts,
            deployment_status(ready.status if ready else "", ready.reason if ready else "", state.wanted),
        )
        if state.placed < state.wanted:
            reasons = {cluster: [found.plain() for found in verdicts] for cluster, verdicts in state.verdicts.items()}
            yield from refusal_rows(reasons, ready.message if ready else "")


def deployment_status(status: str, reason: str, wanted: int) -> str:
    """`Ready`, `Parked` where nothing is wanted, or the reason it is not ready."""
    if status == "True":
        return "Ready" if wanted else "Parked"
    return reason or "-"


def refusal_rows(reasons: Mapping[str, Sequence[Mapping[str, str]]], message: str) -> Iterator[tuple[str]]:
    """Notes on a deployment that is short: why each cluster takes no more of it, else the condition's own sentence."""
    for cluster, found in sorted(reasons.items()):
        yield (f"{cluster}: {'; '.join(reason.get('message') or reason['code'] for reason in found)}",)
    if not reasons and message:
        yield (message,)


def url(address: Any) -> str:
    """An address, where it is known."""
    return address if isinstance(address, str) else "-"
