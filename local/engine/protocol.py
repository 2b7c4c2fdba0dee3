"""HTTP/1.1 for a server that answers whole or in pieces: requests read from and answers written to asyncio streams.

Kept connections, bodies with a length or in chunks, and `Expect: 100-continue` are understood; nothing else is needed
behind a gateway.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from urllib.parse import urlsplit

LARGEST_BODY = 64 * 1024 * 1024
_MOST_HEADERS = 200


class Malformed(Exception):
    """A request that is not HTTP or too large; `status` is the answer, after which the connection ends."""

    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, kw_only=True)
class Request:
    """One request; header names are in lower case, the path is without its query."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes = b""
    keeps_alive: bool = True


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What is sent back: a whole body, or `pieces` that are sent as they come."""

    status: int = 200
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    pieces: AsyncIterator[bytes] | None = None


async def read_request(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Request | None:
    """The next request of a connection; None at its end. Raises Malformed, or OSError when the connection breaks."""
    try:
        line = (await reader.readuntil(b"\n")).decode("latin-1").strip()
        if not line:
            line = (await reader.readuntil(b"\n")).decode("latin-1").strip()
        headers = await _headers(reader)
        method, target, version = line.split(" ")
        if not version.startswith("HTTP/1."):
            raise Malformed(HTTPStatus.HTTP_VERSION_NOT_SUPPORTED, f"{version} is not spoken here")
        if headers.get("expect", "").lower() == "100-continue":
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        body = await _body(reader, headers)
    except asyncio.IncompleteReadError:
        return None
    except asyncio.LimitOverrunError as error:
        raise Malformed(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "a line is too long") from error
    except ValueError as error:
        raise Malformed(HTTPStatus.BAD_REQUEST, f"not HTTP: {error}") from error
    connection = headers.get("connection", "").lower()
    keeps_alive = "close" not in connection and (version == "HTTP/1.1" or "keep-alive" in connection)
    return Request(method=method, path=urlsplit(target).path, headers=headers, body=body, keeps_alive=keeps_alive)


async def write_answer(writer: asyncio.StreamWriter, request: Request | None, answer: Answer) -> bool:
    """Send an answer; says whether the connection can be kept. `request` is None where none could be read."""
    keeps_alive = request is not None and request.keeps_alive
    headers = {"Content-Type": answer.content_type, **answer.headers}
    if answer.pieces is None:
        headers["Content-Length"] = str(len(answer.body))
    else:
        headers["Transfer-Encoding"] = "chunked"
        headers["Cache-Control"] = "no-cache"
    headers["Connection"] = "keep-alive" if keeps_alive else "close"
    reason = HTTPStatus(answer.status).phrase if answer.status in HTTPStatus._value2member_map_ else "Unknown"
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    writer.write(f"HTTP/1.1 {answer.status} {reason}\r\n{head}\r\n".encode("latin-1"))
    if request is not None and request.method == "HEAD":
        pass
    elif answer.pieces is None:
        writer.write(answer.body)
    else:
        async for piece in answer.pieces:
            writer.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            await writer.drain()
        writer.write(b"0\r\n\r\n")
    await writer.drain()
    return keeps_alive


async def _headers(reader: asyncio.StreamReader) -> dict[str, str]:
    headers: dict[str, str] = {}
    while line := (await reader.readuntil(b"\n")).decode("latin-1").rstrip("\r\n"):
        name, colon, value = line.partition(":")
        if not colon or len(headers) >= _MOST_HEADERS:
            raise Malformed(HTTPStatus.BAD_REQUEST, "a header line is not one, or there are too many")
        headers[name.strip().lower()] = value.strip()
    return headers


async def _body(reader: asyncio.StreamReader, headers: Mapping[str, str]) -> bytes:
    if "chunked" in headers.get("transfer-encoding", "").lower():
        return await _chunks(reader)
    length = int(headers.get("content-length") or 0)
    _check_size(length)
    return await reader.readexactly(length)


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    body = bytearray()
    while size := int((await reader.readuntil(b"\n")).split(b";")[0], 16):
        _check_size(len(body) + size)
        body += await reader.readexactly(size)
        await reader.readuntil(b"\n")
    await _headers(reader)
    return bytes(body)


def _check_size(size: int) -> None:
    if size < 0:
        raise Malformed(HTTPStatus.BAD_REQUEST, "a negative length")
    if size > LARGEST_BODY:
        raise Malformed(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"more than {LARGEST_BODY} bytes")
