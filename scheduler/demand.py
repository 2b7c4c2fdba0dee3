"""What one deployment asks for, taken out of its document once for a whole run."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from api.deployments import Member, ModelDeployment
from api.terms import DeviceRequest, Phase, Role, Toleration
from scheduler.cel import compile_selector
from scheduler.snapshot import CacheFootprint, DeploymentKey

_RANK = "MODELPLANE_RANK"

COST_TOTAL_MAX = 500_000
"""Estimated cost of all distinct selectors of one deployment on one device, in the units of a single one's limit."""


@dataclass(frozen=True, kw_only=True)
class SelectorProblem:
    """A device selector that cannot be used (MD-F1)."""

    path: tuple[str | int, ...]
    """Where it stands in the document."""
    expression: str
    message: str


@dataclass(frozen=True, kw_only=True)
class MemberDemand:
    """One member: its role, the devices each of its pods needs, and its pods in one copy."""

    role: Role
    requests: tuple[DeviceRequest, ...]
    nodes: int


@dataclass(frozen=True, kw_only=True)
class EngineDemand:
    """One engine of every replica."""

    name: str
    copies: int
    phase: Phase | None
    members: tuple[MemberDemand, ...]


@dataclass(frozen=True, kw_only=True)
class Demand:
    """One deployment: how many replicas of which shape, and what gates their clusters."""

    key: DeploymentKey
    wanted: int
    engines: tuple[EngineDemand, ...]
    tolerations: tuple[Toleration, ...]
    labels: Mapping[str, str]
    cache: str | None
    """Name of the cache it needs."""
    footprint: CacheFootprint | None
    """Where that cache can be; None where the cache does not exist."""
    conflict: str | None
    """The label that the deployment and its cache want with different values."""
    prefill_decode: bool
    gang: bool
    reads_rank: bool
    invalid_selector: str | None


def demand_of(deployment: ModelDeployment, caches: Mapping[DeploymentKey, CacheFootprint]) -> Demand:
    """Read a deployment's document. The caches are keyed by namespace and name."""
    shape = deployment.spec.template.spec
    labels = shape.cluster_selector.match_labels if shape.cluster_selector else {}
    cache = shape.model_cache_ref.name if shape.model_cache_ref else None
    footprint = caches.get((deployment.namespace, cache)) if cache else None
    problem = next(selector_problems(deployment), None)
    gangs = [engine for engine in shape.engines if len(engine.members) > 1]
    return Demand(
        key=(deployment.namespace, deployment.name),
        wanted=deployment.spec.replicas,
        engines=tuple(
            EngineDemand(
                name=engine.name,
                copies=engine.copies,
                phase=engine.phase,
                members=tuple(_member(member) for member in engine.members),
            )
            for engine in shape.engines
        ),
        tolerations=shape.tolerations,
        labels=labels,
        cache=cache,
        footprint=footprint,
        conflict=_conflict(labels, footprint.match_labels if footprint else {}),
        prefill_decode=shape.serving is not None and shape.serving.mode == "PrefillDecode",
        gang=bool(gangs),
        reads_rank=any(_reads_rank(member) for engine in gangs for member in engine.members),
        invalid_selector=f"{_place(problem.path)}: {problem.message}" if problem else None,
    )


def selector_problems(deployment: ModelDeployment) -> Iterator[SelectorProblem]:
    """Go through the deployment's device selectors that cannot be used, in the order of the document.

    Such a selector does not compile, or would together with those before it take too long to evaluate.
    """
    costs: dict[str, int] = {}
    for path, expression in _selectors(deployment):
        compiled = compile_selector(expression)
        message = compiled.error
        if message is None:
            costs[expression] = compiled.cost
            if sum(costs.values()) > COST_TOTAL_MAX:
                message = "with the selectors before it, this one would take too long to evaluate; use shorter lists"
        if message is not None:
            yield SelectorProblem(path=path, expression=expression, message=message)


def _selectors(deployment: ModelDeployment) -> Iterator[tuple[tuple[str | int, ...], str]]:
    for engine_index, engine in enumerate(deployment.spec.template.spec.engines):
        for member_index, member in enumerate(engine.members):
            for request_index, request in enumerate(member.node_selector.devices if member.node_selector else ()):
                for index, selector in enumerate(request.selectors):
                    above = ("spec", "template", "spec", "engines", engine_index, "members", member_index)
                    here = ("nodeSelector", "devices", request_index, "selectors", index, "cel")
                    yield (*above, *here), selector.cel


def _member(member: Member) -> MemberDemand:
    requests = member.node_selector.devices if member.node_selector else ()
    return MemberDemand(role=member.role, requests=requests, nodes=member.nodes)


def _reads_rank(member: Member) -> bool:
    engine = member.template.spec.engine
    words = (*engine.command, *engine.args, *(variable.value or "" for variable in engine.env))
    return any(_RANK in word for word in words)


def _conflict(labels: Mapping[str, str], cache_labels: Mapping[str, str]) -> str | None:
    return next((key for key in sorted(labels) if cache_labels.get(key, labels[key]) != labels[key]), None)


def _place(path: tuple[str | int, ...]) -> str:
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".spec.template.spec.")
