"""What a refresh tells of fields that others have changed."""

from typing import Any

import pytest
from pulumi.automation import events

from stacks.drift import Drift, drift_of
from stacks.events import LOOK, Watch

OURS = "pulumi-kubernetes-1"


def entry(manager: str, fields: dict[str, Any], time: str = "2026-08-01T00:00:00Z") -> dict[str, Any]:
    return {"manager": manager, "operation": "Update", "time": time, "fieldsV1": fields}


REPLICAS = {"f:spec": {"f:replicas": {}}}


def live(*managed: dict[str, Any], replicas: int = 2) -> dict[str, Any]:
    return {"spec": {"replicas": replicas}, "metadata": {"managedFields": list(managed)}, "__fieldManager": OURS}


def a_step(
    outputs: dict[str, Any] | None, *paths: str, kind: str = "kubernetes:apps/v1:Deployment"
) -> events.StepEventMetadata:
    urn = f"urn:pulumi:prod.workloads.us::modelplane::{kind}::ml-team/a/main"

    def state(found: dict[str, Any]) -> events.StepEventStateMetadata:
        return events.StepEventStateMetadata(type=kind, urn=urn, id="a", parent="", provider="", outputs=found)

    diff = {path: events.PropertyDiff(diff_kind=events.DiffKind.UPDATE, input_diff=False) for path in paths}
    return events.StepEventMetadata(
        op=events.OpType.REFRESH,
        urn=urn,
        type=kind,
        provider="",
        old=state(live(replicas=1)),
        new=state(outputs) if outputs is not None else None,
        detailed_diff=diff,
    )


STEPS: dict[str, tuple[events.StepEventMetadata, list[str]]] = {
    "nothing differs": (a_step(live()), []),
    "copies, and by whom": (
        a_step(live(entry(OURS, REPLICAS), entry("kubectl", REPLICAS)), "spec.replicas"),
        ["copies 2 → 1, last set by kubectl"],
    ),
    "the last of several": (
        a_step(
            live(
                entry("autoscaler", REPLICAS, "2026-08-02T00:00:00Z"),
                entry("kubectl", REPLICAS, "2026-08-01T00:00:00Z"),
            ),
            "spec.replicas",
        ),
        ["copies 2 → 1, last set by autoscaler"],
    ),
    "nobody is noted": (a_step(live(), "spec.replicas"), ["copies 2 → 1"]),
    "a field whose value may not be shown": (
        a_step(
            live(entry("kubectl", {"f:spec": {"f:template": {"f:spec": {"f:containers": {}}}}})),
            "spec.template.spec.containers[0].env[0].value",
        ),
        ["spec.template.spec.containers[0].env[0].value differs, last set by kubectl"],
    ),
    "it is gone": (a_step(None), ["is not there any more"]),
    "a component has no live object": (a_step(None, kind="modelplane:index:ModelReplica"), []),
    "a provider neither": (a_step(None, kind="pulumi:providers:kubernetes"), []),
}


@pytest.mark.parametrize(("step", "want"), STEPS.values(), ids=STEPS)
def test_drift(step: events.StepEventMetadata, want: list[str]) -> None:
    assert [str(found) for found in drift_of(step)] == want


def test_an_operation_notes_it_and_counts_no_resource_for_it() -> None:
    watch = Watch(None)
    step = a_step(live(entry("kubectl", REPLICAS)), "spec.replicas")
    watch(events.EngineEvent(0, 0, res_outputs_event=events.ResOutputsEvent(metadata=step)))
    assert watch.drift == [
        Drift(kind="Deployment", name="ml-team/a/main", field="spec.replicas", found=2, applied=1, manager="kubectl")
    ]
    assert [found.operation for found in watch.steps] == ["same"]


@pytest.mark.parametrize(
    ("operation", "outputs", "field"),
    [(events.OpType.UPDATE, live(), "spec.replicas"), (events.OpType.DELETE, None, "gone")],
)
def test_a_look_tells_of_drift_by_the_steps_that_a_refresh_would_take(
    operation: events.OpType, outputs: dict[str, Any] | None, field: str
) -> None:
    step = a_step(outputs, "spec.replicas")
    step.op = operation
    event = events.EngineEvent(0, 0, res_outputs_event=events.ResOutputsEvent(metadata=step))
    look, other = Watch(None, LOOK), Watch(None)
    look(event)
    other(event)
    assert [found.field for found in look.drift] == [field]
    assert other.drift == [], "an update of ours is no drift"
