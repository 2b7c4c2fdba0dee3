"""docs/exit-codes.md and the code tell the same: every code once, with one meaning."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from docs.texts import ROOT

from api import errors
from api.codes import Code
from api.errors import ModelplaneError
from stacks.report import SEVERITY

PACKAGES = ("api", "scheduler", "components", "programs", "stacks", "cli", "local", "tools")
TEXT = (ROOT / "docs" / "exit-codes.md").read_text()


def sources() -> Iterator[Path]:
    for package in PACKAGES:
        yield from (ROOT / package).rglob("*.py")


def codes_in_code() -> dict[str, set[str]]:
    """Every code that is written as a text of its own, with the files it is in."""
    found: dict[str, set[str]] = {}
    for file in sources():
        for code in re.findall(r"\"(MP\d{3})\"", file.read_text()):
            found.setdefault(code, set()).add(str(file.relative_to(ROOT)))
    return found


def test_every_code_is_told_and_none_besides() -> None:
    told = re.findall(r"^\| (MP\d{3}) \|", TEXT, re.MULTILINE)
    assert [code for code, count in Counter(told).items() if count > 1] == []
    assert set(told) == set(codes_in_code())
    assert told == sorted(told)


def test_a_code_of_documents_means_nothing_else() -> None:
    elsewhere = {code: files - {"api/codes.py"} for code, files in codes_in_code().items() if code in set(Code)}
    assert {code: files for code, files in elsewhere.items() if files} == {}


def test_every_exit_code_is_told_in_its_order() -> None:
    told = [int(code) for code in re.findall(r"^\| (\d+) \|", TEXT, re.MULTILINE)]
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, ModelplaneError)]
    assert {kind.exit_code for kind in kinds} <= set(told)
    assert [code for code in told if code in SEVERITY] == [code for code in SEVERITY if code in told]
    assert set(SEVERITY) - set(told) == set()
