import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from local import controls
from local.engine.pods import Directory, Pod
from local.engine.server import Engines

POD = Pod(cluster="east", namespace="ml-team", name="qwen-0", address="127.0.0.1", deployment="qwen", model="m")
CHAT = json.dumps({"messages": [{"role": "user", "content": "hello"}]}).encode()

Exchange = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def converse(exchange: Exchange, pod: Pod | None = POD) -> None:
    """Let a client talk to the engines on a loopback socket whose address is the pod's."""

    async def play() -> None:
        directory = Directory()
        if pod:
            directory.set(pod.cluster, "uid", pod)
        server = await asyncio.start_server(Engines(directory, patience=0.05).converse, "127.0.0.1", 0)
        async with server:
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            try:
                async with asyncio.timeout(30):
                    await exchange(reader, writer)
            finally:
                writer.close()
                await asyncio.gather(writer.wait_closed(), return_exceptions=True)

    asyncio.run(play())


async def answer(reader: asyncio.StreamReader) -> tuple[int, dict[str, str], bytes]:
    """Read one answer, whole or in chunks."""
    status = int((await reader.readuntil(b"\r\n")).split()[1])
    headers = {}
    while line := (await reader.readuntil(b"\r\n")).decode().strip():
        name, _, value = line.partition(": ")
        headers[name.lower()] = value
    if "content-length" in headers:
        return status, headers, await reader.readexactly(int(headers["content-length"]))
    body = b""
    while size := int(await reader.readuntil(b"\r\n"), 16):
        body += await reader.readexactly(size)
        await reader.readexactly(2)
    await reader.readexactly(2)
    return status, headers, body


def get(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: engine\r\n\r\n".encode()


def post(path: str, body: bytes = CHAT, headers: str = "") -> bytes:
    return f"POST {path} HTTP/1.1\r\nHost: engine\r\nContent-Length: {len(body)}\r\n{headers}\r\n".encode() + body


def test_a_connection_is_kept_and_requests_may_be_sent_ahead() -> None:
    async def exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(get("/health") + get("/v1/models?limit=1") + post("/v1/chat/completions"))
        assert (await answer(reader))[0] == 200
        assert json.loads((await answer(reader))[2])["data"][0]["id"] == "m"
        status, headers, body = await answer(reader)
        assert status == 200
        assert headers["x-modelplane-cluster"] == "east"
        assert headers["x-modelplane-pod"] == "qwen-0"
        assert headers["x-modelplane-deployment"] == "qwen"
        assert "qwen-0" in json.loads(body)["choices"][0]["message"]["content"]

    converse(exchange)


def test_a_body_in_chunks_is_read_to_its_end() -> None:
    async def exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = b"POST /v1/chat/completions HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
        pieces = (CHAT[:9], CHAT[9:])
        chunks = b"".join(f"{len(piece):x};ext=1\r\n".encode() + piece + b"\r\n" for piece in pieces)
        writer.write(head + chunks + b"0\r\nTrailer: x\r\n\r\n" + get("/health"))
        assert (await answer(reader))[0] == 200
        assert (await answer(reader))[0] == 200

    converse(exchange)


def test_a_stream_arrives_event_by_event() -> None:
    body = json.dumps({**json.loads(CHAT), "stream": True}).encode()

    async def exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(post("/v1/chat/completions", body))
        head = await reader.readuntil(b"\r\n\r\n")
        assert b"text/event-stream" in head
        await reader.readuntil(b"\r\n")
        first = await reader.readuntil(b"\n\n")
        assert json.loads(first.removeprefix(b"data: "))["choices"][0]["delta"]["role"] == "assistant"
        rest = await reader.readuntil(b"0\r\n\r\n")
        assert rest.endswith(b"data: [DONE]\n\n\r\n0\r\n\r\n")
        writer.write(get("/health"))
        assert (await answer(reader))[0] == 200

    converse(exchange, replace(POD, annotations={controls.TOKEN_INTERVAL: "5ms"}))


def test_large_bodies_are_asked_for() -> None:
    async def exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        whole = post("/v1/chat/completions", headers="Expect: 100-continue\r\n")
        writer.write(whole[: -len(CHAT)])
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        writer.write(CHAT)
        assert (await answer(reader))[0] == 200

    converse(exchange)


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (get("/v1/nothing"), 404),
        (get("/v1/chat/completions"), 405),
        (post("/v1/models"), 405),
        (post("/v1/chat/completions", b"not json"), 400),
        (post("/v1/chat/completions", b"[]"), 400),
        (post("/v1/chat/completions", b"{}"), 400),
        (post("/v1/chat/completions", b'{"messages":[{"content":"x"}],"max_tokens":"many"}'), 400),
        (b"nonsense\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nno colon\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: many\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n", 413),
        (b"GET /" + b"x" * 70_000 + b" HTTP/1.1\r\n\r\n", 431),
    ],
)
def test_what_is_not_understood_is_refused_with_a_reason(request_bytes: bytes, status: int) -> None:
    async def exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(request_bytes)
        seen, _, body = await answer(reader)
        assert seen == status
        assert json.loads(body)["error"]["message"]

    converse(exchange)


def test_a_connection_ends_when_the_client_says_so() -> None:
    async def exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"GET /health HTTP/1.0\r\n\r\n")
        assert (await answer(reader))[1]["connection"] == "close"
        assert await reader.read() == b""

    converse(exchange)


def test_an_address_that_is_no_pods_is_refused() -> None:
    async def exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(get("/health"))
        status, _, body = await answer(reader)
        assert status == 503
        assert b"127.0.0.1" in body

    converse(exchange, pod=None)


@pytest.mark.parametrize(
    ("annotations", "status"),
    [({controls.FAIL: "429"}, 429), ({controls.FAIL: "nonsense"}, 500), ({controls.HOLD: "true"}, 503)],
)
def test_a_pod_fails_as_its_annotations_say(annotations: dict[str, str], status: int) -> None:
    async def exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(get("/health"))
        assert (await answer(reader))[0] == status

    converse(exchange, replace(POD, annotations=annotations))


@pytest.mark.parametrize("annotations", [{controls.FAIL: "close"}, {controls.HOLD: "crash"}])
def test_a_dead_engine_ends_the_connection_without_an_answer(annotations: dict[str, str]) -> None:
    async def exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(get("/health"))
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await reader.readexactly(1)

    converse(exchange, replace(POD, annotations=annotations))


def test_metrics_of_a_failing_pod_can_still_be_read_and_count_what_it_served() -> None:
    async def exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(post("/v1/chat/completions") + get("/metrics"))
        await answer(reader)
        assert b'vllm:request_success_total{model_name="m"} 1' in (await answer(reader))[2]

    async def failing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(get("/metrics"))
        assert (await answer(reader))[0] == 200

    converse(exchange)
    converse(failing, replace(POD, annotations={controls.FAIL: "500"}))


def test_a_slow_engine_takes_its_time() -> None:
    async def exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        writer.write(get("/health"))
        await answer(reader)
        assert loop.time() - began >= 0.2

    converse(exchange, replace(POD, annotations={controls.LATENCY: "200ms"}))
