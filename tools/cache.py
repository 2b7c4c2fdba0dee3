"""The folder that holds what was built: one folder per tool and content, filled at once or not at all.

`$MODELPLANE_TOOLS`, else `$XDG_CACHE_HOME/modelplane/tools`, else `~/.cache/modelplane/tools`. A folder's name ends in
a hash of everything its content depends on, so that two checkouts share it and a change of a pin builds anew.
"""

import fcntl
import hashlib
import json
import os
import platform
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from tools.catalog import GoModule

SOURCES = Path(__file__).resolve().parent
"""The folder of the Go modules."""

BUILD_FLAGS = ("-buildvcs=false", "-trimpath", "-mod=readonly")
"""Given on the command line, where they win over the same ones in GOFLAGS."""

BUILD_ENVIRONMENT = {"CGO_ENABLED": "0"}

_TEMPORARY = ".building-"


def root() -> Path:
    """The cache folder (it may not exist yet)."""
    if named := os.environ.get("MODELPLANE_TOOLS"):
        return Path(named).expanduser().absolute()
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser().absolute() / "modelplane" / "tools"


def source_files(module: GoModule, sources: Path = SOURCES) -> tuple[Path, ...]:
    """The module's own files: go.mod, go.sum and its sources. What a build copies beside them is not among them."""
    folder = sources / module.folder
    return tuple(sorted((folder / "go.mod", folder / "go.sum", *folder.rglob("*.go"), *folder.rglob("*.py"))))


def key(module: GoModule, sources: Path = SOURCES) -> str:
    """Sixteen hex digits that change with the pins, the sources, the flags and the platform."""
    about = json.dumps(
        [_what_matters(module), BUILD_FLAGS, BUILD_ENVIRONMENT, platform.system(), platform.machine()], sort_keys=True
    )
    digest = hashlib.sha256(about.encode())
    for file in source_files(module, sources):
        digest.update(f"\n{file.relative_to(sources / module.folder)}\n".encode() + file.read_bytes())
    return digest.hexdigest()[:16]


def _what_matters(module: GoModule) -> dict[str, object]:
    """The catalog's entry without what does not change the product: how long it takes, what else would do."""
    return {name: value for name, value in asdict(module).items() if name not in {"minutes", "on_machine", "plugin"}}


def home(module: GoModule, sources: Path = SOURCES) -> Path:
    """The folder of one module's products in the cache (it may not exist yet)."""
    return root() / f"{module.folder}-{key(module, sources)}"


def product(module: GoModule, name: str, sources: Path = SOURCES) -> Path:
    """Where the cache holds the product `name`: a program's file, or the folder of copied files."""
    folder = home(module, sources)
    return folder / "bin" / name if module.programs else folder / "files"


def is_filled(module: GoModule, sources: Path = SOURCES) -> bool:
    """Whether the cache holds all products of a module, to be used by this user."""
    return all(os.access(product(module, name, sources), os.X_OK) for name in module.names)


@contextmanager
def lock(waiting: Callable[[], None]) -> Iterator[Path]:
    """Hold the cache for writing; `waiting` is called once where another process holds it. Gives the cache folder."""
    folder = root()
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting()
            fcntl.flock(file, fcntl.LOCK_EX)
        _remove_unfinished(folder)
        yield folder


@contextmanager
def filling(destination: Path) -> Iterator[Path]:
    """A temporary folder that becomes `destination` when the block ends well, and is removed when it does not.

    The caller holds the lock.
    """
    work = destination.with_name(_TEMPORARY + destination.name)
    work.mkdir()
    try:
        yield work
        if destination.exists():
            shutil.rmtree(destination)
        work.rename(destination)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _remove_unfinished(folder: Path) -> None:
    """Delete what a build that was killed has left; whoever holds the lock knows that nobody fills it."""
    for path in folder.glob(f"{_TEMPORARY}*"):
        shutil.rmtree(path, ignore_errors=True)
