"""Every rule of the contract refuses what breaks it, by its id and at its field, and accepts what just does not."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from builders import Plain
from pydantic import ValidationError
from unit.api.rule_cases.case import Case
from unit.api.rule_cases.models import CACHES, DEPLOYMENTS
from unit.api.rule_cases.others import ENDPOINTS, EVERY_KIND, FLEETS, SERVICES
from unit.api.rule_cases.platform import CLASSES, CLUSTERS, GATEWAYS
from unit.api.rule_cases.replicas import REPLICAS
from unit.api.test_fixed import FIXED

from api.base import Kind
from api.errors import InvalidFleet, Problem, Severity
from api.loader import load
from api.problems import Describer
from api.reading import read_file
from api.replicas import ModelReplica
from api.rules import ELSEWHERE, RULES
from scheduler.cel import compile_error
from scheduler.matcher import Matcher

CONTRACT = Path(__file__).parents[4] / "shared" / "reference" / "api.md"
CASES: Mapping[str, Case] = {
    **GATEWAYS,
    **CLASSES,
    **CLUSTERS,
    **DEPLOYMENTS,
    **CACHES,
    **SERVICES,
    **ENDPOINTS,
    **FLEETS,
    **EVERY_KIND,
}


def problems(directory: Path, documents: Sequence[Plain]) -> tuple[Problem, ...]:
    for number, plain in enumerate(documents):
        (directory / f"{number}.json").write_text(json.dumps(plain))
    try:
        return load(directory, check_cel=compile_error, fits=Matcher().fit).warnings
    except InvalidFleet as refusal:
        return refusal.problems


def of_rule(found: Sequence[Problem], rule: str) -> set[tuple[str, str, str]]:
    return {(problem.path, problem.code, problem.severity.value) for problem in found if problem.rule == rule}


def said(rule: str, at: str) -> tuple[str, str, str]:
    """What a fault of a rule looks like: field, code and severity."""
    return (at, RULES[rule].code, RULES[rule].severity.value)


@pytest.mark.parametrize(("rule", "case"), CASES.items(), ids=CASES)
def test_what_breaks_a_rule_is_refused_by_its_id_and_nothing_else_is(rule: str, case: Case, tmp_path: Path) -> None:
    found = problems(tmp_path, case.refused)
    assert said(rule, case.at) in of_rule(found, rule)
    others = [problem for problem in found if problem.severity is Severity.ERROR and problem.rule != rule]
    assert others == []
    assert all(problem.hint and problem.file and problem.line for problem in found)


@pytest.mark.parametrize(("rule", "case"), CASES.items(), ids=CASES)
def test_what_just_keeps_a_rule_is_accepted(rule: str, case: Case, tmp_path: Path) -> None:
    found = problems(tmp_path, case.accepted)
    assert of_rule(found, rule) == set()
    assert [problem for problem in found if problem.severity is Severity.ERROR] == []


def ledger_problems(plain: Plain, directory: Path) -> list[Problem]:
    file = directory / "replica.json"
    file.write_text(json.dumps(plain))
    describer = Describer(read_file(file).documents[0], "ModelReplica ml-team/qwen-31605")
    kind: type[Kind] = ModelReplica
    try:
        kind.parse(plain)
    except ValidationError as error:
        return list(describer.refusals(kind, error))
    return []


@pytest.mark.parametrize(("rule", "case"), REPLICAS.items(), ids=REPLICAS)
def test_a_replica_of_a_ledger_keeps_the_rules_of_replicas(rule: str, case: Case, tmp_path: Path) -> None:
    found = ledger_problems(case.refused[0], tmp_path)
    assert of_rule(found, rule) == {said(rule, case.at)}
    assert len(found) == 1
    assert ledger_problems(case.accepted[0], tmp_path) == []


def test_every_rule_has_a_case() -> None:
    assert set(RULES) == {*CASES, *REPLICAS, *FIXED}


def test_every_rule_says_what_it_asks_for() -> None:
    assert all(rule.id == name and rule.meaning and rule.kind for name, rule in RULES.items())


def contract_rules(text: str) -> set[str]:
    """The ids in the first column of the contract's tables of rules; `MD-V14..V17` stands for four."""
    found: set[str] = set()
    for prefix, kind, first, last in re.findall(
        r"^\| (IG|ICL|IC|MD|MR|MC|MS|ME)-([VFN])(\d+)(?:\.\.[VFN](\d+))?", text, re.M
    ):
        found |= {f"{prefix}-{kind}{number}" for number in range(int(first), int(last or first) + 1)}
    return found


@pytest.mark.skipif(not CONTRACT.is_file(), reason="the contract with upstream's users is not beside this checkout")
def test_the_table_holds_every_rule_of_the_contract() -> None:
    wanted = contract_rules(CONTRACT.read_text())
    assert len(wanted) > 100
    assert wanted - set(RULES) - set(ELSEWHERE) == set()
    assert {rule for rule in RULES if "-X" not in rule} - wanted == set()
