"""What drift comes to: where live objects are not as they were applied, by whom, and of which class. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from programs.live_objects import COPIES, changed_by_others
from programs.outputs import RoutingOutputs
from stacks.drift import GONE, Drift
from stacks.loop.sight import ROUTE, Sight, planned_weights


class DriftClass(StrEnum):
    """What kind of drift it is."""

    CHANGED = "changed"
    MISSING = "missing"
    EXTRA = "extra"
    SCALED = "scaled-by-other"
    UNREACHABLE = "unreachable"


@dataclass(frozen=True, kw_only=True, order=True)
class Finding:
    """One difference. Values are told of copies and weights alone: other fields may hold what must not be shown."""

    stack: str
    kind: str
    name: str
    """`<namespace>/<name>`, or the name in the stack; of a cluster its name."""
    drift: DriftClass
    what: str
    manager: str = ""
    """Who set it last, as the API server has noted it."""

    def plain(self) -> dict[str, str]:
        """The finding for programs."""
        return {
            "stack": self.stack,
            "class": str(self.drift),
            "kind": self.kind,
            "name": self.name,
            "what": self.what,
            "manager": self.manager,
        }


def of_state(stack: str, drifts: Iterable[Drift], names: Mapping[tuple[str, str], str]) -> Iterator[Finding]:
    """What a look at a stack's objects found; `names` are those of live objects, by kind and name in the stack."""
    for drift in drifts:
        name = names.get((drift.kind, drift.name), drift.name)
        if drift.field == GONE:
            yield Finding(stack=stack, kind=drift.kind, name=name, drift=DriftClass.MISSING, what="is not there")
            continue
        is_scaled = drift.field == COPIES
        yield Finding(
            stack=stack,
            kind=drift.kind,
            name=name,
            drift=DriftClass.SCALED if is_scaled else DriftClass.CHANGED,
            what=f"copies {drift.applied}, found {drift.found}" if is_scaled else drift.field,
            manager=drift.manager,
        )


def of_release(stack: str, manifest: Mapping[str, Any], live: Mapping[str, Any] | None) -> Iterator[Finding]:
    """Where an object of a Helm release is not as its manifest says, and somebody else than Helm has set it so."""
    kind, metadata = str(manifest.get("kind")), manifest.get("metadata") or {}
    own = {"stack": stack, "kind": kind, "name": "/".join(filter(None, [metadata.get("namespace"), metadata["name"]]))}
    if live is None:
        yield Finding(**own, drift=DriftClass.MISSING, what="is not there")
        return
    for path, manager in changed_by_others(manifest, live):
        if path == COPIES:
            found, applied = live["spec"]["replicas"], manifest["spec"]["replicas"]
            yield Finding(**own, drift=DriftClass.SCALED, what=f"copies {applied}, found {found}", manager=manager)
        else:
            yield Finding(**own, drift=DriftClass.CHANGED, what=path, manager=manager)


def of_gateway(stack: str, routing: RoutingOutputs, sight: Sight, managers: Mapping[str, str]) -> Iterator[Finding]:
    """Routes whose weights are not the planned ones; `managers` are who owns their rules, by `<namespace>/<name>`."""
    for key in sorted(routing.services):
        seen = sight.objects.get(f"{ROUTE}/{key}")
        planned = planned_weights(routing, key)
        if seen is not None and planned is not None and seen.weights != planned:
            what = f"weights {_weights(planned - seen.weights)}, found {_weights(seen.weights - planned)}"
            manager = managers.get(key, "")
            yield Finding(stack=stack, kind=ROUTE, name=key, drift=DriftClass.CHANGED, what=what, manager=manager)


def merged(findings: Iterable[Finding]) -> list[Finding]:
    """Each once, in order; a route's weights are told as such and not as fields besides."""
    found = set(findings)
    weighed = {(each.stack, each.name) for each in found if each.kind == ROUTE and each.what.startswith("weights ")}
    return sorted(
        each
        for each in found
        if each.kind != ROUTE or (each.stack, each.name) not in weighed or "backendRefs" not in each.what
    )


def _weights(weights: Iterable[tuple[str, int]]) -> str:
    return " ".join(f"{name}={weight}" for name, weight in sorted(weights)) or "none"
