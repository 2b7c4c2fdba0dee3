"""Ports and listening sockets, read from where the kernel publishes them."""

import random
import socket
import struct
import time
from contextlib import suppress
from pathlib import Path

FIRST_PORT, LAST_PORT = 20_000, 32_000
"""Below the range that outgoing connections take their ports from, so a port stays free while its server restarts."""

_LISTEN = "0A"
_CLEARING_SECONDS = 2.0


def is_free(host: str, port: int) -> bool:
    """Whether a server could listen there now."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def becomes_free(host: str, port: int) -> bool:
    """Whether a server can listen there, at once or when the kernel has cleared away a process that was just killed."""
    deadline = time.monotonic() + _CLEARING_SECONDS
    while not is_free(host, port):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def choose_ports(count: int, taken: set[int]) -> list[int]:
    """`count` free ports of the loopback that are not in `taken`."""
    chosen: list[int] = []
    candidates = list(range(FIRST_PORT, LAST_PORT))
    random.shuffle(candidates)
    for port in candidates:
        if len(chosen) == count:
            break
        if port not in taken and is_free("127.0.0.1", port):
            chosen.append(port)
    return chosen


def is_listening(pid: int, host: str, port: int) -> bool:
    """Whether a socket listens on exactly this address, in the network namespace of `pid`."""
    return _listener(pid, host, port) is not None


def owner(host: str, port: int) -> tuple[str, int] | None:
    """Name and pid of the process that listens on a port of this machine; None where it cannot be told."""
    everywhere = "::" if ":" in host else "0.0.0.0"  # noqa: S104  looked up, not bound
    number = _listener("self", host, port) or _listener("self", everywhere, port)
    if number is None:
        return None
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if entry.name.isdigit() and any(_is_socket(file, number) for file in (entry / "fd").iterdir()):
                return (entry / "comm").read_text().strip(), int(entry.name)
    return None


def _is_socket(file: Path, number: str) -> bool:
    try:
        return str(file.readlink()) == f"socket:[{number}]"
    except OSError:
        return False


def _listener(pid: int | str, host: str, port: int) -> str | None:
    """The inode of the listening socket."""
    six = ":" in host
    wanted = f"{_hexadecimal(host, six=six)}:{port:04X}"
    try:
        lines = Path(f"/proc/{pid}/net/tcp{'6' if six else ''}").read_text().splitlines()
    except OSError:
        return None
    for line in lines[1:]:
        fields = line.split()
        if fields[1] == wanted and fields[3] == _LISTEN:
            return fields[9]
    return None


def _hexadecimal(host: str, *, six: bool) -> str:
    """The kernel's spelling of an address: words of the machine's own byte order."""
    packed = socket.inet_pton(socket.AF_INET6 if six else socket.AF_INET, host)
    return "".join(f"{word:08X}" for word in struct.unpack(f"={len(packed) // 4}I", packed))
