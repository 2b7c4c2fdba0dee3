"""What an operation told while it ran: resources and what happened to them, errors and warnings."""

import re
from collections.abc import Callable, Collection
from typing import Any

from pulumi.automation.events import EngineEvent, StepEventMetadata

from stacks.changes import SAME, STACK_TYPE, Step, net, step_of
from stacks.drift import Drift, drift_of

KUBERNETES = "kubernetes:"
RELEASE = "kubernetes:helm.sh/v3:Release"
_COLOR = re.compile(r"<\{%[^%]*%\}>|\x1b\[[0-9;]*m")

_PASSED_OVER = ("pulumi-resource-kubernetes from $PATH", "resource plugin kubernetes is expected to have version")
"""What the engine says of a provider that was built rather than fetched."""


REFRESH, LOOK = frozenset({"refresh"}), frozenset({"update", "delete"})
"""Steps that tell of drift: those of a refresh before an operation, and of one that is only a look."""

DOING = {
    "create": "creating",
    "create-replacement": "creating anew",
    "update": "updating",
    "delete": "deleting",
    "delete-replaced": "deleting",
    "refresh": "looking at",
    "read": "reading",
}
"""Steps that take time, in words; the engine's others are over at once."""


class Watch:
    """Collects steps and messages out of the engine's events."""

    def __init__(self, debug: Callable[[str], None] | None, found_by: Collection[str] = REFRESH) -> None:
        self._steps: list[Step] = []
        self.errors: list[str] = []
        self.warnings: list[str] = []
        self.told: list[str] = []
        """Lines for a log, in the order of events: what happened to resources, and what was said at any severity."""
        self.drift: list[Drift] = []
        """What a refresh found changed by others."""
        self.failed_creations: list[dict[str, Any]] = []
        """Entries that the state would have for objects whose creation failed, as far as telling them apart needs."""
        self.failed: list[str] = []
        """Names of resources whose operation failed."""
        self.failed_releases: list[dict[str, Any]] = []
        """Helm releases that could not be installed, upgraded or removed."""
        self._at: dict[str, str] = {}
        self._debug = debug
        self._found_by = found_by

    @property
    def steps(self) -> tuple[Step, ...]:
        """What happened to resources so far, each once."""
        return net(self._steps)

    @property
    def at(self) -> tuple[str, ...]:
        """What is being done to resources at this moment, in words and the longest first; from any thread."""
        return tuple(self._at.copy().values())

    def __call__(self, event: EngineEvent) -> None:
        """Take one event."""
        self._follow(event)
        if event.res_outputs_event is not None:
            told = event.res_outputs_event.metadata
            operation = str(getattr(told.op, "value", told.op))
            step = step_of(told.urn, told.type, operation, told.detailed_diff or ())
            self._steps += [step] if step else []
            self.told += [f"{step.operation:<7}  {step.kind} {step.name}"] if step and step.operation != SAME else []
            if operation in self._found_by:
                self.drift += drift_of(told)
        if event.res_op_failed_event is not None:
            told = event.res_op_failed_event.metadata
            self.failed.append(told.urn.rpartition("::")[2])
            self.told.append(f"failed   {told.type.rpartition(':')[2]} {self.failed[-1]}")
            self.failed_creations += creation(told)
            self.failed_releases += [_entry(told, release_of(told))] if told.type == RELEASE else []
        diagnostic = event.diagnostic_event
        if diagnostic is None:
            return
        text = clean(diagnostic.message)
        if not text or any(part in text for part in _PASSED_OVER):
            return
        if self._debug:
            self._debug(f"{diagnostic.severity}: {text}")
        if diagnostic.severity != "debug":
            self.told += f"{diagnostic.severity:<7}  {_with_subject(diagnostic.urn, text)}".splitlines()
        if diagnostic.severity == "error":
            self.errors.append(_with_subject(diagnostic.urn, text))
        elif diagnostic.severity == "warning":
            self.warnings.append(text)

    def _follow(self, event: EngineEvent) -> None:
        """Note which resources something is being done to."""
        if event.resource_pre_event is not None:
            told = event.resource_pre_event.metadata
            operation = str(getattr(told.op, "value", told.op))
            doing, step = DOING.get(operation), step_of(told.urn, told.type, operation)
            if doing and step and told.provider:  # none: a component, over at once
                self._at[told.urn] = f"{doing} {step.kind} {step.name}"
        for done in (event.res_outputs_event, event.res_op_failed_event):
            if done is not None:
                self._at.pop(done.metadata.urn, None)


def creation(told: StepEventMetadata) -> list[dict[str, Any]]:
    """The entry of a Kubernetes object that an operation was to create: what it is and where, none of its content."""
    new, operation = told.new, str(getattr(told.op, "value", told.op))
    if new is None or new.inputs is None or not operation.startswith("create") or not told.type.startswith(KUBERNETES):
        return []
    if told.type == RELEASE:
        return [_entry(told, release_of(told))]
    inputs = {key: new.inputs.get(key) for key in ("apiVersion", "kind")}
    metadata = new.inputs.get("metadata")
    if not isinstance(metadata, dict) or not all(isinstance(part, str) for part in inputs.values()):
        return []
    inputs["metadata"] = {key: metadata[key] for key in ("name", "namespace") if key in metadata}
    return [_entry(told, inputs)]


def release_of(told: StepEventMetadata) -> dict[str, str]:
    """What identifies the Helm release of a step: chart, version, name and namespace."""
    inputs = (told.new.inputs if told.new else None) or {}
    return {key: inputs[key] for key in ("chart", "version", "name", "namespace") if isinstance(inputs.get(key), str)}


def _entry(told: StepEventMetadata, inputs: dict[str, Any]) -> dict[str, Any]:
    return {
        "urn": told.urn,
        "type": told.type,
        "custom": True,
        "parent": told.new.parent if told.new else "",
        "provider": told.provider,
        "inputs": inputs,
    }


def clean(text: str) -> str:
    """A message without colour codes and surrounding space."""
    return _COLOR.sub("", text).strip()


def first_line(text: str) -> str:
    """The first line of an engine's message that says something: its own error line when there is one."""
    lines = [line.strip() for line in clean(text).splitlines() if line.strip()]
    return next((line for line in lines if "error:" in line), lines[-1] if lines else "no message")


def _with_subject(urn: str | None, text: str) -> str:
    subject = urn.rpartition("::")[2] if urn else ""
    return f"{subject}: {text}" if subject and f"::{STACK_TYPE}::" not in (urn or "") else text
