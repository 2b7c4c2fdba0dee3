"""Connections carried on as plain bytes: a socket that listens on one side, a connection per caller on the other.

This module imports the standard library alone.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable

_CHUNK = 64 * 1024
_BACKLOG = 128

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Opener = Callable[[], Awaitable[Streams]]


async def serve(listener: socket.socket, connect: Opener) -> asyncio.Server:
    """Carry each connection that the bound socket takes in to one that `connect` makes."""

    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far = await connect()
        except OSError:
            writer.transport.abort()
            return
        await join((reader, writer), far)

    listener.settimeout(0)
    return await asyncio.start_server(carry, sock=listener, backlog=_BACKLOG)


async def join(near: Streams, far: Streams) -> None:
    """Carry both directions until both have ended."""
    try:
        await asyncio.gather(_copy(near[0], far[1]), _copy(far[0], near[1]))
    finally:
        far[1].close()
        near[1].close()


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
