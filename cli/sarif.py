"""Problems of documents as SARIF 2.1.0, which code hosts and editors show beside the lines they are about."""

from collections.abc import Iterable, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import quote

from api.errors import Problem
from api.rules import RULES

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"

Plain = dict[str, Any]


def sarif(problems: Sequence[Problem]) -> Plain:
    """One run of `modelplane validate`; a result's rule is the broken rule's id, else the problem's code."""
    driver = {"name": "modelplane", "version": metadata.version("modelplane"), "rules": list(_rules(problems))}
    results = [_result(problem) for problem in problems]
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]}


def _rules(problems: Iterable[Problem]) -> Iterable[Plain]:
    for name in sorted({_rule(problem) for problem in problems}):
        rule = RULES.get(name)
        yield {"id": name, "shortDescription": {"text": rule.meaning}} if rule else {"id": name}


def _rule(problem: Problem) -> str:
    return problem.rule or str(problem.code)


def _result(problem: Problem) -> Plain:
    about = ": ".join(part for part in (problem.subject, problem.path, problem.message) if part)
    result: Plain = {
        "ruleId": _rule(problem),
        "level": str(problem.severity),
        "message": {"text": f"{about}\n\nhint: {problem.hint}" if problem.hint else about},
        "properties": {"code": str(problem.code)},
    }
    if problem.file:
        place: Plain = {"artifactLocation": {"uri": _address(Path(problem.file))}}
        if problem.line:
            place["region"] = {"startLine": problem.line}
        result["locations"] = [{"physicalLocation": place}]
    return result


def _address(file: Path) -> str:
    """A file as it is named from here where it lies below, else its whole address."""
    absolute = file.absolute()
    here = Path.cwd()
    return quote(absolute.relative_to(here).as_posix()) if absolute.is_relative_to(here) else absolute.as_uri()
