"""Following a collection of an API server: all objects once, then every change, for as long as it is wanted."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

_RETRY_SECONDS = 0.5
_LONGEST_LINE = 16 * 2**20

Plain = Mapping[str, Any]


class Follower(Protocol):
    """Whoever is told of a collection's objects, by uid."""

    def replace(self, documents: Mapping[str, Plain]) -> None:
        """All objects as they are now."""

    def change(self, uid: str, document: Plain | None) -> None:
        """One object as it is now; None when it is gone."""


def credentials(pki: Path) -> ssl.SSLContext:
    """What a cluster's administrator is known by to its API server."""
    context = ssl.create_default_context(cafile=str(pki / "ca.crt"))
    context.load_cert_chain(str(pki / "admin.crt"), str(pki / "admin.key"))
    return context


async def follow(port: int, context: ssl.SSLContext, path: str, follower: Follower) -> None:
    """Tell the follower of all objects, then of each that came, changed or went; for ever.

    The API server is on the loopback. An outage is waited out, after it everything is told anew.
    """
    while True:
        with suppress(OSError, asyncio.IncompleteReadError, ValueError, KeyError):
            await _follow_once(port, context, path, follower)
        await asyncio.sleep(_RETRY_SECONDS)


async def _follow_once(port: int, context: ssl.SSLContext, path: str, follower: Follower) -> None:
    """Until the API server ends the watch or says that it lost the thread."""
    listing = json.loads(b"".join([part async for part in _get(port, context, path)]))
    follower.replace({item["metadata"]["uid"]: item for item in listing["items"]})
    version = listing["metadata"]["resourceVersion"]
    rest = b""
    async for part in _get(port, context, f"{path}?watch=1&allowWatchBookmarks=true&resourceVersion={version}"):
        *lines, rest = (rest + part).split(b"\n")
        for line in lines:
            event = json.loads(line)
            if event["type"] == "ERROR":
                return
            if event["type"] != "BOOKMARK":
                document = event["object"]
                follower.change(document["metadata"]["uid"], None if event["type"] == "DELETED" else document)


async def _get(port: int, context: ssl.SSLContext, path: str) -> AsyncIterator[bytes]:
    """The body of an answer, piece by piece; raises OSError for one that is not 200."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context, limit=_LONGEST_LINE)
    try:
        head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAccept: application/json\r\nConnection: close\r\n\r\n"
        writer.write(head.encode())
        answer = (await reader.readuntil(b"\r\n\r\n")).lower()
        if b" 200 " not in answer.split(b"\r\n")[0]:
            raise OSError(answer.split(b"\r\n")[0].decode())
        if b"transfer-encoding: chunked" not in answer:
            yield await reader.read(-1)
            return
        while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
            yield await reader.readexactly(size)
            await reader.readexactly(2)
    finally:
        writer.close()
