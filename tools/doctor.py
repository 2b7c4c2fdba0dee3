"""What this machine must offer before anything is built or started, each failure with its fix."""

import os
import platform
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tools import cache
from tools.build import BuildFailed, check_go, missing

_GIB = 1 << 30
BUILD_GIB = 12
"""Disk space that a first build of everything takes: Go's module and build caches, and the tools."""

RUN_GIB = 2
MEMORY_GIB = 3
"""Memory that a local fleet of three clusters takes."""

_TRAFFIC_PLANE = "ip link set lo up && ip route add local 10.64.0.0/10 dev lo"
"""What the traffic plane of a local fleet does first inside its own network."""


@dataclass(frozen=True, kw_only=True)
class Check:
    """The answer to one question about the machine; `fix` is empty where all is well."""

    subject: str
    found: str
    fix: str = ""

    @property
    def passed(self) -> bool:
        """Whether nothing has to be done."""
        return not self.fix


def examine() -> tuple[Check, ...]:
    """All checks, in the order in which a reader would fix them."""
    checks: tuple[Callable[[], Check], ...] = (
        check_system,
        check_python,
        check_go_command,
        check_space,
        check_memory,
        check_network,
    )
    return tuple(check() for check in checks)


def check_system() -> Check:
    """Linux is needed: API servers and gateways of a local fleet live in its namespaces."""
    system = platform.system()
    fix = "" if system == "Linux" else "use a Linux machine, a Linux virtual machine or WSL 2"
    return Check(subject="Linux", found=f"{system} {platform.release()} {platform.machine()}", fix=fix)


def check_python() -> Check:
    """The interpreter that runs this; one that is too old stops earlier (`tools/__init__.py`)."""
    fix = ""
    if not shutil.which("uv"):
        try:
            import ensurepip  # noqa: F401, PLC0415  Debian's Python comes without it
        except ImportError:
            fix = "install Python's venv module (Debian, Ubuntu: apt install python3-venv) or put uv on PATH"
    return Check(subject="Python", found=platform.python_version(), fix=fix)


def check_go_command() -> Check:
    """Go is needed only while something has to be built."""
    todo = missing()
    if not todo:
        return Check(subject="Go", found="not needed, all tools are there")
    try:
        version = check_go(todo)
    except BuildFailed as error:
        return Check(subject="Go", found=error.message, fix=error.hint)
    return Check(subject="Go", found=f"{version}, to build {', '.join(module.folder for module in todo)}")


def check_space() -> Check:
    """Room where Go's caches and the tool cache lie; enough for a build where one is due."""
    folder = cache.root()
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free / _GIB
    needed = BUILD_GIB if missing() else RUN_GIB
    fix = (
        ""
        if free >= needed
        else f"free {needed} GiB on the disk of {folder}, or name another folder in MODELPLANE_TOOLS"
    )
    return Check(subject="Disk", found=f"{free:.0f} GiB free in {folder}", fix=fix)


def check_memory(file: Path = Path("/proc/meminfo")) -> Check:
    """What can be had without swapping; enough for three clusters."""
    try:
        [line] = [line for line in file.read_text().splitlines() if line.startswith("MemAvailable:")]
    except (OSError, ValueError):
        return Check(subject="Memory", found="not told by this machine")
    free = int(line.split()[1]) / (_GIB >> 10)
    fix = "" if free >= MEMORY_GIB else f"end other programs: a local fleet of three clusters takes {MEMORY_GIB} GiB"
    return Check(subject="Memory", found=f"{free:.1f} GiB available", fix=fix)


def check_network() -> Check:
    """A private network can be made: with root's rights or in a user namespace."""
    subject = "Private network"
    for program, package in (("unshare", "util-linux"), ("ip", "iproute2")):
        if shutil.which(program) is None:
            return Check(subject=subject, found=f"`{program}` is not on PATH", fix=f"install {package}")
    as_root = os.geteuid() == 0
    mapping = [] if as_root else ["--user", "--map-root-user"]
    try:
        answer = subprocess.run(
            ["unshare", *mapping, "--net", "--mount", "sh", "-c", _TRAFFIC_PLANE],
            check=False,
            capture_output=True,
            text=True,
            timeout=20,
        )
    except subprocess.TimeoutExpired:
        return Check(subject=subject, found="`unshare` does not come back", fix=namespace_fix(as_root=as_root))
    if answer.returncode != 0:
        return Check(subject=subject, found=answer.stderr.strip(), fix=namespace_fix(as_root=as_root))
    how = "with root's rights" if as_root else "in a user namespace"
    return Check(subject=subject, found=f"{how}, with unshare and ip")


def namespace_fix(*, as_root: bool, settings: Path = Path("/proc/sys")) -> str:
    """What to do where the kernel refuses a namespace, told from the settings that are known to forbid it."""
    if as_root:
        return "in a container: run it with --privileged, or with the capabilities SYS_ADMIN and NET_ADMIN"
    for name, value in (
        ("kernel/apparmor_restrict_unprivileged_userns", "1"),
        ("kernel/unprivileged_userns_clone", "0"),
        ("user/max_user_namespaces", "0"),
    ):
        file = settings / name
        if file.exists() and file.read_text().strip() == value:
            allowed = {"1": "0", "0": "1"}[value] if name.startswith("kernel") else "10000"
            return f"allow user namespaces: sudo sysctl -w {name.replace('/', '.')}={allowed} (or run as root)"
    return "run as root, or let this user make user namespaces (in a container: --security-opt seccomp=unconfined)"
