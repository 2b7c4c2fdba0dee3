"""Rules that the engines of a deployment and of a replica have in common, as functions over both."""

from collections.abc import Iterator, Sequence
from typing import Protocol

from api.base import Fault, Path, repeated
from api.commands import flag, words
from api.pods import PodTemplate
from api.terms import Phase, Role, Serving, Worker, named

ROUTING_LABELS = ("app", "llm-d.ai/role", "llm-d.ai/inference-serving")
SERVING_PORT = "8000"


class AnyMember(Protocol):
    """What a member is to these rules."""

    @property
    def role(self) -> Role: ...  # noqa: D102 - named by the class
    @property
    def worker(self) -> Worker | None: ...  # noqa: D102
    @property
    def template(self) -> PodTemplate: ...  # noqa: D102


class AnyEngine(Protocol):
    """What an engine is to these rules."""

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def phase(self) -> Phase | None: ...  # noqa: D102
    @property
    def members(self) -> Sequence[AnyMember]: ...  # noqa: D102


def engine_faults(serving: Serving | None, engines: Sequence[AnyEngine]) -> Iterator[Fault]:
    """MD-V5 to V8, MD-N7, MD-N11, MD-X3 (D18) and the unique names; the same rules as MR-V1 to V4."""
    yield from repeated(named(engines), "schema", ("engines",), "name")
    if serving is not None and serving.mode == "PrefillDecode":
        yield from _pair_faults(engines)
        return
    for index, engine in enumerate(engines):
        if engine.phase is not None:
            hint = "remove phase, or set serving.mode: PrefillDecode"
            message = "only allowed with serving.mode PrefillDecode"
            yield Fault("MD-V8", ("engines", index, "phase"), message, hint)


def engine_cautions(serving: Serving | None, engines: Sequence[AnyEngine]) -> Iterator[Fault]:
    """MD-X4: probes and routes reach a Unified engine on port 8000 only."""
    if serving is not None and serving.mode == "PrefillDecode":
        return
    for index, engine in enumerate(engines):
        for place, member in enumerate(engine.members):
            port, at = _port(member)
            if member.role != "Worker" and port not in (None, SERVING_PORT):
                message = f"engine {engine.name} is reached on port 8000, not {port}"
                hint = "write --port=8000, unless something else in the container listens there"
                yield Fault("MD-X4", ("engines", index, "members", place, "template", *at), message, hint)


def member_faults(members: Sequence[AnyMember]) -> Iterator[Fault]:
    """MD-V11 and MD-V13; the same rules as MR-V5 and MR-V7."""
    roles = sorted(member.role for member in members)
    if roles not in (["Standalone"], ["Leader", "Worker"]):
        hint = "role is Standalone unless it is named, so both halves of a gang must name theirs"
        yield Fault("MD-V11", ("members",), "give one Standalone, or one Leader and one Worker", hint)
    for index, member in enumerate(members):
        if member.worker is not None and member.role != "Worker":
            hint = f"move it to the Worker, or remove it: this member is a {member.role}"
            yield Fault("MD-V13", ("members", index, "worker"), "only a Worker may set this", hint)


def _pair_faults(engines: Sequence[AnyEngine]) -> Iterator[Fault]:
    if len(engines) != 2:
        message = "PrefillDecode takes two engines, one per phase"
        yield Fault("MD-V5", ("engines",), message, "keep one engine with phase: Prefill and one with phase: Decode")
        return
    phases = [engine.phase for engine in engines]
    for rule, phase in (("MD-V6", "Prefill"), ("MD-V7", "Decode")):
        if phases.count(phase) != 1:  # type: ignore[arg-type]  # a loop over two literals widens them to str
            hint = "name phase: Prefill on one engine and phase: Decode on the other"
            yield Fault(rule, ("engines",), f"exactly one engine must have phase {phase}", hint)
            return
    for index, engine in enumerate(engines):
        for place, member in enumerate(engine.members):
            yield from _paired_member_faults(engine, member, ("engines", index, "members", place, "template"))


def _paired_member_faults(engine: AnyEngine, member: AnyMember, at: Path) -> Iterator[Fault]:
    for key in ROUTING_LABELS:
        if key in member.template.metadata.labels:
            message = f"{key} is set by prefill/decode routing"
            yield Fault("MD-N7", (*at, "metadata", "labels", key), message, "remove the label")
    port, place = _port(member)
    if engine.phase == "Decode" and port == SERVING_PORT:
        message = "the routing sidecar owns port 8000; serve on another port"
        yield Fault("MD-N11", (*at, *place), message, "write --port=8001")
    if engine.phase == "Prefill" and port not in (None, SERVING_PORT):
        message = f"engine {engine.name} serves on {port}, and decode pods reach prefill on 8000"
        yield Fault("MD-X3", (*at, *place), message, "write --port=8000")


def _port(member: AnyMember) -> tuple[str | None, Path]:
    """The value of --port in command and args, and where below the template it is written."""
    found = flag(words(member.template.spec.engine), "--port")
    return (found[0], ("spec", "containers", 0, *found[1])) if found else (None, ())
