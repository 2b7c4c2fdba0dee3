"""A report as JUnit's XML, which every CI system reads: a case for each stack, deployment and cluster.

Written is what the common schema (of Ant and Jenkins) has: `testsuites` with `testsuite`, `testcase`, `failure` and
`system-out`, and of their attributes those that all readers know.
"""

import re
from collections.abc import Sequence
from xml.sax.saxutils import escape, quoteattr

from cli.report.page import Case, Page

_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that no XML document may have, not even as a reference."""


def as_junit(page: Page) -> str:
    """The cases by their groups."""
    groups: dict[str, list[Case]] = {}
    for case in page.cases:
        groups.setdefault(case.group, []).append(case)
    lines = ['<?xml version="1.0" encoding="UTF-8"?>']
    lines.append(f"<testsuites {_attributes(f'modelplane {page.command}', page.cases)}>")
    for group, cases in groups.items():
        lines.append(f"  <testsuite {_attributes(f'{page.fleet} {group}', cases)}>")
        for case in cases:
            lines += _case(page, case)
        lines.append("  </testsuite>")
    return "\n".join([*lines, "</testsuites>"]) + "\n"


def _case(page: Page, case: Case) -> list[str]:
    name = f'name={_quoted(case.name)} classname={_quoted(f"{page.fleet}.{case.group}")} time="{case.seconds:.3f}"'
    inside = []
    if case.failure:
        message = f"message={_quoted(case.failure.splitlines()[0])} type={_quoted(case.kind or 'Failure')}"
        inside.append(f"      <failure {message}>{_text(case.failure)}</failure>")
    if case.note:
        inside.append(f"      <system-out>{_text(case.note)}</system-out>")
    if not inside:
        return [f"    <testcase {name}/>"]
    return [f"    <testcase {name}>", *inside, "    </testcase>"]


def _attributes(name: str, cases: Sequence[Case]) -> str:
    failures = sum(bool(case.failure) for case in cases)
    seconds = sum(case.seconds for case in cases)
    counts = f'tests="{len(cases)}" failures="{failures}" errors="0" skipped="0" time="{seconds:.3f}"'
    return f"name={_quoted(name)} {counts}"


def _text(text: str) -> str:
    return escape(_NO_XML.sub("\ufffd", text))


def _quoted(text: str) -> str:
    return quoteattr(_NO_XML.sub("\ufffd", text))
