"""One report in every format: what is urgent on top, nothing left out unsaid, and no format that its readers refuse."""

import json
import re
from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from ruamel.yaml import YAML
from unit.cli.running import Run
from unit.cli.test_preview import FakePreview, a_preview, a_report, a_step, previewed
from unit.cli.test_up import FakePass, a_pass
from unit.cli.test_up import a_report as a_pass_report
from unit.cli.test_up import operation as an_operation

from api.errors import DeletionRefused, Problem, Severity
from cli.report.as_html import as_html
from cli.report.as_junit import as_junit
from cli.report.as_markdown import LONGEST, LONGEST_CELL, MOST_ROWS, as_markdown
from cli.report.as_text import as_text
from cli.report.from_preview import preview_page
from cli.report.page import MOST_FINDINGS, Case, Page, Section
from cli.report.parts import Beside
from programs.outputs import UNKNOWN, ClusterVerdict, DeploymentState, PlacementOutputs, RoutingOutputs, ServiceState
from scheduler.headroom import Headroom
from stacks.changes import CREATE
from stacks.costs import Cost, Costs
from stacks.operation import OperationFailed
from stacks.preview_report import Side

__all__ = ["a_pass", "a_preview"]

WARNING = Problem(code="MP154", message="rarely meant", file="a.yaml", line=3, hint="look", severity=Severity.WARNING)
ROOM = Headroom(key=("ml-team", "qwen"), wanted=2, placed=1, clusters={"eu": 3, "us": 0}, verdicts={})
SHORT = DeploymentState(
    wanted=2, placed=1, verdicts={"us": (ClusterVerdict(code="NotEnoughNodes", message="0 of 1 nodes free"),)}
)
UNRESOLVED = RoutingOutputs(services={"ml-team/mock": ServiceState(address=UNKNOWN)})
WHOLE = preview_page(
    a_report(
        costs=Costs(clusters=(Cost(cluster="us", before=1.5, after=3.0),)),
        after=Side(placement=PlacementOutputs(deployments={"ml-team/qwen": SHORT}), routing=UNRESOLVED),
        failures=[DeletionRefused("cluster old is held", hint="--delete-cluster old")],
    ),
    "demo",
    Beside(findings=[WARNING], rooms=[ROOM]),
)
RENDERERS = {"text": as_text, "markdown": as_markdown, "html": as_html}
"""Those that show sections; JUnit has cases, JSON and YAML the data."""

SAID = (
    "Deleted and replaced",
    "Short of replicas",
    "Replicas",
    "Changes by stack",
    "Resources",
    "Traffic",
    "Capacity and head-room",
    "Cost per hour",
    "Findings in the documents",
    "Errors",
    "Not known, or taken for granted",
    "the address of service ml-team/mock is told by the update",
    "0 of 1 nodes free",
    "cluster old is held",
    "rarely meant",
    "1.50",
    "3.00",
    "eu 3",
)


@pytest.mark.parametrize("name", RENDERERS)
def test_each_format_says_everything_and_what_is_urgent_first(name: str) -> None:
    text = RENDERERS[name](WHOLE)
    assert [part for part in SAID if part not in text] == []
    urgent = [text.index(section.title) for section in WHOLE.sections if section.urgent and section.rows]
    others = [text.index(f"{section.title}") for section in WHOLE.sections if not section.urgent and section.rows]
    assert len(urgent) == 3
    assert max(urgent) < min(others)


HOSTILE = "</td><script>alert(1)</script>|x|`y`@team\\\x00\nsecond line"


def hostile() -> Page:
    section = Section(title="Stacks", head=("A", "B"), rows=[(HOSTILE, HOSTILE), (HOSTILE,)], code=True)
    case = Case(group="stacks", name=HOSTILE, failure=HOSTILE, kind="X", note=HOSTILE)
    return Page(
        fleet="demo", command="up", sentence=HOSTILE, exit_code=1, sections=[section], unknowns=[HOSTILE], cases=[case]
    )


