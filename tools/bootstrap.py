"""The Python side of a fresh clone: uv, and the virtual environment that uv.lock describes.

uv on PATH is used when it is recent enough to read the lock file; else a pinned one is installed into the tool cache
from the Python package index.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tools import cache
from tools.build import BuildFailed, say
from tools.locate import PROJECT, version_of
from tools.versions import is_recent_enough, parse

UV_VERSION = "0.13.9"
UV_MINIMUM = "0.8.0"
SYNCED = PROJECT / ".venv" / ".synced"
"""Touched when the virtual environment matches the lock file: what `make` compares times with."""


def sync() -> None:
    """Bring `.venv` to what uv.lock says; a few seconds, a minute the first time. Raises BuildFailed."""
    uv = find_uv() or _install_uv()
    say("Python packages of uv.lock into .venv (a minute the first time)")
    interpreter = Path(sys.base_prefix) / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}"
    python = interpreter if interpreter.exists() else Path(sys.executable)
    answer = _run([uv, "sync", "--locked", "--quiet", "--no-python-downloads", "--python", python])
    if answer.returncode != 0:
        raise BuildFailed(
            f"uv could not install the Python packages:\n{_last_lines(answer)}",
            "check that the Python package index can be reached; after a change of pyproject.toml run `uv lock`",
        )
    SYNCED.touch()


def find_uv() -> Path | None:
    """A uv that can be used: on PATH, or installed into the cache before."""
    on_path = shutil.which("uv")
    if on_path is not None:
        version = version_of(Path(on_path), ("--version",))
        if version is not None and is_recent_enough(version, parse(UV_MINIMUM)):
            return Path(on_path)
    installed = _uv_home() / "bin" / "uv"
    return installed if installed.exists() else None


def _install_uv() -> Path:
    with cache.lock(lambda: say("another build is running, waiting for it to end")):
        if found := find_uv():
            return found
        say(f"installing uv {UV_VERSION} into {_uv_home()}")
        with tempfile.TemporaryDirectory() as folder:
            made = _run([sys.executable, "-m", "venv", folder])
            if made.returncode != 0:
                raise BuildFailed(
                    f"`{sys.executable} -m venv` failed:\n{_last_lines(made)}",
                    "install Python's venv module (Debian, Ubuntu: apt install python3-venv) or put uv on PATH",
                )
            installed = _run([Path(folder, "bin", "python"), "-m", "pip", "install", "--quiet", f"uv=={UV_VERSION}"])
            if installed.returncode != 0:
                raise BuildFailed(
                    f"pip could not install uv {UV_VERSION}:\n{_last_lines(installed)}",
                    "check that the Python package index can be reached, or put uv on PATH",
                )
            with cache.filling(_uv_home()) as home:
                (home / "bin").mkdir()
                shutil.copy2(Path(folder, "bin", "uv"), home / "bin" / "uv")
    return _uv_home() / "bin" / "uv"


def _uv_home() -> Path:
    return cache.root() / f"uv-{UV_VERSION}"


def _run(command: list[str | Path]) -> "subprocess.CompletedProcess[str]":
    """Run in the checkout; a virtual environment that happens to be active is not the one that is meant."""
    environment = {name: value for name, value in os.environ.items() if name not in {"VIRTUAL_ENV", "PYTHONHOME"}}
    return subprocess.run(
        command, check=False, cwd=PROJECT, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )


def _last_lines(answer: "subprocess.CompletedProcess[str]") -> str:
    return "\n".join(f"  {line}" for line in (answer.stdout + answer.stderr).splitlines()[-15:])
