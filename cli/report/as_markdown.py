"""A report as Markdown, for a comment on a pull request: never longer than one may be, and what is cut says so."""

from collections.abc import Sequence

from cli.report.page import Page, Row, Section

LONGEST = 65_536
"""Characters of one comment on GitHub."""
RESERVED = 600
"""Of those, for what says what was left out."""
LONGEST_CELL = 300
MOST_ROWS = 150
"""Of one table; a longer one is not read in a comment."""


def as_markdown(page: Page) -> str:
    """The whole report, as far as it fits: sections that do not are named at the end."""
    parts = [f"### {page.title.replace(page.fleet, _code(page.fleet))}", f"**{_text(page.sentence)}**"]
    if page.exit_code:
        parts.append(f"It ends with exit code {page.exit_code}.")
    notes = [f"- {_text(note)}" for note in page.unknowns]
    ending = ["\n".join(["#### Not known, or taken for granted", "", *notes[:MOST_ROWS]])] if notes else []
    room = LONGEST - RESERVED - sum(len(part) + 2 for part in (*parts, *ending))
    left: list[str] = []
    for section in page.shown:
        text = _section(section, room)
        if text is None:
            left.append(section.title)
            continue
        parts.append(text)
        room -= len(text) + 2
    if left:
        ending.append(f"_Left out, for a comment holds {LONGEST:,} characters: {', '.join(left)}. {_ELSEWHERE}_")
    whole = "\n\n".join([*parts, *ending]) + "\n"
    return whole if len(whole) <= LONGEST else whole[: LONGEST - len(_CUT)] + _CUT


_ELSEWHERE = "`--report FILE.html` has everything."
_CUT = "\n\n_Cut here. `--report FILE.html` has everything._\n"


def _section(section: Section, room: int) -> str | None:
    """The table with as many rows as fit; None where not even one does."""
    rows = section.rows[:MOST_ROWS]
    while rows:
        text = _table(section, rows)
        if len(text) <= room:
            return text
        rows = rows[: len(rows) // 2]
    return None


def _table(section: Section, rows: Sequence[Row]) -> str:
    width = len(section.head)
    lines = [f"| {' | '.join(section.head)} |", f"|{'---|' * width}"]
    lines += [_row(row, width, code=section.code) for row in rows]
    if more := len(section.rows) - len(rows):
        lines.append(f"\n… and {more} more. {_ELSEWHERE}")
    table = "\n".join(lines)
    if section.folded:
        return f"<details><summary>{section.title} ({len(section.rows)})</summary>\n\n{table}\n\n</details>"
    return f"#### {section.title}\n\n{table}"


def _row(row: Row, width: int, *, code: bool) -> str:
    cells = [_text(cell) for cell in row]
    if len(cells) == 1:
        cells = [f"_{cells[0]}_" if cells[0] else "", *[""] * (width - 1)]
    elif code:
        cells[0] = _code(row[0])
    return f"| {' | '.join(cells)} |"


def _code(text: str) -> str:
    return f"`{_text(text).replace('`', '')}`"


def _text(text: str) -> str:
    """One line that is no Markdown of its own and no HTML, cut where it is too long."""
    whole = " ".join(text.split())
    cut = whole if len(whole) <= LONGEST_CELL else f"{whole[:LONGEST_CELL]}…"
    return cut.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").replace("@", "@\u200b")