def test_markdown_has_no_html_no_mention_and_whole_tables() -> None:
    text = as_markdown(hostile())
    assert "<script" not in text
    assert "@team" not in text
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert {re.sub(r"\\\\|\\\|", "", row).count("|") for row in rows} == {3}


def big(rows: int, sections: int = 1, cell: str = "x" * 200) -> Page:
    tables = [
        Section(title=f"Section {number}", head=("A", "B"), rows=[(str(row), cell) for row in range(rows)])
        for number in range(sections)
    ]
    return Page(fleet="demo", command="preview", sentence="big", exit_code=0, sections=tables)


@pytest.mark.parametrize(("rows", "sections"), [(5000, 1), (149, 12), (5000, 400), (1, 4000)])
def test_markdown_fits_a_comment_and_says_what_was_cut(rows: int, sections: int) -> None:
    text = as_markdown(big(rows, sections))
    assert len(text) <= LONGEST
    assert "`--report FILE.html` has everything" in text


def test_markdown_cuts_no_table_that_fits() -> None:
    text = as_markdown(big(MOST_ROWS))
    assert "more" not in text
    assert text.count("\n| ") == MOST_ROWS + 1
    assert f"… and {4850} more" in as_markdown(big(5000))
    assert "x" * LONGEST_CELL + "…" in as_markdown(big(1, cell="x" * 9000))


def test_five_thousand_unknowns_fit_a_comment_too() -> None:
    page = Page(
        fleet="demo", command="up", sentence="", exit_code=0, unknowns=[f"{'y' * 290} {each}" for each in range(5000)]
    )
    assert len(as_markdown(page)) <= LONGEST


