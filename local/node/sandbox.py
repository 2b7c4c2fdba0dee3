"""Turns its own process into a container's program: `python -m local.node.sandbox REQUEST`.

The program gets the pod's network namespace, and as its root a folder in which its own file, its mounts and very little
of the machine appear. It ends with the process that started it. This module imports the standard library alone.

Request (JSON): {"namespace": open file, "root": folder, "mounts": [[source, path]], "links": [[path, target]],
"argv", "environment"}
"""

import ctypes
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from local import namespace

_PR_SET_PDEATHSIG = 1

DEVICES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom")
LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64")
"""What a program that is not linked statically needs of the machine."""


def of_machine(*, is_dynamic: bool) -> tuple[list[list[str]], list[list[str]]]:
    """Mounts and symbolic links that show a program what it needs of the machine."""
    mounts = [[path, path] for path in (*DEVICES, "/proc")]
    links = []
    for path in LIBRARIES if is_dynamic else ():
        if Path(path).is_symlink():
            links.append([path, os.readlink(path)])  # noqa: PTH115  the text of it, not where it leads
        elif Path(path).is_dir():
            mounts.append([path, path])
    return mounts, links


def main() -> None:
    """Enter the namespace, build the root, become the program; never returns."""
    request: dict[str, Any] = json.loads(sys.argv[1])
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    namespace.enter(request["namespace"])
    os.close(request["namespace"])
    namespace.keep_mounts_private()
    root = Path(request["root"])
    for path, target in request["links"]:
        link = root / path.lstrip("/")
        link.parent.mkdir(parents=True, exist_ok=True)
        if not link.is_symlink():
            link.symlink_to(target)
    for source, path in request["mounts"]:
        namespace.bind(source, _place(root / path.lstrip("/"), is_folder=Path(source).is_dir()))
    (root / "tmp").mkdir(exist_ok=True)
    # The C library's resolver asks for addresses elsewhere first unless it is told this.
    (root / "etc").mkdir(exist_ok=True)
    (root / "etc" / "nsswitch.conf").write_text("hosts: files\n")
    os.chroot(root)
    os.chdir("/")
    os.execve(request["argv"][0], request["argv"], request["environment"])  # noqa: S606  no shell is wanted


def _place(path: Path, *, is_folder: bool) -> str:
    """Make what is mounted over; returns its path."""
    if is_folder:
        path.mkdir(parents=True, exist_ok=True)
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return str(path)


if __name__ == "__main__":
    main()
