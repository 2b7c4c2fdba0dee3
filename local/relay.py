"""Joins the private network namespace to the host: `python -m local.relay CONFIGURATION`.

Two kinds of way, each a plain copy of bytes, so TLS ends where it ended without a relay:

- *in*: a port of the namespace's own loopback leads to the same port of the host's. The gateways and the engine reach
  the API servers by the kubeconfigs that everybody uses, and the certificates fit.
- *out*: an address of the host leads to an address in the namespace. That is how the hub is offered to clients.

The relay runs outside. A helper of its own sits in the namespace and makes sockets there; a socket stays in the
namespace it was made in, whoever uses it, so the helper hands them out over a socket pair. Either of the two ends with
the other. This module imports the standard library alone.

Configuration (JSON): {"member": {"pid", "inode"}, "in": [port], "out": [{"listen": [host, port], "to": [host, port]}]}
"""

import array
import asyncio
import json
import os
import signal
import socket
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Protocol

from local import namespace

LOOPBACK = "127.0.0.1"

_CHUNK = 64 * 1024
_BACKLOG = 128
_HANDOUT_SECONDS = 5.0

Opener = Callable[[], Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]


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
    return await _serve(listener, lambda: asyncio.open_connection(LOOPBACK, port))


async def serve_out(outpost: Sockets, listen: tuple[str, int], to: tuple[str, int]) -> asyncio.Server:
    """Let an address of the host lead to one in the namespace."""
    listener = socket.socket(socket.AF_INET6 if ":" in listen[0] else socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(listen)

    async def connect() -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        target = outpost.open()
        target.settimeout(0)
        try:
            await asyncio.get_running_loop().sock_connect(target, to)
        except OSError:
            target.close()
            raise
        return await asyncio.open_connection(sock=target)

    return await _serve(listener, connect)


async def _serve(listener: socket.socket, connect: Opener) -> asyncio.Server:
    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far_reader, far_writer = await connect()
        except OSError:
            writer.transport.abort()
            return
        try:
            await asyncio.gather(_copy(reader, far_writer), _copy(far_reader, writer))
        finally:
            far_writer.close()
            writer.close()

    listener.settimeout(0)
    return await asyncio.start_server(carry, sock=listener, backlog=_BACKLOG)


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Copy one direction until its end, then pass the end on; a broken connection breaks both sides."""
    try:
        while chunk := await reader.read(_CHUNK):
            writer.write(chunk)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()
    except (OSError, RuntimeError):
        writer.transport.abort()


async def run(outpost: Sockets, configuration: dict[str, Any]) -> None:
    """Serve every configured way until the helper ends or a signal says so."""
    for port in configuration["in"]:
        await serve_in(outpost, port)
    for way in configuration["out"]:
        await serve_out(outpost, tuple(way["listen"]), tuple(way["to"]))
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
