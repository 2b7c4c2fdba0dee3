"""The fleet's page and a report in a browser: what they show, and that they fetch and run nothing else."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from browser.opened import CHROMIUM, Opened, launched, things
from graphs import a_large_graph
from playwright.sync_api import Browser, Page, expect

from cli.graph_page import page as page_of
from cli.report.as_html import as_html
from cli.report.page import Page as Report
from cli.report.page import Section
from stacks.graph import Edge, Graph, Node

pytestmark = pytest.mark.skipif(not CHROMIUM, reason="no Chromium on PATH to show the page with")

HOSTILE = "</script><b id=harm>&amp;"
FLEET = Graph(
    fleet="prod",
    nodes=(
        Node(id="gateway/default", kind="gateway", name="default", state="ready"),
        Node(
            id="service/ml/chat", kind="service", name="ml/chat", state="ready", facts=(("address", "http://hub/ml"),)
        ),
        Node(id="service/ml/other", kind="service", name="ml/other", state="waiting", why=(HOSTILE,)),
        Node(id="endpoint/ml/chat-1", kind="endpoint", name="ml/chat-1", state="ready"),
        Node(id="replica/ml/chat-1", kind="replica", name="ml/chat-1", state="ready", why=("fewest there",)),
        Node(id="replica/ml/chat-2", kind="replica", name="ml/chat-2", change="added", why=("planned",)),
        Node(id="pool/us/h100", kind="pool", name="us/h100", state="ready", facts=(("nodes wanted", "2"),)),
        Node(id="device/us/h100/gpu", kind="device", name="8 x gpu", state="unknown"),
    ),
    edges=(
        Edge(source="gateway/default", target="service/ml/chat"),
        Edge(source="gateway/default", target="service/ml/other"),
        Edge(source="service/ml/chat", target="endpoint/ml/chat-1", label="100 %"),
        Edge(source="endpoint/ml/chat-1", target="replica/ml/chat-1"),
        Edge(source="replica/ml/chat-1", target="pool/us/h100", label="1 node"),
        Edge(source="replica/ml/chat-2", target="pool/us/h100", label="1 node", change="added"),
        Edge(source="pool/us/h100", target="device/us/h100/gpu", label="8 a node"),
    ),
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launched() as shown:
        yield shown


@pytest.fixture
def shown(browser: Browser, tmp_path: Path) -> Iterator[Page]:
    """The fleet's page, opened from a file; it must not have asked for anything or complained of anything."""
    with Opened(browser, tmp_path, page_of(FLEET)) as page:
        yield page


def test_it_shows_all_of_a_small_fleet_and_what_the_plan_adds(shown: Page) -> None:
    assert len(things(shown)) == len(FLEET.nodes)
    assert "replica ml/chat-2, added" in things(shown)
    expect(shown.locator("#summary")).to_have_text(
        "2 services · 1 endpoint · 2 replicas · 1 pool · 1 added by the plan"
    )
    expect(shown.get_by_text("100 %")).to_be_visible()


def test_a_click_says_why_and_shows_what_belongs_to_it(shown: Page) -> None:
    shown.locator("g[aria-label^='replica ml/chat-1']").click()
    expect(shown.locator("#details h2")).to_have_text("replica ml/chat-1")
    expect(shown.locator("#details li")).to_have_text("fewest there")
    left = things(shown)
    assert "service ml/chat, ready" in left
    assert "pool us/h100, ready" in left
    assert not [name for name in left if "ml/other" in name or "chat-2" in name]
    shown.get_by_role("button", name="Show all").click()
    assert len(things(shown)) == len(FLEET.nodes)


def test_it_is_walked_with_the_keyboard_alone(shown: Page) -> None:
    def focused() -> str:
        return str(shown.evaluate("document.activeElement.getAttribute('aria-label')"))

    shown.keyboard.press("Tab")
    shown.keyboard.press("Tab")
    while focused() != "gateway default, ready":
        shown.keyboard.press("Tab")
    for wanted in ("service ml/chat", "endpoint ml/chat-1", "replica ml/chat-1", "pool us/h100", "device 8 x gpu"):
        shown.keyboard.press("ArrowRight")
        assert focused().startswith(wanted)
    shown.keyboard.press("ArrowLeft")
    shown.keyboard.press("Enter")
    expect(shown.locator("#details dd")).to_have_text(["ready", "2"])
    assert focused() == "pool us/h100, ready"
    shown.keyboard.press("Escape")
    assert len(things(shown)) == len(FLEET.nodes)


def test_a_search_shows_what_is_found_with_what_belongs_to_it(shown: Page) -> None:
    shown.get_by_label("Find").fill("chat-2")
    assert things(shown) == ["replica ml/chat-2, added", "pool us/h100, ready", "device 8 x gpu, unknown"]
    shown.get_by_label("Find").fill("")
    assert len(things(shown)) == len(FLEET.nodes)


def test_texts_are_texts(shown: Page) -> None:
    shown.locator("g[aria-label^='service ml/other']").click()
    expect(shown.locator("#details li")).to_have_text(HOSTILE)
    assert shown.locator("#harm").count() == 0


def test_its_policy_lets_nothing_in_and_nothing_out(browser: Browser, tmp_path: Path) -> None:
    watched = Opened(browser, tmp_path, page_of(FLEET))
    page = watched.page
    page.goto(watched.file.as_uri())
    page.evaluate("document.head.append(Object.assign(document.createElement('script'), {textContent: 'harm = 1'}))")
    assert page.evaluate("typeof harm") == "undefined"
    assert page.evaluate("fetch('http://127.0.0.1:9/').catch((error) => error.name)") == "TypeError"
    assert [text for text in watched.complaints if "Content Security Policy" in text]
    assert watched.requests == [watched.file.as_uri()]
    page.close()


def test_a_thousand_clusters_open_and_are_found(browser: Browser, tmp_path: Path) -> None:
    with Opened(browser, tmp_path, page_of(a_large_graph())) as page:
        expect(page.locator("#summary")).to_contain_text("10000 replicas · 1000 pools")
        page.get_by_label("Find").fill("cluster-0777/")
        replicas = [f"replica ml/cluster-0777-{index}, ready" for index in range(10)]
        assert sorted(things(page)) == ["pool cluster-0777/h100, ready", *replicas]


def test_a_report_is_shown_in_its_own_style(browser: Browser, tmp_path: Path) -> None:
    rows = (("ml/chat-1", HOSTILE),)
    report = Report(
        fleet="prod",
        command="preview",
        sentence="1 replica has no place",
        exit_code=20,
        sections=(Section(title="Short of replicas", head=("REPLICA", "WHY"), rows=rows, urgent=True),),
    )
    with Opened(browser, tmp_path, as_html(report)) as page:
        expect(page.get_by_role("heading", level=1)).to_have_text("Preview of fleet prod")
        expect(page.locator("td").nth(1)).to_have_text(HOSTILE)
        border = "element => getComputedStyle(element).borderLeftWidth"
        assert page.locator("section.urgent").evaluate(border) == "4px"
