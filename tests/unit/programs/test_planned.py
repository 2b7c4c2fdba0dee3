"""What a preview's programs export, taken out of them, and how others of the same preview read it."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import pulumi
import pytest
from pulumi.output import UNKNOWN as NOT_KNOWN
from recording import record

from api.errors import UnreadableStack
from programs.outputs import UNKNOWN, RoutingOutputs, ServiceState, ServingOutputs
from programs.planned import Captured, PlannedOutputs, capture
from programs.reading import read

MARKER = UNKNOWN.value


def unknown() -> pulumi.Output[Any]:
    """An output that only an update can tell."""

    async def told(value: Any) -> Any:
        return value

    nothing: asyncio.Future[Any] = asyncio.ensure_future(told(None))
    return pulumi.Output(set(), nothing, asyncio.ensure_future(told(False)))


def captured(program: Callable[[], None], found: list[Captured]) -> None:
    """Run a program as a preview does, and note what it exports."""

    def run() -> None:
        program()
        capture(found.append)

    record(run, preview=True)


def exporting(**values: Callable[[], Any]) -> Captured:
    def program() -> None:
        for name, value in values.items():
            pulumi.export(name, value())

    found: list[Captured] = []
    captured(program, found)
    (only,) = found
    return only


VALUES: dict[str, tuple[Callable[[], Any], Any]] = {
    "plain": (lambda: {"a": [1, "b", True]}, {"a": [1, "b", True]}),
    "an output": (lambda: pulumi.Output.from_input("text"), "text"),
    "outputs inside": (lambda: {"a": [pulumi.Output.from_input({"b": 2})]}, {"a": [{"b": 2}]}),
    "a whole number that went over the wire": (lambda: pulumi.Output.from_input(3.0), 3),
    "nothing": (lambda: pulumi.Output.from_input(None), None),
    "unknown": (unknown, MARKER),
    "unknown, and derived from": (lambda: unknown().apply(lambda value: f"http://{value}"), MARKER),
    "one of several leaves is unknown": (
        lambda: {"a": unknown(), "b": pulumi.Output.from_input("known")},
        {"a": MARKER, "b": "known"},
    ),
    "an unknown part of a known whole": (
        lambda: pulumi.Output.from_input({"a": NOT_KNOWN, "b": [NOT_KNOWN, 1]}),
        {"a": MARKER, "b": [MARKER, 1]},
    ),
}


@pytest.mark.parametrize(("value", "want"), VALUES.values(), ids=VALUES)
def test_what_a_program_exports_is_taken_as_it_is(value: Callable[[], Any], want: Any) -> None:
    assert exporting(found=value).outputs == {"found": want}


def test_secrets_are_handed_on_by_name_and_shown_nowhere() -> None:
    found = exporting(
        kubeconfig=lambda: pulumi.Output.secret("token-of-the-hub"),
        nested=lambda: {"in": [pulumi.Output.secret("a-token-inside")], "plain": 1},
        unknown=lambda: pulumi.Output.secret("x").apply(lambda _: unknown()),
        plain=lambda: "open",
    )
    assert found.outputs == {
        "kubeconfig": "token-of-the-hub",
        "nested": {"in": ["a-token-inside"], "plain": 1},
        "unknown": MARKER,
        "plain": "open",
    }
    assert found.secret == {"kubeconfig", "nested", "unknown"}
    assert "token" not in repr(found)


def test_what_the_program_raises_is_raised_and_nothing_is_captured() -> None:
    found: list[Captured] = []

    def program() -> None:
        pulumi.export("half", "done")
        raise pulumi.RunError("no")

    with pytest.raises(pulumi.RunError):
        captured(program, found)
    assert found == []


def test_what_an_output_raises_is_raised_too() -> None:
    def broken(_: Any) -> Any:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        exporting(found=lambda: pulumi.Output.from_input(1).apply(broken))


def test_models_read_what_is_unknown_as_unknown() -> None:
    found = exporting(
        version=lambda: 1, cluster=lambda: "us", gatewayAddress=unknown, ready=lambda: unknown().apply(bool)
    )
    planned = PlannedOutputs(lambda _: None)
    planned.plan("prod.serving.us", found.outputs)
    serving = read(planned.read, "prod.serving.us", ServingOutputs)
    assert serving == ServingOutputs(cluster="us", gateway_address=UNKNOWN, ready=UNKNOWN)


def test_conditions_that_are_not_known_yet_are_none() -> None:
    found = exporting(services=lambda: {"ml-team/mock": {"accepted": unknown(), "conditions": unknown()}})
    planned = PlannedOutputs(lambda _: None)
    planned.plan("prod.routing", found.outputs)
    assert read(planned.read, "prod.routing", RoutingOutputs) == RoutingOutputs(
        services={"ml-team/mock": ServiceState(accepted=UNKNOWN, conditions=())}
    )


def test_planned_goes_before_last_and_absent_stays_absent() -> None:
    asked: list[str] = []

    def last(stack: str) -> Mapping[str, Any] | None:
        asked.append(stack)
        return {"from": "the last update"} if stack == "prod.gateway" else None

    planned = PlannedOutputs(last)
    assert planned.read("prod.gateway") == {"from": "the last update"}
    assert planned.read("prod.routing") is None
    planned.plan("prod.gateway", {"from": "this preview"})
    planned.plan("prod.placement", {})
    assert planned.read("prod.gateway") == {"from": "this preview"}
    assert planned.read("prod.placement") == {}, "it is planned to export nothing"
    assert asked == ["prod.gateway", "prod.routing"]


def test_a_stack_that_cannot_be_read_stops_whoever_reads_it() -> None:
    def last(stack: str) -> Mapping[str, Any] | None:
        raise UnreadableStack(f"{stack} cannot be read")

    with pytest.raises(UnreadableStack):
        PlannedOutputs(last).read("prod.gateway")
