"""What tests of the command line share: a finished command, and all commands there are, and what is on the disk."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

import cli
from stacks.command import RunningEngines
from stacks.environment import Environment
from stacks.interrupt import Stop
from stacks.under_way import UnderWay

ROOT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True)
class Done:
    """A finished command."""

    code: int
    out: str
    err: str


Run = Callable[..., Done]


class IdleEngine:
    """An engine that has begun nothing."""

    def __init__(self, environment: Environment, *_: Any, **__: Any) -> None:
        self.environment = environment
        self.stop = Stop()
        self.running = RunningEngines()
        self.under_way = UnderWay()


def files_below(directory: Path) -> dict[str, bytes]:
    """All files and their content."""
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def commands(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command that does something, with the words that lead to it."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


COMMANDS = dict(commands(typer.main.get_command(cli.app)))
