"""The project's documents as tests read them."""

import re
import shlex
import textwrap
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_BELOW = [file for folder in ("docs", "examples") for file in (ROOT / folder).rglob("*.md")]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *_BELOW, *(ROOT / "tools").glob("*.md")])
IDS = [str(file.relative_to(ROOT)) for file in DOCUMENTS]


def blocks(file: Path, language: str) -> list[str]:
    """Fenced blocks of one language, those inside of lists too, without what they are indented by."""
    return _fenced(file.read_text(), language)


def typed(file: Path, section: str = "") -> Iterator[tuple[str, str]]:
    """Every command that is shown, of one section alone where it is named, and what is shown below it."""
    text = file.read_text()
    if section:
        text = re.split(r"^## ", text.partition(f"\n## {section}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]
    for block in _fenced(text, "console"):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.replace("\\\n", " ").partition("\n")
            yield command, output


def shell_lines(file: Path) -> Iterator[str]:
    """What a reader is told to type, continued lines joined."""
    for block in blocks(file, "console"):
        joined = block.replace("\\\n", " ")
        yield from (line[2:] for line in joined.splitlines() if line.startswith("$ "))


def commands(file: Path, program: str) -> Iterator[list[str]]:
    """Every call of a program among them, its arguments only."""
    for line in shell_lines(file):
        lexer = shlex.shlex(line, posix=True, punctuation_chars=";&|")
        lexer.whitespace_split = True
        words: list[str] = []
        for word in [*lexer, ";"]:
            if not set(word) <= set(";&|"):
                words.append(word)
                continue
            if words and words[0] == program:
                yield words[1:]
            words = []


def _fenced(text: str, language: str) -> list[str]:
    found = re.finditer(rf"^( *)```{language}\n(.*?)^\1```", text, re.MULTILINE | re.DOTALL)
    return [textwrap.dedent(block[2]) for block in found]
