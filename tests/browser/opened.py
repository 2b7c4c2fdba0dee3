"""Pages in a headless Chromium, where this machine has one."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), ""
)

ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]


@contextmanager
def launched() -> Iterator[Browser]:
    """A browser, ended afterwards."""
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


class Opened:
    """A page that is shown for a while, and held to asking for nothing but itself."""

    def __init__(self, browser: Browser, folder: Path, text: str) -> None:
        self.file = folder / "fleet.html"
        self.file.write_text(text)
        self.page = browser.new_page(viewport={"width": 1900, "height": 700})
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def __enter__(self) -> Page:
        self.page.goto(self.file.as_uri())
        return self.page

    def __exit__(self, *_: object) -> None:
        self.page.close()
        assert self.requests == [self.file.as_uri()]
        assert self.complaints == []


def things(page: Page) -> list[str]:
    return [str(thing.get_attribute("aria-label")) for thing in page.locator("g[role=button]").all()]
