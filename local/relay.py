"""Joins the private network namespace to the host: `python -m local.relay CONFIGURATION`.

Three kinds of way, each a plain copy of bytes, so TLS ends where it ended without a relay:

- *in*: a port of the namespace's own loopback leads to the same port of the host's. The gateways and the engine reach
  the API servers by the kubeconfigs that everybody uses, and the certificates fit.
- *out*: an address of the host leads to an address in the namespace. That is how the hub is offered to clients.
- *calls*: a Unix socket leads to any address in the namespace, by HTTP CONNECT. The API servers call webhooks over it.

The relay runs outside. A helper of its own sits in the namespace and makes sockets there; a socket stays in the
namespace it was made in, whoever uses it, so the helper hands them out over a socket pair. Either of the two ends with
the other. This module imports the standard library alone.

Configuration (JSON): {"member": {"pid", "inode"}, "in": [port], "out": [{"listen": [host, port], "to": [host, port]}],
"calls": path}
"""

import array
import asyncio
import json
import os
import signal
import socket
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from local import forwarding, namespace

LOOPBACK = "127.0.0.1"

_HANDOUT_SECONDS = 5.0


class Sockets(Protocol):
    """Where the relay gets sockets of the other side from."""

    def open(self) -> socket.socket:
        """A new TCP socket there; raises OSError."""


class Outpost:
    """The helper inside the namespace, seen from outside: it makes TCP sockets there."""

    def __init__(self, member_pid: int, member_inode: int) -> None:
        """Start the helper; raises OSError when the namespace cannot be entered."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.pid = os.fork()
        if self.pid == 0:
            ours.close()
            _serve_sockets(theirs, member_pid, member_inode)
        theirs.close()
        ours.settimeout(_HANDOUT_SECONDS)
        self.channel = ours
        self._take().close()

    def open(self) -> socket.socket:
        """A new TCP socket of the namespace; raises OSError when the helper is gone."""
        self.channel.send(b"s")
        return self._take()

    def _take(self) -> socket.socket:
        message, ancillary, _, _ = self.channel.recvmsg(256, socket.CMSG_SPACE(4))
        if not ancillary:
            raise OSError(message.decode() or "the relay's helper in the network namespace has ended")
        numbers = array.array("i")
        numbers.frombytes(ancillary[0][2][:4])
        return socket.socket(fileno=numbers[0])


def _serve_sockets(channel: socket.socket, member_pid: int, member_inode: int) -> None:
    """The helper's whole life: enter the namespace, hand out one socket at once and one per request; never returns."""
    try:
        namespace.join(member_pid, member_inode)
        while True:
            with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as made:
                made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                numbers = array.array("i", [made.fileno()])
                channel.sendmsg([b"s"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, numbers)])
            if not channel.recv(1):
                break
    except OSError as error:
        with suppress(OSError):
            channel.send(str(error).encode())
    finally:
        os._exit(0)


async def serve_in(outpost: Sockets, port: int) -> asyncio.Server:
    """Let the port of the namespace's loopback lead to the same port of the host's."""
    listener = outpost.open()
    listener.bind((LOOPBACK, port))
    return await forwarding.serve(listener, lambda: asyncio.open_connection(LOOPBACK, port))


async def serve_out(outpost: Sockets, listen: tuple[str, int], to: tuple[str, int]) -> asyncio.Server:
    """Let an address of the host lead to one in the namespace."""
    listener = socket.socket(socket.AF_INET6 if ":" in listen[0] else socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(listen)
    return await forwarding.serve(listener, lambda: _connect(outpost, to))


async def serve_calls(outpost: Sockets, file: str) -> asyncio.Server:
    """Let HTTP CONNECT on a Unix socket lead to addresses in the namespace.

    API servers make their calls into their cluster over it: to webhooks and to what stands behind `/proxy` paths
    (KEP-1281, EgressSelectorConfiguration). A name that is no address is refused.
    """

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            host, _, port = head.split()[1].decode().rpartition(":")
            far = await _connect(outpost, (host, int(port)))
        except (OSError, ValueError, IndexError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            with suppress(OSError):
                writer.write(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                await writer.drain()
            writer.close()
            return
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await forwarding.join((reader, writer), far)

    # The path of a Unix socket has room for about a hundred characters; a relative one is always short enough.
    os.chdir(Path(file).parent)
    socket_file = Path(Path(file).name)
    socket_file.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(socket_file))
    socket_file.chmod(0o600)
    listener.settimeout(0)
    return await asyncio.start_unix_server(answer, sock=listener)


async def _connect(outpost: Sockets, to: tuple[str, int]) -> forwarding.Streams:
    """A connection to an address in the namespace; raises OSError."""
    target = outpost.open()
    target.settimeout(0)
    try:
        await asyncio.get_running_loop().sock_connect(target, to)
    except OSError:
        target.close()
        raise
    return await asyncio.open_connection(sock=target)


async def run(outpost: Sockets, configuration: dict[str, Any]) -> None:
    """Serve every configured way until the helper ends or a signal says so."""
    for port in configuration["in"]:
        await serve_in(outpost, port)
    for way in configuration["out"]:
        await serve_out(outpost, tuple(way["listen"]), tuple(way["to"]))
    await serve_calls(outpost, configuration["calls"])
    loop = asyncio.get_running_loop()
    over = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD):
        loop.add_signal_handler(number, over.set)
    await over.wait()


def main() -> None:
    """The relay's process; the helper is forked before there is an event loop to share with it."""
    configuration = json.loads(sys.argv[1])
    member = configuration["member"]
    try:
        outpost = Outpost(member["pid"], member["inode"])
        asyncio.run(run(outpost, configuration))
    except OSError as error:
        raise SystemExit(f"relay: {error}") from error


if __name__ == "__main__":
    main()
