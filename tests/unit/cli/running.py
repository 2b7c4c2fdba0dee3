"""What tests of the command line share: a finished command, and what is on the disk."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True)
class Done:
    """A finished command."""

    code: int
    out: str
    err: str


Run = Callable[..., Done]


def files_below(directory: Path) -> dict[str, bytes]:
    """All files and their content."""
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}
