"""A report as data: what people have to see first, tables, cases that pass or fail, and the same for programs. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Row = tuple[str, ...]

MOST_FINDINGS = 50
"""Problems of documents that are shown; `modelplane validate` shows all."""


@dataclass(frozen=True, kw_only=True)
class Section:
    """One table. A row of a single cell is a note on the row before it."""

    title: str
    head: Row
    rows: Sequence[Row] = ()
    urgent: bool = False
    """Whether it stands on top: what goes, and what is made anew."""
    folded: bool = False
    """Whether a reader opens it only to look closer."""
    code: bool = False
    """Whether the first column is a name that is set as one."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """One thing that holds or does not, for test reports; `failure` is empty where it holds."""

    group: str
    name: str
    failure: str = ""
    kind: str = ""
    """What kind of failure, in one word."""
    seconds: float = 0.0
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Page:
    """The whole report."""

    fleet: str
    command: str
    """`preview` or `up`."""
    sentence: str
    """What it comes to."""
    exit_code: int
    sections: Sequence[Section] = ()
    unknowns: Sequence[str] = ()
    """What only an update can tell, or what is taken for granted."""
    cases: Sequence[Case] = ()
    plain: Mapping[str, Any] = field(default_factory=dict)

    @property
    def shown(self) -> list[Section]:
        """Sections that have something to show, the urgent ones first."""
        having = [section for section in self.sections if section.rows]
        return sorted(having, key=lambda section: not section.urgent)

    @property
    def title(self) -> str:
        """What the report is about."""
        return f"{'Preview' if self.command == 'preview' else 'Update'} of fleet {self.fleet}"
