"""How pages are read and held to what commands do."""

from pathlib import Path

import pytest
from docs.texts import blocks, typed
from engine.typed import Seen, missing

PAGE = """\
## One

1. In a list:

   ```console
   $ echo a \\
     b
   a b
   ```

## Two

```console
$ other
```
"""
SAID = Seen(0, "NAME       READY\nfleet/one  True\n", "hub: done (12.5 s)\n")


def test_blocks_inside_of_lists_are_blocks(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    assert blocks(page, "console") == ["$ echo a \\\n  b\na b\n", "$ other\n"]
    assert list(typed(page)) == [("echo a    b", "a b\n"), ("other", "")]
    assert list(typed(page, "Two")) == [("other", "")]


@pytest.mark.parametrize(
    "shown", ["NAME  READY\nfleet/one  True\n", "…\nfleet/…  True\n", "…\nhub: done (1 min 3 s)\n"]
)
def test_what_was_said_is_not_missing(shown: str) -> None:
    assert missing(shown, SAID) == []


@pytest.mark.parametrize(
    "shown", ["NAME  READY\n", "NAME  READY\nfleet/one  False\n", "…\nfleet/two  True\n", "…\nhub: done 12.5\n"]
)
def test_what_was_not_said_is_missing(shown: str) -> None:
    assert missing(shown, SAID) != []
