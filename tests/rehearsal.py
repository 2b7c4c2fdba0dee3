"""Previews over a simulated fleet: an engine whose previews run the stacks' decisions on what is planned."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, cast

from simulation import Simulation

from api.errors import MissingInput, ModelplaneError
from api.names import StackName
from programs import placement, routing, workloads
from programs.cluster import declared_outputs
from programs.context import Context, Permissions
from programs.outputs import (
    UNKNOWN,
    Capabilities,
    ClusterOutputs,
    GatewayOutputs,
    Outputs,
    RoutingOutputs,
    ServingOutputs,
    WorkloadsOutputs,
)
from programs.planned import Captured
from stacks.changes import CREATE, DELETE, SAME, UPDATE, Step, counts
from stacks.operation import Operation
from stacks.preview import Preview, PreviewOptions
from stacks.preview_engine import PreviewEngine
from stacks.preview_report import PreviewReport


@dataclass
class Rehearsal:
    """The preview engine of a simulation: what is planned is compared with what the simulation keeps."""

    simulation: Simulation
    failing: dict[str, ModelplaneError] = field(default_factory=dict)
    """Stacks whose previews fail, by name without the fleet's."""
    calls: list[str] = field(default_factory=list)
    contexts: list[Context] = field(default_factory=list)
    refreshed: set[str] = field(default_factory=set)
    planned: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    """What each stack was captured to export."""
    _lock: Any = field(default_factory=Lock)

    @property
    def existing(self) -> dict[StackName, int]:
        return self.simulation.stacks()

    def outputs(self, stack: str) -> Mapping[str, Any] | None:
        fleet, kind, *cluster = stack.split(".", 2)
        return self.simulation.outputs(StackName(fleet, kind, cluster[0] if cluster else None))

    def preview(
        self, stack: StackName, context: Context, take: Callable[[Captured], None], *, refresh: bool = False
    ) -> Operation:
        name = str(stack).removeprefix(f"{self.simulation.fleet}.")
        with self._lock:
            self.calls.append(name)
            self.contexts.append(context)
            self.refreshed |= {name} if refresh else set()
            if name in self.failing:
                return Operation(stack=stack, action="preview", error=self.failing[name])
            try:
                outputs = self._outputs(stack, context)
            except ModelplaneError as error:
                return Operation(stack=stack, action="preview", error=error)
            self.planned[name] = outputs.plain()
            take(Captured(outputs=outputs.plain()))
            steps = self._steps(stack, outputs)
            return Operation(stack=stack, action="preview", steps=steps, changes=counts(steps))

    def preview_destroy(self, stack: StackName) -> Operation:
        self.calls.append(f"destroy {str(stack).removeprefix(f'{self.simulation.fleet}.')}")
        steps = (_step(stack, "all", DELETE),)
        return Operation(stack=stack, action="preview", steps=steps, changes=counts(steps))

    def _outputs(self, stack: StackName, context: Context) -> Outputs:
        name = stack.cluster or ""
        if stack.kind == "placement":
            return placement.decide(context)
        if stack.kind == "routing":
            return routing.planned_outputs(routing.decide(context))
        if stack.kind == "workloads":
            return workloads.planned_outputs(workloads.decide(context))
        if stack.kind == "gateway":
            return context.last(GatewayOutputs) or GatewayOutputs(kubeconfig="hub", address=UNKNOWN, ready=UNKNOWN)
        if stack.kind == "cluster":
            return self._cluster(name, context)
        if context.read(ClusterOutputs, "cluster", name) is None:
            raise MissingInput("the cluster is not there yet")
        none = Capabilities(inference_pools=False, gangs=False, rank=False)
        fresh = ServingOutputs(cluster=name, ready=UNKNOWN, gateway_address=UNKNOWN, capabilities=none)
        return context.last(ServingOutputs) or fresh

    def _cluster(self, name: str, context: Context) -> ClusterOutputs:
        last = context.last(ClusterOutputs)
        listed = context.read(WorkloadsOutputs, "workloads", name)
        declared = declared_outputs(context.documents, context.documents.clusters[name], last, listed)
        return declared.model_copy(update={"kubeconfig": name, "reachable": last.reachable if last else True})

    def _steps(self, stack: StackName, outputs: Outputs) -> tuple[Step, ...]:
        before = self.simulation.kept.get(stack)
        old, new = _parts(before), _parts(outputs)
        if not isinstance(outputs, RoutingOutputs | WorkloadsOutputs):
            return () if before or stack.kind in {"cluster", "placement"} else (_step(stack, "all", CREATE),)
        return tuple(
            _step(
                stack,
                name,
                DELETE
                if name not in new
                else CREATE
                if name not in old
                else UPDATE
                if old[name] != new[name]
                else SAME,
            )
            for name in sorted({*old, *new})
        )


def _parts(outputs: Outputs | None) -> dict[str, Any]:
    """What stands for resources in a stack's outputs."""
    if isinstance(outputs, WorkloadsOutputs):
        return {key: state.template_hash for key, state in outputs.replicas.items()}
    if isinstance(outputs, RoutingOutputs):
        services = {f"service {key}": state.backends for key, state in outputs.services.items()}
        return {**services, **{key: state.backend for key, state in outputs.endpoints.items()}}
    return {}


def _step(stack: StackName, name: str, operation: str) -> Step:
    urn = f"urn:pulumi:{stack}::modelplane::test:index:Part::{name}"
    return Step(urn=urn, type="test:index:Part", operation=operation)


def preview(
    simulation: Simulation,
    *,
    failing: dict[str, ModelplaneError] | None = None,
    permissions: Permissions | None = None,
    refresh: bool = False,
    expect_no_changes: bool = False,
) -> tuple[PreviewReport, Rehearsal]:
    """Preview a simulated fleet, one stack at a time."""
    rehearsal = Rehearsal(simulation, failing=failing or {})
    options = PreviewOptions(
        parallel=1, refresh=refresh, permissions=permissions or Permissions(), expect_no_changes=expect_no_changes
    )
    engine = cast("PreviewEngine", rehearsal)
    return Preview(simulation.documents, engine, options, lambda _: None).run(), rehearsal
