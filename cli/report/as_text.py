"""A report as plain tables."""

from cli.printing import table
from cli.report.page import Page


def as_text(page: Page) -> str:
    """Every section below its title, and what is not known at the end."""
    parts = [f"{page.title}: {page.sentence}\n"]
    parts += [f"{section.title}\n{table(section.head, section.rows)}" for section in page.shown]
    if page.unknowns:
        parts.append("\n".join(["Not known, or taken for granted", *(f"  {note}" for note in page.unknowns)]) + "\n")
    return "\n".join(parts)
