"""The private network namespace: made, described and entered, with system calls only.

Inside, every address of the local range is local, so one process answers for all pods. Root makes a network namespace;
everyone else makes it inside a user namespace of their own, where they are root. A namespace lives as long as any
process in it, so it is entered through any living one, and known by its inode, which no recycled pid can fake.
This module imports the standard library alone: the helpers that enter a namespace must start fast and single-threaded.
"""

import ctypes
import errno
import fcntl
import os
import socket
import struct
from pathlib import Path

CLONE_NEWUSER = 0x1000_0000
CLONE_NEWNET = 0x4000_0000

LOCAL_RANGE = ("10.64.0.0", 10)

_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 0x1
_RTM_NEWROUTE, _NLM_F_REQUEST, _NLM_F_ACK, _NLM_F_EXCL, _NLM_F_CREATE = 24, 0x1, 0x4, 0x200, 0x400
_RT_TABLE_LOCAL, _RTPROT_BOOT, _RT_SCOPE_HOST, _RTN_LOCAL = 255, 3, 254, 2
_RTA_DST, _RTA_OIF = 1, 4
_NLMSG_ERROR = 2


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
    _set_loopback_up()
    _make_local(*LOCAL_RANGE)


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


def _become_root_of_a_user_namespace() -> None:
    user, group = os.geteuid(), os.getegid()
    _call("unshare", CLONE_NEWUSER)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"0 {user} 1")
    Path("/proc/self/gid_map").write_text(f"0 {group} 1")


def _set_loopback_up() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        request = struct.pack("16sh22x", b"lo", 0)
        flags = struct.unpack_from("16sh", fcntl.ioctl(handle, _SIOCGIFFLAGS, request))[1]
        fcntl.ioctl(handle, _SIOCSIFFLAGS, struct.pack("16sh22x", b"lo", flags | _IFF_UP))


def _make_local(network: str, bits: int) -> None:
    """What `ip route add local NETWORK/BITS dev lo` does, over netlink."""
    attributes = _attribute(_RTA_DST, socket.inet_aton(network))
    attributes += _attribute(_RTA_OIF, struct.pack("=I", socket.if_nametoindex("lo")))
    route = struct.pack(
        "=BBBBBBBBI", socket.AF_INET, bits, 0, 0, _RT_TABLE_LOCAL, _RTPROT_BOOT, _RT_SCOPE_HOST, _RTN_LOCAL, 0
    )
    flags = _NLM_F_REQUEST | _NLM_F_ACK | _NLM_F_CREATE | _NLM_F_EXCL
    length = 16 + len(route) + len(attributes)
    header = struct.pack("=IHHII", length, _RTM_NEWROUTE, flags, 1, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as netlink:
        netlink.bind((0, 0))
        netlink.send(header + route + attributes)
        answer = netlink.recv(4096)
    kind = struct.unpack_from("=IH", answer)[1]
    code = -struct.unpack_from("=i", answer, 16)[0] if kind == _NLMSG_ERROR else 0
    if code:
        raise OSError(code, f"route to {network}/{bits}: {os.strerror(code)}")


def _attribute(kind: int, value: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(value), kind) + value
