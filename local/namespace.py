"""The private network namespace: made, described and entered, with system calls only.

Inside, every address of the local range is local, so one process answers for all pods. Root makes a network namespace;
everyone else makes it inside a user namespace of their own, where they are root. A namespace lives as long as any
process in it, so it is entered through any living one, and known by its inode, which no recycled pid can fake.
This module imports the standard library alone: the helpers that enter a namespace must start fast and single-threaded.
"""

import ctypes
import errno
import os
import socket
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import TypeVar

from local import netlink

CLONE_NEWUSER = 0x1000_0000
CLONE_NEWNET = 0x4000_0000
CLONE_NEWNS = 0x0002_0000

_MS_BIND, _MS_REC, _MS_PRIVATE = 0x1000, 0x4000, 0x4_0000

Made = TypeVar("Made")

LOCAL_RANGE = ("10.64.0.0", 10)


def inode(pid: int) -> int | None:
    """The identity of a process's network namespace; None where the process is gone or not ours to look at."""
    try:
        return Path(f"/proc/{pid}/ns/net").stat().st_ino
    except OSError:
        return None


def create() -> None:
    """Put this process into a new namespace whose local range is local; raises OSError."""
    try:
        _call("unshare", CLONE_NEWNET)
    except PermissionError:
        _become_root_of_a_user_namespace()
        _call("unshare", CLONE_NEWNET)
    netlink.set_up("lo")
    netlink.add_local_route(*LOCAL_RANGE)


def beside(furnish: Callable[[], None]) -> int:
    """Make a network namespace beside this process's own and call `furnish` inside it; returns an open file of it.

    The namespace lives as long as the file or a process in it. Raises OSError.
    """

    def make() -> int:
        _call("unshare", CLONE_NEWNET)
        netlink.set_up("lo")
        furnish()
        return os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)

    return _aside(make)


def listening(file: int, port: int) -> socket.socket:
    """A TCP socket that listens on all addresses of the network namespace of an open file; raises OSError."""

    def make() -> socket.socket:
        _call("setns", file, CLONE_NEWNET)
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("0.0.0.0", port))  # noqa: S104  the namespace is a pod's
        return listener

    return _aside(make)


def _aside(work: Callable[[], Made]) -> Made:
    """Do something in a thread of its own: a thread has a network namespace of its own. Raises OSError."""
    made: list[Made] = []
    failed: list[OSError] = []

    def run() -> None:
        try:
            made.append(work())
        except OSError as error:
            failed.append(error)

    thread = Thread(target=run)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return made[0]


def enter(file: int) -> None:
    """Put this process into the network namespace of an open file; raises OSError."""
    _call("setns", file, CLONE_NEWNET)


def keep_mounts_private() -> None:
    """Put this process into a mount namespace of its own, where what it mounts is seen by nobody else."""
    _call("unshare", CLONE_NEWNS)
    _mount(None, "/", _MS_REC | _MS_PRIVATE)


def bind(source: str, target: str) -> None:
    """Let a file or folder appear at another place, with all that is mounted below it; raises OSError."""
    _mount(source, target, _MS_BIND | _MS_REC)


def join(pid: int, expected: int) -> None:
    """Put this process into the namespace of `pid`, whose inode must be `expected`; raises OSError."""
    files = [os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC) for kind in ("user", "net")]
    try:
        user, net = files
        if os.fstat(net).st_ino != expected:
            raise ProcessLookupError(errno.ESRCH, f"process {pid} is not in the expected network namespace")
        if os.fstat(user).st_ino != Path("/proc/self/ns/user").stat().st_ino:
            _call("setns", user, CLONE_NEWUSER)
        _call("setns", net, CLONE_NEWNET)
    finally:
        for file in files:
            os.close(file)


def _call(name: str, *arguments: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def _mount(source: str | None, target: str, flags: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    where = source.encode() if source else None
    if libc.mount(where, target.encode(), None, ctypes.c_ulong(flags), None) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"mount {source or ''} at {target}: {os.strerror(number)}")


def _become_root_of_a_user_namespace() -> None:
    user, group = os.geteuid(), os.getegid()
    _call("unshare", CLONE_NEWUSER)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"0 {user} 1")
    Path("/proc/self/gid_map").write_text(f"0 {group} 1")
