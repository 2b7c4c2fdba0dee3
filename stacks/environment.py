"""Where a fleet's state lies and what its engine needs in the environment.

With no backend named, state lies in `.modelplane/state` beside the fleet and the passphrase in a generated
`.modelplane/passphrase`, readable by its owner only. Pulumi's usual variables name another backend or passphrase.
"""

import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote

PROJECT = "modelplane"
FOLDER = ".modelplane"
FILE = "file://"
BACKEND = "PULUMI_BACKEND_URL"
PASSPHRASE = "PULUMI_CONFIG_PASSPHRASE"  # noqa: S105 - the name of a variable
PASSPHRASE_FILE = "PULUMI_CONFIG_PASSPHRASE_FILE"  # noqa: S105 - the name of a variable


@dataclass(frozen=True, kw_only=True)
class Environment:
    """Paths and variables of one fleet directory. Nothing is written before `prepare`."""

    directory: Path
    variables: Mapping[str, str]

    @property
    def folder(self) -> Path:
        """The fleet's own folder for state and local parts."""
        return self.directory / FOLDER

    @property
    def work_dir(self) -> Path:
        """Where the engine keeps the project file and the stacks' settings."""
        return self.folder / "work"

    def prepare(self) -> None:
        """Make the folders and, where it is the default, the passphrase. Safe to repeat."""
        for path in (self.folder, self.folder / "state", self.work_dir):
            path.mkdir(parents=True, exist_ok=True)
        ignore = self.folder / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n")
        named = self.variables.get(PASSPHRASE_FILE)
        if named == str(default_passphrase(self.directory)):
            _generate_passphrase(Path(named))

    @contextmanager
    def scratch(self) -> Iterator[Path]:
        """A folder only its owner can read, gone afterwards. What a killed run left of it goes with the next one's."""
        home = self.folder / "tmp"
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=f"{os.getpid()}-", dir=home, ignore_cleanup_errors=True) as folder:
            yield Path(folder)

    def sweep(self) -> None:
        """Remove scratch folders of runs that no longer live."""
        for folder in (self.folder / "tmp").glob("*-*"):
            pid = folder.name.partition("-")[0]
            if pid.isdigit() and not Path(f"/proc/{pid}").exists():
                shutil.rmtree(folder, ignore_errors=True)


def default_passphrase(directory: Path) -> Path:
    """Where the generated passphrase lies."""
    return directory / FOLDER / "passphrase"


def default_backend(directory: Path) -> str:
    """The backend where none is named, as a URL: a folder's name may hold what has a meaning in one."""
    return f"{FILE}{quote(str(directory / FOLDER / 'state'))}"


def environment_of(directory: Path, outer: Mapping[str, str] | None = None) -> Environment:
    """What the engine is started with, from the fleet directory and the caller's own variables.

    Relative paths in those are the caller's; the engine works in a folder of its own.
    """
    outer = os.environ if outer is None else outer
    directory = directory.resolve()
    variables = {
        BACKEND: _absolute(outer.get(BACKEND, "")) or default_backend(directory),
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        "MODELPLANE_FLEET": str(directory),
    }
    if PASSPHRASE in outer:
        variables[PASSPHRASE] = outer[PASSPHRASE]
    else:
        named = outer.get(PASSPHRASE_FILE)
        variables[PASSPHRASE_FILE] = str(Path(named).absolute() if named else default_passphrase(directory))
    return Environment(directory=directory, variables=variables)


def _absolute(backend: str) -> str:
    path = backend.removeprefix(FILE)
    if path == backend or not path or path.startswith(("/", "~")):
        return backend
    return f"{FILE}{quote(str(Path.cwd()))}/{path}"


def _generate_passphrase(path: Path) -> None:
    """Write the passphrase once. It appears whole or not at all: another run may read it at any moment."""
    if path.exists():
        return
    made = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    try:
        with os.fdopen(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(secrets.token_urlsafe(32) + "\n")
        path.hardlink_to(made)
    except FileExistsError:
        pass  # another run was faster
    finally:
        made.unlink(missing_ok=True)
