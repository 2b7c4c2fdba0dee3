"""A report as one page: nothing from anywhere else, no program, and a content security policy that allows none."""

import html

from cli.html_document import html_document
from cli.report.page import Page, Row, Section

_STYLE = """\
:root{color-scheme:light dark;--line:#8886;--soft:#8882}
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:72rem;padding:0 1rem}
h1{font-size:1.4rem;margin-bottom:.2rem}h2{font-size:1.05rem;margin:1.8rem 0 .4rem}
.sum{font-size:1.05rem}.urgent{border-left:4px solid #c62828;padding-left:.8rem}
.wide{overflow-x:auto}table{border-collapse:collapse;width:100%}
th,td{text-align:left;vertical-align:top;padding:.25rem .7rem .25rem 0;border-bottom:1px solid var(--line)}
th{font-size:.75rem;letter-spacing:.04em}td.note{padding-left:1.5rem;background:var(--soft)}
code{font:.92em ui-monospace,monospace}summary{cursor:pointer}
"""

_BODY = """\
<header>
<h1>{title}</h1>
<p class="sum">{sentence}</p>
{ending}</header>
<main>
{sections}
</main>"""


def as_html(page: Page) -> str:
    """The whole report, nothing left out."""
    sections = [_section(section) for section in page.shown]
    if page.unknowns:
        notes = "".join(f"<li>{_text(note)}</li>" for note in page.unknowns)
        sections.append(f"<section>\n<h2>Not known, or taken for granted</h2>\n<ul>{notes}</ul>\n</section>")
    body = _BODY.format(
        title=_text(page.title),
        sentence=_text(page.sentence),
        ending=f"<p>It ends with exit code {page.exit_code}.</p>\n" if page.exit_code else "",
        sections="\n".join(sections),
    )
    return html_document(page.title, body, style=_STYLE)


def _section(section: Section) -> str:
    head = "".join(f'<th scope="col">{_text(cell)}</th>' for cell in section.head)
    body = "\n".join(_row(row, section) for row in section.rows)
    table = f'<div class="wide"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table></div>'
    classes = ' class="urgent"' if section.urgent else ""
    if section.folded:
        title = f"{_text(section.title)} ({len(section.rows)})"
        return f"<section{classes}>\n<details><summary>{title}</summary>\n{table}\n</details>\n</section>"
    return f"<section{classes}>\n<h2>{_text(section.title)}</h2>\n{table}\n</section>"


def _row(row: Row, section: Section) -> str:
    if len(row) == 1:
        return f'<tr><td class="note" colspan="{len(section.head)}">{_text(row[0])}</td></tr>'
    first = f"<code>{_text(row[0])}</code>" if section.code else _text(row[0])
    return f"<tr><td>{first}</td>{''.join(f'<td>{_text(cell)}</td>' for cell in row[1:])}</tr>"


def _text(text: str) -> str:
    return html.escape(text)
