import pytest
from unit.scheduler.worlds import taint

from api.terms import Toleration
from scheduler.taints import tolerates, untolerated

CASES = {
    ("a=1:NoExecute", "Equal", "a", "1", None): True,
    ("a:NoExecute", "Equal", "a", None, None): True,
    ("a:NoExecute", "Equal", "a", "", None): True,
    ("a=1:NoExecute", "Equal", "a", None, None): False,
    ("a=1:NoExecute", "Equal", "b", "1", None): False,
    ("a=1:NoExecute", "Exists", "a", None, "NoSchedule"): False,
    ("a=1:NoExecute", "Exists", "a", None, "NoExecute"): True,
    ("a=1:NoSchedule", "Exists", "", None, None): True,
    ("a=1:NoSchedule", "Exists", "", None, "NoExecute"): False,
    ("a=1:NoSchedule", "Exists", "b", None, None): False,
}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_tolerates(case: tuple[str, str, str, str | None, str | None]) -> None:
    text, operator, key, value, effect = case
    fields = {"key": key, "operator": operator, "value": value, "effect": effect}
    assert tolerates(Toleration.model_validate(fields), taint(text)) is CASES[case]


def test_every_taint_needs_a_toleration() -> None:
    taints = [taint("a:NoExecute"), taint("b:NoSchedule"), taint("c:NoSchedule")]
    tolerations = [Toleration(key="a", operator="Exists"), Toleration(key="c", operator="Exists")]
    assert untolerated(taints, tolerations) == (taints[1],)
    assert untolerated(taints, tolerations, "NoExecute") == ()
    assert untolerated(taints, [], "NoExecute") == (taints[0],)
