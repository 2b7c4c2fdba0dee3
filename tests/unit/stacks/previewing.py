"""The fleet that previews of tests are of, and what their reports say in short."""

from collections.abc import Callable
from typing import Any

from builders import (
    a_class,
    a_cluster,
    a_fleet,
)
from states import an_entry, documents_of
from unit.stacks.examples import AT_FIRST, WITH_CANARY

from api.base import Kind
from api.documents import FleetDocuments
from stacks.changes import CREATE, DELETE, UPDATE
from stacks.preview_report import PreviewReport
from stacks.report import Report

EU, US = an_entry("mock-demo", "gpu-eu-west"), an_entry("mock-demo", "gpu-us-east")
V2 = an_entry("mock-demo-v2", "gpu-us-east")
INFRASTRUCTURE = ["gateway", "cluster.gpu-eu-west", "serving.gpu-eu-west", "cluster.gpu-us-east", "serving.gpu-us-east"]
DECIDING = ["placement", "workloads.gpu-eu-west", "workloads.gpu-us-east", "routing"]

Up = Callable[..., Report]


def the_example(*kinds: Kind, **fleet: Any) -> FleetDocuments:
    clusters = (a_cluster("gpu-us-east"), a_cluster("gpu-eu-west"))
    return documents_of(a_fleet("local", deletion={"maxShare": "100%"}, **fleet), a_class(), *clusters, *kinds)


FIRST = the_example(*AT_FIRST)
CANARY = the_example(*WITH_CANARY)


def operations(report: PreviewReport) -> dict[str, dict[str, list[str]]]:
    """Parts of each stack by what is done to them."""
    found: dict[str, dict[str, list[str]]] = {}
    for operation in report.operations:
        for step in operation.steps:
            if step.operation in {CREATE, UPDATE, DELETE}:
                stack = found.setdefault(str(operation.stack).removeprefix("local."), {})
                stack.setdefault(step.operation, []).append(step.name)
    return found


def ledger(report: PreviewReport) -> list[tuple[str, str]]:
    return [(change.kind, change.key) for change in report.ledger]


def weights(report: PreviewReport) -> list[tuple[str, int | None, int | None]]:
    return [(change.endpoint, change.before, change.after) for change in report.weights]
