"""What steps of the engine come to, resource by resource."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from api.names import StackName
from stacks.changes import CREATE, DELETE, REPLACE, SAME, UPDATE, Step, counts, net, step_of
from stacks.operation import Operation
from stacks.report import Report

SERVICE = "kubernetes:core/v1:Service"
URN = "urn:pulumi:prod.routing::modelplane::kubernetes:core/v1:Service::ml-team/a/service"


def a_step(operation: str, urn: str = URN, *fields: str) -> Step:
    return Step(urn=urn, type=SERVICE, operation=operation, fields=fields)


IN_A_ROW: dict[str, tuple[list[str], list[str]]] = {
    "nothing": ([], []),
    "a component is told twice": ([CREATE, CREATE], [CREATE]),
    "made, then changed in a later round": ([CREATE, UPDATE, UPDATE], [CREATE]),
    "made, and taken away again": ([CREATE, DELETE], []),
    "made, taken away, and made": ([CREATE, DELETE, CREATE], [CREATE]),
    "changed twice": ([UPDATE, UPDATE], [UPDATE]),
    "changed, then looked at": ([UPDATE, SAME], [UPDATE]),
    "looked at, then changed": ([SAME, UPDATE], [UPDATE]),
    "a replacement is told three times": ([REPLACE, REPLACE, REPLACE], [REPLACE]),
    "changed, then replaced": ([UPDATE, REPLACE], [REPLACE]),
    "replaced, then changed": ([REPLACE, UPDATE], [REPLACE]),
    "changed, then gone": ([UPDATE, DELETE], [DELETE]),
    "gone, and back": ([DELETE, CREATE], [REPLACE]),
    "left alone": ([SAME, SAME], [SAME]),
}


@pytest.mark.parametrize(("steps", "want"), IN_A_ROW.values(), ids=IN_A_ROW)
def test_steps_on_one_resource(steps: list[str], want: list[str]) -> None:
    assert [step.operation for step in net(a_step(operation) for operation in steps)] == want


def test_resources_keep_their_order_and_their_fields() -> None:
    other = URN.replace("/a/", "/b/")
    found = net([a_step(UPDATE, other, "spec.b"), a_step(CREATE), a_step(UPDATE, other, "spec.a")])
    assert [(step.urn, step.operation, step.fields) for step in found] == [
        (other, UPDATE, ("spec.a", "spec.b")),
        (URN, CREATE, ()),
    ]
    assert counts(found) == {UPDATE: 1, CREATE: 1}


ENGINES: dict[str, tuple[str, str, str | None]] = {
    "a resource": (SERVICE, "create", CREATE),
    "a component": ("modelplane:index:ModelEndpoint", "create", CREATE),
    "the stack's own entry": ("pulumi:pulumi:Stack", "create", None),
    "a provider": ("pulumi:providers:kubernetes", "update", None),
    "the new half of a replacement": (SERVICE, "create-replacement", REPLACE),
    "the old half of one": (SERVICE, "delete-replaced", REPLACE),
    "something that was read": (SERVICE, "read", SAME),
    "a step of the engine's books": (SERVICE, "remove-pending-replace", None),
}


@pytest.mark.parametrize(("kind", "operation", "want"), ENGINES.values(), ids=ENGINES)
def test_the_engine_s_words(kind: str, operation: str, want: str | None) -> None:
    found = step_of(URN, kind, operation)
    assert (found.operation if found else None) == want


def test_a_step_is_named_as_people_know_it() -> None:
    step = a_step(CREATE)
    assert (step.kind, step.name) == ("Service", "ml-team/a/service")


WHEN_THERE, WHEN_ABSENT = (UPDATE, REPLACE, DELETE, SAME), (CREATE,)


@settings(derandomize=True)
@given(st.booleans(), st.lists(st.integers(0, 3), min_size=1, max_size=8))
def test_what_is_left_tells_whether_it_was_there_and_is(there: bool, choices: list[int]) -> None:
    before, operations = there, []
    for choice in choices:
        possible = WHEN_THERE if there else WHEN_ABSENT
        operations.append(possible[choice % len(possible)])
        there = operations[-1] != DELETE
    left = [step.operation for step in net(a_step(operation) for operation in operations)]
    if before and there:
        assert left == [SAME] if set(operations) == {SAME} else left in ([UPDATE], [REPLACE])
    else:
        assert left == ([DELETE] if before else [CREATE] if there else [])


def test_a_pass_counts_a_resource_that_two_rounds_touch_once() -> None:
    def an_operation(stack: StackName, *steps: Step) -> Operation:
        return Operation(stack=stack, action="up", steps=steps, changes=counts(steps))

    routing, gateway = StackName("prod", "routing"), StackName("prod", "gateway")
    first = an_operation(routing, a_step(CREATE), a_step(SAME, f"{URN}-other"))
    again = an_operation(routing, a_step(UPDATE), a_step(UPDATE, f"{URN}-other"))
    report = Report(operations=[first, an_operation(gateway, a_step(SAME)), again])
    assert report.changed == 2
    told = {name: (stack["changed"], stack["changes"]) for name, stack in report.plain()["stacks"].items()}
    assert told == {"prod.routing": (2, {CREATE: 1, UPDATE: 1}), "prod.gateway": (0, {})}
