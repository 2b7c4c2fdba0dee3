"""Reading another stack: absent is an answer, anything else that cannot be read raises."""

import math
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from builders import a_fleet
from states import documents_of

from api.errors import UnreadableStack
from programs import engine_reader as module
from programs.context import Context
from programs.engine_reader import engine_reader
from programs.outputs import ClusterOutputs, ServingOutputs
from programs.reading import StackReader, read, whole_numbers

SERVING = {"version": 1, "cluster": "us", "ready": True, "gatewayAddress": "10.0.0.1"}


def answering(outputs: Mapping[str, Any] | None) -> StackReader:
    return lambda _: outputs


ABSENT: dict[str, Mapping[str, Any] | None] = {"there is no such stack": None, "it has exported nothing yet": {}}


@pytest.mark.parametrize("outputs", ABSENT.values(), ids=ABSENT)
def test_absent(outputs: Mapping[str, Any] | None) -> None:
    assert read(answering(outputs), "prod.serving.us", ServingOutputs) is None


def test_present() -> None:
    found = read(answering(SERVING), "prod.serving.us", ServingOutputs)
    assert found == ServingOutputs(cluster="us", ready=True, gateway_address="10.0.0.1")


def test_outputs_of_another_shape_raise_and_name_the_field_but_no_value() -> None:
    stored = {"cluster": "us", "inputs": {"source": "Existing"}, "kubeconfig": {"token": "hush"}}
    with pytest.raises(UnreadableStack) as caught:
        read(answering(stored), "prod.cluster.us", ClusterOutputs)
    text = str(caught.value)
    assert "prod.cluster.us" in text
    assert "inputs.stack: Field required" in text
    assert "kubeconfig: Input should be a valid string" in text
    assert "hush" not in text
    assert caught.value.__cause__ is None


def test_a_reader_that_fails_is_heard() -> None:
    def failing(stack: str) -> Mapping[str, Any] | None:
        raise UnreadableStack(f"no passphrase for {stack}")

    with pytest.raises(UnreadableStack):
        read(failing, "prod.placement", ServingOutputs)


def test_the_engine_knows_no_such_stack(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "invoke", _raising('rpc error: unknown stack "prod.routing"'))
    assert engine_reader("prod.routing") is None


FAILURES = ("incorrect passphrase", "connection refused", "stack is locked", "")


@pytest.mark.parametrize("message", FAILURES)
def test_any_other_failure_of_the_engine_raises(monkeypatch: pytest.MonkeyPatch, message: str) -> None:
    monkeypatch.setattr(module, "invoke", _raising(message))
    monkeypatch.setattr(module, "PAUSES", ())
    with pytest.raises(UnreadableStack, match=r"prod\.routing"):
        engine_reader("prod.routing")


def test_a_state_that_is_being_written_is_read_a_moment_later(monkeypatch: pytest.MonkeyPatch) -> None:
    paused: list[float] = []
    answers = iter([RuntimeError("failed to load checkpoint: EOF"), {"outputs": {"version": 1}}])

    def invoke(token: str, arguments: Any) -> Any:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return SimpleNamespace(value=answer)

    monkeypatch.setattr(module, "invoke", invoke)
    monkeypatch.setattr(module.time, "sleep", paused.append)
    assert engine_reader("prod.routing") == {"version": 1}
    assert paused == [module.PAUSES[0]]


ANSWERS: dict[str, tuple[Any, Any]] = {
    "outputs with numbers": (
        {"outputs": {"version": 1.0, "n": [2.0, {"x": 3.5}]}},
        {"version": 1, "n": [2, {"x": 3.5}]},
    ),
    "no outputs yet": ({"outputs": {}}, None),
    "outputs are null": ({"outputs": None}, None),
    "nothing at all": ({}, None),
}


@pytest.mark.parametrize(("answer", "want"), ANSWERS.values(), ids=ANSWERS)
def test_what_the_engine_answers(monkeypatch: pytest.MonkeyPatch, answer: Any, want: Any) -> None:
    asked: list[tuple[str, Any]] = []

    def invoke(token: str, arguments: Any) -> Any:
        asked.append((token, arguments))
        return SimpleNamespace(value=answer)

    monkeypatch.setattr(module, "invoke", invoke)
    assert engine_reader("prod.routing") == want
    assert asked == [("pulumi:pulumi:readStackOutputs", {"name": "prod.routing"})]


NUMBERS: dict[str, tuple[Any, Any]] = {
    "a whole float": (8.0, 8),
    "a fraction": (0.5, 0.5),
    "a flag": (True, True),
    "text that looks like a number": ("8.0", "8.0"),
    "0": (0.0, 0),
    "below 0": (-3.0, -3),
    "infinity": (math.inf, math.inf),
    "nested": ({"a": [1.0, {"b": (2.0,)}]}, {"a": [1, {"b": [2]}]}),
    "null": (None, None),
}


@pytest.mark.parametrize(("value", "want"), NUMBERS.values(), ids=NUMBERS)
def test_whole_floats_become_integers(value: Any, want: Any) -> None:
    found = whole_numbers(value)
    assert found == want
    assert type(found) is type(want)


def test_a_program_reads_the_stacks_of_its_own_fleet() -> None:
    asked: list[str] = []

    def reader(stack: str) -> Mapping[str, Any] | None:
        asked.append(stack)
        return SERVING if stack == "prod.serving.us" else None

    context = Context(documents=documents_of(a_fleet("prod")), kind="serving", cluster="us", reader=reader)
    wanted = ServingOutputs(cluster="us", ready=True, gateway_address="10.0.0.1")
    assert context.last(ServingOutputs) == wanted
    assert context.read_all(ServingOutputs, "serving", ["us", "eu"]) == {"us": wanted}
    assert asked == ["prod.serving.us", "prod.serving.eu", "prod.serving.us"]


def _raising(message: str) -> Any:
    def invoke(token: str, arguments: Any) -> Any:
        raise RuntimeError(message)

    return invoke
