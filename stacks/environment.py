"""Where a fleet's state lies and what its engine needs in the environment.

With no backend named, state lies in `.modelplane/state` beside the fleet and the passphrase in a generated
`.modelplane/passphrase`, readable by its owner only. Pulumi's usual variables name another backend or passphrase.

Stacks' settings (`Pulumi.<stack>.yaml`: configuration, and what their secrets are encrypted with) lie with the fleet as
well, in the folder that the driver and a plain `pulumi` both work in: `PULUMI_OPTION_CWD` takes the latter there. Where
a folder has no settings of a stack, its own state tells what its secrets are encrypted with.
"""

import hashlib
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote

from components.cloud_tokens import search_path
from stacks.project import write_project
from tools.locate import ToolMissing, locate

PROJECT = "modelplane"
FOLDER = ".modelplane"
FILE = "file://"
BACKEND = "PULUMI_BACKEND_URL"
PASSPHRASE = "PULUMI_CONFIG_PASSPHRASE"  # noqa: S105 - the name of a variable
PASSPHRASE_FILE = "PULUMI_CONFIG_PASSPHRASE_FILE"  # noqa: S105 - the name of a variable
FOLDER_OF_ENGINE = "PULUMI_OPTION_CWD"
ENCRYPTION_OF_STATE = "PULUMI_FALLBACK_TO_STATE_SECRETS_MANAGER"


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
        """Where the engine keeps the project file and the stacks' settings: those of another backend apart."""
        return work_dir(self.directory, self.variables.get(BACKEND, ""))

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
        write_project(self.work_dir, PROJECT)

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
    """The backend where none is named, as a URL: a folder's name may hold what has a meaning in one.

    Without metadata: the engine would rewrite such a file in place, and who reads the state just then, as programs do,
    would find it empty.
    """
    return f"{FILE}{quote(str(directory / FOLDER / 'state'))}?metadata=skip"


def work_dir(directory: Path, backend: str) -> Path:
    """Where the settings of stacks lie, and the project file; a stack of another backend is another stack."""
    other = (
        "" if backend in {"", default_backend(directory)} else f"-{hashlib.sha256(backend.encode()).hexdigest()[:8]}"
    )
    return directory / FOLDER / f"work{other}"


def environment_of(directory: Path, outer: Mapping[str, str] | None = None) -> Environment:
    """What the engine is started with, from the fleet directory and the caller's own variables.

    Relative paths in those are the caller's; the engine works in a folder of its own.
    """
    directory = directory.resolve()
    outer = _callers_own(os.environ if outer is None else outer, directory)
    backend = _absolute(outer.get(BACKEND, "")) or default_backend(directory)
    variables = {
        BACKEND: backend,
        FOLDER_OF_ENGINE: str(work_dir(directory, backend)),
        ENCRYPTION_OF_STATE: "true",
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        "MODELPLANE_FLEET": str(directory),
    }
    if PASSPHRASE in outer:
        variables[PASSPHRASE] = outer[PASSPHRASE]
    else:
        named = outer.get(PASSPHRASE_FILE)
        variables[PASSPHRASE_FILE] = str(Path(named).absolute() if named else default_passphrase(directory))
    return Environment(directory=directory, variables=variables)


def plugin_variables() -> dict[str, str]:
    """Variables that let the engine find the Kubernetes provider where it is, and fetch nothing else."""
    try:
        folder = locate("pulumi-resource-kubernetes").parent
    except ToolMissing:
        return {"PATH": search_path(os.environ.get("PATH", ""))}  # the official CLI fetches its own
    return {
        "PATH": search_path(f"{folder}{os.pathsep}{os.environ.get('PATH', '')}"),
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
    }


def _callers_own(outer: Mapping[str, str], directory: Path) -> dict[str, str]:
    """The caller's variables without the defaults of another fleet, which `modelplane env` has left in this shell."""
    folder = outer.get(FOLDER_OF_ENGINE, "")
    other = Path(folder).parent.parent
    if not folder or other == directory:
        return dict(outer)
    defaults = {BACKEND: default_backend(other), PASSPHRASE_FILE: str(default_passphrase(other))}
    return {name: value for name, value in outer.items() if value != defaults.get(name)}


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
