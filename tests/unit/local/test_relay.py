import asyncio
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import pytest

from local import relay


class Here:
    """Sockets of this side: the relay's copying needs no namespace."""

    def open(self) -> socket.socket:
        return socket.socket(socket.AF_INET, socket.SOCK_STREAM)


Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def through_the_relay(server_talk: Talk, client_talk: Talk) -> None:
    async def play() -> None:
        server = await asyncio.start_server(server_talk, "127.0.0.1", 0)
        target = server.sockets[0].getsockname()
        way = await relay.serve_out(Here(), ("127.0.0.1", 0), target)
        async with server, way:
            reader, writer = await asyncio.open_connection(*way.sockets[0].getsockname())
            async with asyncio.timeout(30):
                await client_talk(reader, writer)
            await close(writer)

    asyncio.run(play())


async def close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with suppress(ConnectionError):
        await writer.wait_closed()


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while chunk := await reader.read(65536):
        writer.write(chunk)
        await writer.drain()
    writer.close()


def test_bytes_pass_unchanged_in_both_directions() -> None:
    sent = bytes(range(256)) * 8192

    async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async def send() -> None:
            writer.write(sent)
            await writer.drain()
            writer.write_eof()

        _, received = await asyncio.gather(send(), reader.read())
        assert received == sent

    through_the_relay(echo, client)


def test_an_end_of_one_direction_leaves_the_other_open() -> None:
    async def server(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked = await reader.read()
        writer.write(b"answer to " + asked)
        writer.close()

    async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"a question")
        writer.write_eof()
        assert await reader.read() == b"answer to a question"

    through_the_relay(server, client)


def test_a_server_that_hangs_up_ends_the_clients_connection() -> None:
    async def server(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.transport.abort()

    async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            assert await reader.read() == b""

    through_the_relay(server, client)


def test_without_a_server_the_connection_is_refused_and_the_relay_lives() -> None:
    async def play() -> None:
        port = free_port()
        way = await relay.serve_out(Here(), ("127.0.0.1", 0), ("127.0.0.1", port))
        async with way, asyncio.timeout(30):
            for _ in range(2):
                reader, writer = await asyncio.open_connection(*way.sockets[0].getsockname())
                with suppress(ConnectionError):
                    assert await reader.read() == b""
                await close(writer)

    asyncio.run(play())


def test_the_way_in_leads_to_the_same_port() -> None:
    async def play() -> None:
        server = await asyncio.start_server(echo, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]

        class Elsewhere(Here):
            """Another address of the loopback stands for the namespace's own."""

            def open(self) -> socket.socket:
                return _Moved(socket.AF_INET, socket.SOCK_STREAM)

        way = await relay.serve_in(Elsewhere(), port)
        async with server, way, asyncio.timeout(30):
            reader, writer = await asyncio.open_connection("127.0.0.9", port)
            writer.write(b"hello")
            writer.write_eof()
            assert await reader.read() == b"hello"
            await close(writer)

    asyncio.run(play())


class _Moved(socket.socket):
    def bind(self, address: tuple[str, int]) -> None:  # type: ignore[override]
        super().bind(("127.0.0.9", address[1]))


def call_through_the_relay(folder: Path, target: str) -> bytes:
    """What an API server is told when it calls an address, and what then comes from there."""

    async def play() -> bytes:
        server = await asyncio.start_server(echo, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        way = await relay.serve_calls(Here(), str(folder / "calls.sock"))
        async with server, way, asyncio.timeout(30):
            reader, writer = await asyncio.open_unix_connection(str(folder / "calls.sock"))
            writer.write(f"CONNECT {target.format(port=port)} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            answer = await reader.readuntil(b"\r\n\r\n")
            if b" 200 " in answer:
                writer.write(b"hello")
                writer.write_eof()
                answer += await reader.read()
            await close(writer)
            return answer

    return asyncio.run(play())


def test_api_servers_reach_addresses_by_connect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    answer = call_through_the_relay(tmp_path, "127.0.0.1:{port}")
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert answer.endswith(b"\r\n\r\nhello")
    assert (tmp_path / "calls.sock").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("target", ["127.0.0.1:1", "nowhere", "name.svc:x"])
def test_a_call_that_leads_nowhere_is_refused(target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert call_through_the_relay(tmp_path, target).startswith(b"HTTP/1.1 502 ")
