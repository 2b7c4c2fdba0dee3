"""What people read when a document is wrong, to be read as by someone new. Each text says where, what and the fix.

Rewritten with `pytest tests/golden/test_error_texts.py --snapshot-update`; read the difference before it is kept.
"""

import json
from collections.abc import Mapping
from pathlib import Path

from syrupy.assertion import SnapshotAssertion
from unit.api.mutations import mutations
from unit.api.test_every_rule import CASES
from unit.api.test_files import FILES

from api.errors import InvalidFleet, Problem
from api.loader import load
from cli.printing import write_yaml
from scheduler.cel import compile_error
from scheduler.matcher import Matcher

FIELDS = ("typo", "wrong type", "too small", "too large", "too short", "too long", "wrong form", "too few", "too many")


def told(directory: Path) -> list[Problem]:
    try:
        return list(load(directory, check_cel=compile_error, fits=Matcher().fit).warnings)
    except InvalidFleet as refusal:
        return list(refusal.problems)


def texts(directory: Path, problems: list[Problem]) -> list[str]:
    for problem in problems:
        assert problem.file, problem
        assert problem.line or Path(problem.file) == directory, problem
        assert problem.message, problem
        assert problem.hint, problem
        assert problem.hint != problem.message
        assert not problem.message.endswith("."), problem
    return [f"{problem.severity} {problem.code}: {problem}".replace(f"{directory}/", "") for problem in problems]


def write(directory: Path, files: Mapping[str, str | bytes]) -> None:
    for name, content in files.items():
        (directory / name).write_bytes(content if isinstance(content, bytes) else content.encode())


def test_texts_about_files(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    found = []
    for number, (name, (files, _)) in enumerate(FILES.items()):
        directory = tmp_path / str(number)
        directory.mkdir()
        write(directory, files)
        found.append("\n".join([f"# {name}", *texts(directory, told(directory))]))
    assert len(found) > 30
    assert "\n\n".join(found).replace(str(tmp_path), "") == snapshot


def test_texts_about_rules(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    found = []
    for rule, case in CASES.items():
        directory = tmp_path / rule
        directory.mkdir()
        for number, plain in enumerate(case.refused):
            with (directory / f"{number}.yaml").open("w") as stream:
                write_yaml(json.loads(json.dumps(plain)), stream)
        problems = [problem for problem in told(directory) if problem.rule == rule]
        assert problems, rule
        found.append("\n".join([f"# {rule}", *texts(directory, problems)]))
    assert len(found) > 100
    assert "\n\n".join(found) == snapshot


def test_texts_about_fields(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    """One of each way in which a field can be wrong."""
    found: dict[str, str] = {}
    for mutation in mutations():
        way = next((way for way in FIELDS if mutation.what.startswith(way)), mutation.what)
        name = f"{way}, {mutation.what.removeprefix(way).strip()}".rstrip(", ")
        if name in found or len(found) > 40:
            continue
        directory = tmp_path / str(len(found))
        directory.mkdir()
        (directory / mutation.file.name).write_text(mutation.text)
        problems = [problem for problem in told(directory) if problem.path == mutation.path]
        found[name] = "\n".join([f"# {name}", *texts(directory, problems)])
    assert "\n\n".join(found.values()) == snapshot
