"""What pages tell a reader to type, typed in one shell, and held to what they show."""

import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from engine.fleets import ROOT, free_port

ADDRESS = "127.0.0.1:8080"
"""Where hubs answer on the pages."""
ANYTHING = "…"
NUMBER = "\0"
VARYING = re.compile(r"(?:\d+ (?:min|h) )*\d+(?:\.\d+)?(?= ?s\b)|(?<=127\.0\.0\.1:)\d+|(?<=chatcmpl-)\d+")
"""Numbers that differ from run to run: seconds, ports, counters of requests."""


@dataclass(frozen=True)
class Seen:
    """What a command that was typed has shown, and how it ended."""

    code: int
    out: str
    err: str


class Shell:
    """One bash, into which commands are typed one after the other."""

    def __init__(self, folder: Path, process: "subprocess.Popen[str]") -> None:
        self._folder = folder
        self._process = process

    def enter(self, command: str) -> Seen:
        """Run a command to its end; variables that it sets are there for the next one."""
        out, err = self._folder / "out", self._folder / "err"
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(f"{{ {command}\n}} >'{out}' 2>'{err}' </dev/null; echo $?\n")
        self._process.stdin.flush()
        code = self._process.stdout.readline().strip()
        assert code, f"the shell ended at: {command}"
        return Seen(int(code), out.read_text(), err.read_text())


@contextmanager
def shell(place: Path, folder: Path) -> Iterator[Shell]:
    """A bash that works in `place`, with nothing of ours in its variables; its outputs go through `folder`."""
    folder.mkdir()
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("PULUMI_", "MODELPLANE_F"))}
    process = subprocess.Popen(
        ["bash", "--norc"], cwd=place, env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        yield Shell(folder, process)
    finally:
        process.kill()
        process.communicate()


def a_checkout(place: Path, port: int | None = None) -> str:
    """Make what a reader's checkout has: the examples and the commands. Where its hub answers, on a port of its own."""
    address = f"127.0.0.1:{port or free_port()}"
    (place / ".venv").symlink_to(ROOT / ".venv")
    for source in (ROOT / "examples").rglob("*"):
        if source.is_file() and ".modelplane" not in source.parts:
            target = place / source.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(source.read_text().replace(ADDRESS, address))
    return address


def missing(shown: str, seen: Seen) -> list[str]:
    """Lines that a page shows and the command did not; with nothing left out, standard output has to be those lines."""
    lines = shown.rstrip("\n").splitlines()
    said = [*seen.out.splitlines(), *seen.err.splitlines()]
    absent = [line for line in lines if line != ANYTHING and not any(_like(line).fullmatch(each) for each in said)]
    if not any(ANYTHING in line for line in lines) and len(lines) != len(seen.out.splitlines()):
        absent.append(f"{len(lines)} lines are shown, standard output has {len(seen.out.splitlines())}")
    return absent


def _like(line: str) -> re.Pattern[str]:
    """A line as a pattern: what is left out is anything, numbers that vary are any number, columns may be wider."""
    pieces = re.split(f"([{ANYTHING}{NUMBER}])", VARYING.sub(NUMBER, line))
    known = {ANYTHING: ".*", NUMBER: r"(?:\d+ (?:min|h) )*\d+(?:\.\d+)?"}
    return re.compile("".join(known.get(piece) or re.sub(r"(?:\\ ){2,}", " +", re.escape(piece)) for piece in pieces))


def at(address: str, text: str) -> str:
    """A page's text, with the hub where it is in this run."""
    return text.replace(ADDRESS, address)
