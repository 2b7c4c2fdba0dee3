"""`python3 -m tools`: check the machine, get Python packages, build what is missing, say where a tool is."""

import argparse
import signal
import sys
from collections.abc import Sequence
from types import FrameType

from tools import bootstrap, build, cache, doctor
from tools.catalog import MODULES, find, names
from tools.locate import ToolMissing, look_up


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; 0 when all is well, 1 with a message on standard error when not, 130 when stopped."""
    for number in (signal.SIGINT, signal.SIGTERM):  # a shell's background job starts with SIGINT ignored
        signal.signal(number, _stop)
    options = _parser().parse_args(arguments)
    try:
        return _COMMANDS[options.command](options)
    except (build.BuildFailed, ToolMissing) as error:
        sys.stderr.write(f"error: {error.message}\nhint: {error.hint}\n")
        return 1
    except OSError as error:
        sys.stderr.write(
            f"error: {error}\nhint: the tool cache is {cache.root()}; MODELPLANE_TOOLS names another folder\n"
        )
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("stopped; what has been compiled is kept\n")
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python3 -m tools", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    quiet = commands.add_parser("doctor", help="check that this machine offers what is needed")
    quiet.add_argument("--quiet", action="store_true", help="print failures only")
    commands.add_parser("sync", help="get uv, and the Python packages of uv.lock into .venv")
    commands.add_parser("build", help="build the tools that are neither on this machine nor in the cache")
    commands.add_parser("list", help="every tool: version, where it comes from, path")
    commands.add_parser("cache", help="print the folder of the tool cache")
    path = commands.add_parser("path", help="print the path of one tool")
    path.add_argument("name", choices=names(), metavar="NAME")
    return parser


def _doctor(options: argparse.Namespace) -> int:
    checks = doctor.examine()
    for check in checks:
        if check.passed and not options.quiet:
            sys.stdout.write(f"ok      {check.subject}: {check.found}\n")
        if not check.passed:
            sys.stderr.write(f"FAILED  {check.subject}: {check.found}\nhint: {check.fix}\n")
    return 0 if all(check.passed for check in checks) else 1


def _sync(_: argparse.Namespace) -> int:
    bootstrap.sync()
    return 0


def _build(_: argparse.Namespace) -> int:
    build.build(MODULES)
    return 0


def _cache(_: argparse.Namespace) -> int:
    sys.stdout.write(f"{cache.root()}\n")
    return 0


def _list(_: argparse.Namespace) -> int:
    complete = True
    for name in names():
        try:
            found = look_up(name)
            row = (name, found.version, found.origin.value, str(found.path))
        except ToolMissing:
            complete = False
            source = find(name)
            row = (name, source.version if source else "", "missing", "-")
        sys.stdout.write("{:<28}{:<20}{:<15}{}\n".format(*row))
    if not complete:
        sys.stderr.write("hint: `make tools` gets what is missing\n")
    return 0 if complete else 1


def _path(options: argparse.Namespace) -> int:
    sys.stdout.write(f"{look_up(options.name).path}\n")
    return 0


def _stop(number: int, frame: FrameType | None) -> None:  # noqa: ARG001  a signal handler's shape
    raise KeyboardInterrupt


_COMMANDS = {"doctor": _doctor, "sync": _sync, "build": _build, "cache": _cache, "list": _list, "path": _path}

if __name__ == "__main__":
    sys.exit(main())
