"""`explain` names the rules about a field: each rule stands at the field where a fault of it is said."""

import re

import pytest
from unit.api.test_every_rule import CASES
from unit.api.test_fixed import FIXED

from api.describe import describe
from api.rule_fields import EVERY_KIND, FIELDS, rules_of
from api.rules import RULES

SAID_AT = {
    rule: re.sub(r"\[[^\]]*\]", "", case.at)
    for rule, case in {**CASES, **FIXED}.items()
    if RULES[rule].kind != "ModelReplica"
}


def test_every_rule_that_somebody_can_break_has_its_field() -> None:
    assert set(FIELDS) == {rule for rule in RULES if RULES[rule].kind != "ModelReplica"} == set(SAID_AT)


@pytest.mark.parametrize("rule", FIELDS)
def test_the_field_of_a_rule_is_there_and_its_faults_are_said_at_it(rule: str) -> None:
    kind = RULES[rule].kind
    field = FIELDS[rule]
    described = describe(".".join(filter(None, ["ModelDeployment" if kind == EVERY_KIND else kind, field])))
    assert RULES[rule] in described.rules
    rest = SAID_AT[rule].removeprefix(field).removeprefix(".")
    assert SAID_AT[rule] == ".".join(filter(None, [field, rest]))
    assert rest.count(".") <= 3
    # What is left are keys of maps, which no path of `explain` names.
    assert not rest or rest.partition(".")[0] not in {each.name for each in described.fields}


def test_rules_below_a_field_are_its_own_and_those_of_a_neighbour_are_not() -> None:
    found = {rule.id for rule in rules_of("InferenceCluster", ("spec", "nodePools"))}
    assert {"IC-N4", "IC-N5", "IC-N6", "IC-X3"} <= found
    assert not {"IC-N11", "META-X1", "MD-X10"} & found
    assert {rule.id for rule in rules_of("ModelDeployment", ("spec", "replicas"))} == {"MD-X10"}
    assert "META-X1" in {rule.id for rule in rules_of("Fleet")}
