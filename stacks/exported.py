"""What a stack exports, out of its state as Pulumi exports that; secrets in clear, or a placeholder for each."""

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, TypeAlias

from api.names import StackName, parse_stack_name
from programs.outputs import (
    ClusterOutputs,
    GatewayOutputs,
    Outputs,
    PlacementOutputs,
    RoutingOutputs,
    ServingOutputs,
    WorkloadsOutputs,
)
from stacks.changes import STACK_TYPE
from stacks.half_made import without_half_made_pools

SIGNATURE = "4dabf18193072939515e22adb298388d"
_SECRET = "1b47061264138c4ac30d75fd1eb44270"  # noqa: S105 - how Pulumi marks a secret in a state

PLACEHOLDER = "[secret]"
"""What the Pulumi CLI shows in place of a secret output, whatever its type."""

Plain: TypeAlias = Mapping[str, Any]

MODELS: dict[str, type[Outputs]] = {
    "gateway": GatewayOutputs,
    "cluster": ClusterOutputs,
    "serving": ServingOutputs,
    "placement": PlacementOutputs,
    "workloads": WorkloadsOutputs,
    "routing": RoutingOutputs,
}
"""What stacks of each kind export."""


def stacks_listed(text: str) -> dict[StackName, int]:
    """Stacks with the number of resources each holds, out of what `pulumi stack ls --json` says."""
    counts = {entry["name"]: entry.get("resourceCount") or 0 for entry in json.loads(text)}
    return {stack: counts[name] for stack, name in stacks_named(counts).items()}


def stacks_named(names: Iterable[str]) -> dict[StackName, str]:
    """Stacks of ours by what the backend calls them; names that are not of our form are left out."""
    found = {}
    for name in names:
        with suppress(ValueError):
            found[parse_stack_name(name)] = name
    return found


def stack_outputs(state: Plain) -> dict[str, Any]:
    """Outputs of a stack, out of its state that was exported with secrets; empty where it exports nothing."""
    outputs: dict[str, Any] = reveal(_raw_outputs(state))
    return outputs


def outputs_without_secrets(state: Plain) -> dict[str, Any]:
    """Outputs of a stack out of its state, secrets encrypted or not, with a placeholder for each, as the CLI shows."""
    outputs: dict[str, Any] = _hide(_raw_outputs(state))
    return outputs


def _hide(value: Any) -> Any:
    if isinstance(value, Mapping):
        return PLACEHOLDER if value.get(SIGNATURE) == _SECRET else {key: _hide(item) for key, item in value.items()}
    return [_hide(item) for item in value] if isinstance(value, list) else value


def exports_secrets(state: Plain) -> bool:
    """Whether outputs of a stack hold what its state has encrypted, or would have."""
    return _holds_secrets(_raw_outputs(state))


def _raw_outputs(state: Plain) -> Plain:
    resources = (state.get("deployment") or {}).get("resources") or []
    root: Plain = next((found for found in resources if found["type"] == STACK_TYPE and not found.get("delete")), {})
    return without_half_made_pools(root.get("outputs") or {}, resources)


def _holds_secrets(value: Any) -> bool:
    if isinstance(value, Mapping):
        return value.get(SIGNATURE) == _SECRET or any(map(_holds_secrets, value.values()))
    return isinstance(value, list) and any(map(_holds_secrets, value))


def reveal(value: Any) -> Any:
    """Plain data of a state that was exported with its secrets, each of them in place."""
    if isinstance(value, Mapping):
        if value.get(SIGNATURE) == _SECRET:
            return json.loads(value["plaintext"])
        return {key: reveal(item) for key, item in value.items()}
    if isinstance(value, list):
        return [reveal(item) for item in value]
    return value
