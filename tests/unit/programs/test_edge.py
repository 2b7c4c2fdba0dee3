"""The edge of a program: what its reader can fix becomes an error of Pulumi's with its code, a bug stays one."""

import pulumi
import pytest

from api.errors import InvalidFleet, MissingInput, ModelplaneError, Problem
from programs.context import edge

FAULTS: dict[str, tuple[ModelplaneError, str]] = {
    "an input that is missing": (
        MissingInput("demo.placement is not there", hint="bring it up"),
        "MP302: demo.placement is not there\nhint: bring it up",
    ),
    "documents": (
        InvalidFleet(
            [
                Problem(code="MP112", file="a.yaml", line=3, message="no such field", hint="leave it out"),
                Problem(code="MP118", message="twice"),
            ]
        ),
        "MP112: a.yaml:3: no such field\nhint: leave it out\nMP118: twice",
    ),
}


@pytest.mark.parametrize(("fault", "told"), FAULTS.values(), ids=FAULTS)
def test_a_fault_is_told_with_its_code_and_kept_as_the_cause(fault: ModelplaneError, told: str) -> None:
    with pytest.raises(pulumi.RunError) as caught, edge():
        raise fault
    assert str(caught.value) == told
    assert caught.value.__cause__ is fault


def test_a_bug_stays_what_it_is() -> None:
    with pytest.raises(KeyError), edge():
        raise KeyError("x")
