"""Looking at stacks: secret outputs are placeholders there, and no stack becomes unreadable by them."""

from typing import Any

import pytest
from states import a_ledger, an_entry, cluster_outputs, listed_workloads

from programs.outputs import ClusterOutputs, Outputs, WorkloadsOutputs
from programs.reading import read
from stacks.exported import PLACEHOLDER
from stacks.state import without_placeholders

ENTRY = an_entry("mock", "us")
WORKLOADS = listed_workloads("us", ENTRY).model_copy(update={"ledger": a_ledger(ENTRY)})


def looked_at(outputs: Outputs, secret: str) -> Any:
    model = type(outputs)
    plain = {**outputs.plain(), secret: PLACEHOLDER}
    return read(lambda _: without_placeholders(plain, model), "demo.it", model)


@pytest.mark.parametrize("name", ["secrets", "tokens"])
def test_carried_secrets_are_left_out(name: str) -> None:
    assert looked_at(WORKLOADS, name) == WORKLOADS


def test_a_text_that_is_needed_stays_a_placeholder() -> None:
    outputs = cluster_outputs("us")
    assert looked_at(outputs, "kubeconfig") == outputs.model_copy(update={"kubeconfig": PLACEHOLDER})


@pytest.mark.parametrize("model", [ClusterOutputs, WorkloadsOutputs])
def test_a_stack_that_is_absent_stays_absent(model: type[Outputs]) -> None:
    assert without_placeholders(None, model) is None