class Reading(HTMLParser):
    """What a page loads and runs."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.style = self.policy = ""
        self._inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        self._inside = tag
        named = dict(attrs)
        if named.get("http-equiv") == "Content-Security-Policy":
            self.policy = named.get("content") or ""

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        self.style += data if self._inside == "style" else ""


@pytest.mark.parametrize("page", [WHOLE, hostile()], ids=["whole", "hostile"])
def test_the_page_loads_nothing_runs_nothing_and_its_policy_allows_its_own_style_alone(page: Page) -> None:
    reading = Reading()
    reading.feed(as_html(page))
    assert not {"script", "link", "img", "iframe", "form", "object"} & set(reading.tags)
    assert not [name for name, _ in reading.attributes if name.startswith("on") or name in ("src", "href", "style")]
    digest = b64encode(sha256(reading.style.encode()).digest()).decode()
    assert reading.policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


COUNTS = {"tests", "failures", "errors", "skipped"}


@pytest.mark.parametrize("page", [WHOLE, hostile()], ids=["whole", "hostile"])
def test_junit_is_in_the_form_that_its_readers_share(page: Page) -> None:
    root = ET.fromstring(as_junit(page))
    assert root.tag == "testsuites"
    for suite in [root, *root]:
        assert set(suite.attrib) == {"name", "time", *COUNTS}
        cases = list(suite.iter("testcase"))
        assert int(suite.attrib["tests"]) == len(cases)
        assert int(suite.attrib["failures"]) == sum(case.find("failure") is not None for case in cases)
    for suite in root:
        assert suite.tag == "testsuite"
        for case in suite:
            assert set(case.attrib) == {"name", "classname", "time"}
            assert float(case.attrib["time"]) >= 0
            assert [child.tag for child in case] in ([], ["failure"], ["system-out"], ["failure", "system-out"])
            assert all(set(child.attrib) == {"message", "type"} for child in case.iter("failure"))


def test_junit_has_a_case_for_each_stack_deployment_and_cluster() -> None:
    root = ET.fromstring(as_junit(WHOLE))
    found = {
        (case.attrib["classname"], case.attrib["name"]): case.find("failure") is not None
        for case in root.iter("testcase")
    }
    assert found == {
        ("demo.stacks", "demo.gateway"): False,
        ("demo.stacks", "demo.workloads.us"): False,
        ("demo.stacks", "demo.routing"): False,
        ("demo.deployments", "ml-team/qwen"): True,
        ("demo.fleet", "MP326"): True,
    }


def test_changes_that_nobody_expected_and_failed_stacks_are_failures() -> None:
    failed = previewed("workloads", "us", a_step(CREATE, "a"), error=OperationFailed("no room"))
    page = preview_page(a_report(operations=[failed], expect_no_changes=True), "demo", Beside())
    failures = {case.name: case.kind for case in page.cases if case.failure}
    assert failures == {"demo.workloads.us": "MP340", "no changes": "Changes"}


def test_of_very_many_findings_the_first_are_shown_and_the_others_counted() -> None:
    page = preview_page(a_report(), "demo", Beside(findings=[WARNING] * (MOST_FINDINGS + 7)))
    (section,) = [each for each in page.sections if each.title == "Findings in the documents"]
    assert len(section.rows) == MOST_FINDINGS + 1
    assert section.rows[-1] == ("7 more; `modelplane validate` shows them",)
    assert len(page.plain["findings"]) == MOST_FINDINGS + 7


FILES = ("report.md", "report.html", "report.xml", "report.json", "report.yaml", "report.txt")


def files(tmp_path: Path) -> Iterator[str | Path]:
    for name in FILES:
        yield from ("--report", tmp_path / name)


def read_all(tmp_path: Path) -> dict[str, str]:
    found = {name: (tmp_path / name).read_text() for name in FILES}
    ET.fromstring(found["report.xml"])
    assert found["report.html"].startswith("<!doctype html>")
    assert found["report.md"].startswith("### ")
    assert json.loads(found["report.json"]) == YAML(typ="safe").load(found["report.yaml"])
    return found


def test_a_preview_is_written_to_files_beside_what_is_printed(
    run: Run, fleet: Path, tmp_path: Path, a_preview: type[FakePreview]
) -> None:
    a_preview.report = a_report()
    done = run("preview", "-f", fleet, *files(tmp_path))
    assert done.code == 0
    assert done.out.startswith("STACK ")
    found = read_all(tmp_path)
    assert json.loads(run("preview", "-f", fleet, "-o", "json").out) == json.loads(found["report.json"])
    assert run("preview", "-f", fleet, "-o", "markdown").out == found["report.md"]


def test_a_pass_is_reported_in_the_same_formats(run: Run, fleet: Path, tmp_path: Path, a_pass: type[FakePass]) -> None:
    a_pass.report = a_pass_report(
        an_operation("gateway", changes={"create": 3, "same": 1}),
        an_operation("workloads", "us", steps=(a_step("delete", "gone"),), error=OperationFailed("no room")),
        starting=["ml-team/qwen-1"],
    )
    done = run("up", "-f", fleet, "-o", "junit", *files(tmp_path))
    assert done.code == 21
    assert {case.attrib["name"] for case in ET.fromstring(done.out).iter("testcase")} == {
        "demo.gateway",
        "demo.workloads.us",
        "ml-team/qwen",
        "us",
    }
    found = read_all(tmp_path)
    assert found["report.md"].startswith("### Update of fleet `demo`\n")
    assert "| `demo.workloads.us` | delete | Service | gone |  |" in found["report.md"]
    assert "- replica ml-team/qwen-1 was applied and is not ready yet" in found["report.md"]
    assert {"exitCode", "stacks", "capacity", "findings", "fleet"} <= json.loads(found["report.json"]).keys()


@pytest.mark.parametrize("command", ["preview", "up"])
def test_a_file_whose_name_says_no_format_is_refused_before_anything_runs(command: str, run: Run, fleet: Path) -> None:
    done = run(command, "-f", fleet, "--report", "report.pdf")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(
        "error MP100: --report report.pdf: its name says no format\nhint: end it with one of .txt"
    )


def test_no_format_holds_a_secret(run: Run, fleet: Path, tmp_path: Path, a_preview: type[FakePreview]) -> None:
    a_preview.report = a_report()
    run("preview", "-f", fleet, *files(tmp_path))
    assert not [name for name, text in read_all(tmp_path).items() if "kubeconfig of" in text]
