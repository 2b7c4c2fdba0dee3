"""What is told of an operation out of the engine's events and messages."""

import pytest
from pulumi.automation import events

from api.names import StackName
from stacks.changes import counts
from stacks.events import Watch, clean, first_line
from stacks.operation import Operation
from stacks.under_way import UnderWay

URN = "urn:pulumi:prod.routing::modelplane::kubernetes:core/v1:Service::ml-team/a/service"
STACK_URN = "urn:pulumi:prod.routing::modelplane::pulumi:pulumi:Stack::modelplane-prod.routing"


def a_step(op: str, kind: str = "kubernetes:core/v1:Service", name: str = "") -> events.EngineEvent:
    step = events.StepEventMetadata(op=events.OpType(op), urn=f"{URN}{name}", type=kind, provider="")
    return events.EngineEvent(0, 0, res_outputs_event=events.ResOutputsEvent(metadata=step))


def a_message(text: str, severity: str = "error", urn: str | None = None) -> events.EngineEvent:
    diagnostic = events.DiagnosticEvent(message=text, color="never", severity=severity, urn=urn)
    return events.EngineEvent(0, 0, diagnostic_event=diagnostic)


def watched(*seen: events.EngineEvent) -> Watch:
    watch = Watch(None)
    for event in seen:
        watch(event)
    return watch


def test_resources_are_counted_and_the_engine_s_own_entries_are_not() -> None:
    watch = watched(
        a_step("create"),
        a_step("create", "modelplane:index:ModelEndpoint"),
        a_step("create", "modelplane:index:ModelEndpoint"),  # a component is told twice
        a_step("same", name="-a"),
        a_step("update", name="-b"),
        a_step("create-replacement", name="-c"),
        a_step("replace", name="-c"),
        a_step("delete-replaced", name="-c"),
        a_step("create", "pulumi:pulumi:Stack"),
        a_step("update", "pulumi:providers:kubernetes"),
        events.EngineEvent(0, 0),
    )
    changes = counts(watch.steps)
    assert changes == {"create": 2, "same": 1, "update": 1, "replace": 1}
    assert Operation(stack=StackName("prod", "routing"), action="up", changes=changes).changed == 4


MESSAGES: dict[str, tuple[events.EngineEvent, list[str], list[str]]] = {
    "an error of a resource names it": (a_message("no room", urn=URN), ["ml-team/a/service: no room"], []),
    "an error of the program stands alone": (a_message("refused", urn=STACK_URN), ["refused"], []),
    "an error of nobody stands alone": (a_message("refused"), ["refused"], []),
    "a warning": (a_message("look here", "warning"), [], ["look here"]),
    "something to know is not kept": (a_message("by the way", "info"), [], []),
    "nothing was said": (a_message("  \n"), [], []),
    "colours are taken out": (a_message("<{%fg 1%}>no room<{%reset%}>\n"), ["no room"], []),
    "a provider that was built is not worth a warning": (
        a_message("using pulumi-resource-kubernetes from $PATH at /tools", "warning"),
        [],
        [],
    ),
}


@pytest.mark.parametrize(("event", "errors", "warnings"), MESSAGES.values(), ids=MESSAGES)
def test_messages(event: events.EngineEvent, errors: list[str], warnings: list[str]) -> None:
    watch = watched(event)
    assert (watch.errors, watch.warnings) == (errors, warnings)


def test_debugging_hears_everything_but_what_is_passed_over() -> None:
    heard: list[str] = []
    watch = Watch(heard.append)
    for event in (a_message("detail", "debug"), a_message("no room", urn=URN), a_message(" ", "debug")):
        watch(event)
    assert heard == ["debug: detail", "error: no room"]


CLEAN = {
    "plain": ("plain", "plain"),
    "space around": ("  text \n", "text"),
    "marks of the engine": ("<{%bold%}>error<{%reset%}>: no", "error: no"),
    "terminal colours": ("\x1b[31merror\x1b[0m: no", "error: no"),
    "braces that are none": ("{%x%} <{y}>", "{%x%} <{y}>"),
}


@pytest.mark.parametrize(("text", "want"), CLEAN.values(), ids=CLEAN)
def test_clean(text: str, want: str) -> None:
    assert clean(text) == want


FIRST_LINES = {
    "one line": ("broken", "broken"),
    "the line that says error": ("Updating\n\nerror: no stack\nhint: make one", "error: no stack"),
    "the first of two": ("error: a\nerror: b", "error: a"),
    "without one, the last that says something": (" code: 255\n stdout: \n stderr: gone\n\n", "stderr: gone"),
    "with an error after it on standard error": (
        " code: 255\n stderr: error: no passphrase\n",
        "stderr: error: no passphrase",
    ),
    "nothing": ("\n \n", "no message"),
}


@pytest.mark.parametrize(("text", "want"), FIRST_LINES.values(), ids=FIRST_LINES)
def test_first_line(text: str, want: str) -> None:
    assert first_line(text) == want


def begun(op: str, name: str, kind: str = "kubernetes:core/v1:Service", provider: str = "any") -> events.EngineEvent:
    step = events.StepEventMetadata(op=events.OpType(op), urn=f"{URN}{name}", type=kind, provider=provider)
    return events.EngineEvent(0, 0, resource_pre_event=events.ResourcePreEvent(metadata=step))


def test_what_is_being_done_is_told_while_it_lasts() -> None:
    watch = watched(
        begun("same", "-a"),
        begun("create", "-b"),
        begun("create", "", "modelplane:index:ModelEndpoint", provider=""),
        begun("create", "", "pulumi:providers:kubernetes"),
        begun("delete", "-c", "aws:eks/cluster:Cluster"),
        begun("refresh", "-d"),
    )
    name = "ml-team/a/service"
    at = [f"creating Service {name}-b", f"deleting Cluster {name}-c", f"looking at Service {name}-d"]
    assert watch.at == tuple(at)
    watch(a_step("create", name="-b"))
    failed = events.StepEventMetadata(op=events.OpType("delete"), urn=f"{URN}-c", type="x:y:Cluster", provider="any")
    watch(events.EngineEvent(0, 0, res_op_failed_event=events.ResOpFailedEvent(metadata=failed, status=1, steps=0)))
    assert watch.at == (at[2],)


def test_what_a_run_is_doing_is_known_while_it_does_it() -> None:
    under_way, stack = UnderWay(), StackName("prod", "cluster", "us")
    watch = watched(begun("create", "-b"))
    with under_way.of(stack, "up", watch):
        [ongoing] = under_way.now()
        assert (ongoing.stack, ongoing.action, ongoing.resources) == (stack, "up", watch.at)
    assert under_way.now() == ()
