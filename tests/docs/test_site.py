"""The documentation's site is made without a warning, shows every page, and fetches nothing from elsewhere."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from docs.texts import ROOT, blocks
from ruamel.yaml import YAML

from api.loader import KINDS
from api.pages import pages

DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
FROM_ELSEWHERE = re.compile(r"""<(?:script|img|iframe|link)\b[^>]*?\b(?:src|href)=["']?(?:https?:)?//""")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-qW", "--keep-going", "-d", made / "trees", DOCS, made / "html"],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return made / "html"


def test_every_page_is_there_and_in_the_list_for_models(site: Path) -> None:
    names = [str(page.relative_to(DOCS).with_suffix("")) for page in PAGES]
    assert [name for name in names if not (site / f"{name}.html").exists()] == []
    listed = (site / "llms.txt").read_text()
    assert [name for name in names if f"/{name}.md" not in listed] == []


def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    found = {str(page.relative_to(site)): FROM_ELSEWHERE.findall(page.read_text()) for page in site.rglob("*.html")}
    assert {page: tags for page, tags in found.items() if tags} == {}
    sheets = "".join(sheet.read_text() for sheet in site.rglob("*.css"))
    assert not re.search(r"(?:url\(|@import\s)[\"']?(?:https?:)?//", sheets)


def test_pages_of_kinds_are_those_of_the_models() -> None:
    wanted = {f"{name.lower()}.md": text for name, text in pages().items()}
    found = {file.name: file.read_text() for file in (DOCS / "kinds").glob("*.md") if file.name != "index.md"}
    assert found == wanted, "write them again with: modelplane schema -o markdown --directory docs/kinds"


@pytest.mark.parametrize("file", PAGES, ids=[str(page.relative_to(DOCS)) for page in PAGES])
def test_documents_that_are_shown_whole_are_valid(file: Path) -> None:
    for block in blocks(file, "yaml"):
        if not block.startswith("apiVersion:"):
            continue
        for shown in YAML(typ="safe").load_all(block):
            kind = KINDS.get((shown["apiVersion"], shown["kind"]))
            if kind is not None:
                kind.parse(shown)
