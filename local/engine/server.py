"""The engine's server: finds the pod whose address was called and answers, or misbehaves, in its name."""

import asyncio
import itertools
import json
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from http import HTTPStatus

from local import controls
from local.engine import answers
from local.engine.answers import Call, NotUnderstood
from local.engine.pods import Directory, Pod
from local.engine.protocol import Answer, Malformed, Request, read_request, write_answer

THINKING_SECONDS = 0.01
"""The least time before a body is answered. Proxies on Go's HTTP server, as Traefik, drop an exchange whose answer
begins before they have noticed the end of the request's body; no engine with a model is that fast."""

PATIENCE_SECONDS = 2.0
"""How long an address may be unknown before it is refused: the watch may lag behind the gateway's."""


class Dropped(Exception):
    """The connection is to end without an answer."""


class Engines:
    """All engines of the fleet behind one listening socket; which one is called is told by the socket's own address."""

    def __init__(self, directory: Directory, *, patience: float = PATIENCE_SECONDS) -> None:
        self._directory = directory
        self._patience = patience
        self._numbers = itertools.count(1)
        self._running: Counter[str] = Counter()
        self._served: Counter[str] = Counter()

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one connection's requests until it ends."""
        address = writer.get_extra_info("sockname")[0]
        try:
            while await self._answer_next(address, reader, writer):
                pass
        except (Dropped, OSError):
            writer.transport.abort()
        finally:
            writer.close()

    async def _answer_next(self, address: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        try:
            request = await read_request(reader, writer)
        except Malformed as error:
            return await write_answer(writer, None, _refusal(error.status, str(error)))
        if request is None:
            return False
        pod = await self._directory.wait_for(address, self._patience)
        if pod is None:
            message = f"no pod of the local fleet has the address {address}"
            return await write_answer(writer, request, _refusal(HTTPStatus.SERVICE_UNAVAILABLE, message))
        self._running[address] += 1
        try:
            answer = await self._answer(pod, request)
            return await write_answer(writer, request, replace(answer, headers=_identity(pod)))
        finally:
            self._running[address] -= 1

    async def _answer(self, pod: Pod, request: Request) -> Answer:
        if pod.fail == "close" or pod.hold == "crash":
            raise Dropped
        if pod.hold:
            return _refusal(HTTPStatus.SERVICE_UNAVAILABLE, f"held by {controls.HOLD}")
        if request.path == "/metrics":
            running, served = self._running[pod.address] - 1, self._served[pod.address]
            return Answer(content_type="text/plain; version=0.0.4", body=answers.metrics(pod, running, served).encode())
        if pod.fail:
            status = int(pod.fail) if pod.fail.isdigit() and 400 <= int(pod.fail) <= 599 else 500
            return _refusal(status, f"failing by {controls.FAIL}")
        await asyncio.sleep(max(pod.seconds(controls.LATENCY), THINKING_SECONDS if request.body else 0))
        answer = self._serve(pod, request)
        self._served[pod.address] += answer.status < 400
        return answer

    def _serve(self, pod: Pod, request: Request) -> Answer:
        if request.path in answers.POST:
            return self._call(pod, request)
        if request.path not in {"/health", "/v1/models"}:
            return _refusal(HTTPStatus.NOT_FOUND, f"{request.path} is not served here")
        if request.method not in {"GET", "HEAD"}:
            return _refusal(HTTPStatus.METHOD_NOT_ALLOWED, f"{request.path} wants GET")
        return Answer() if request.path == "/health" else _json(answers.models(pod))

    def _call(self, pod: Pod, request: Request) -> Answer:
        if request.method != "POST":
            return _refusal(HTTPStatus.METHOD_NOT_ALLOWED, f"{request.path} wants POST")
        try:
            call = Call(pod=pod, body=answers.parse(request.body), number=next(self._numbers), created=int(time.time()))
            said = answers.POST[request.path](call)
        except (ValueError, TypeError, NotUnderstood) as error:
            return _refusal(HTTPStatus.BAD_REQUEST, str(error))
        if isinstance(said, Iterator):
            pieces = _paced(said, pod.seconds(controls.TOKEN_INTERVAL))
            return Answer(content_type="text/event-stream; charset=utf-8", pieces=pieces)
        return _json(said)


async def _paced(events: Iterator[str], interval: float) -> AsyncIterator[bytes]:
    for event in events:
        yield event.encode()
        await asyncio.sleep(interval)


def _json(body: answers.Body) -> Answer:
    return Answer(body=json.dumps(body).encode())


def _refusal(status: int, message: str) -> Answer:
    kind = "invalid_request_error" if status < 500 else "server_error"
    return Answer(status=status, body=json.dumps(answers.error(message, kind, status)).encode())


def _identity(pod: Pod) -> dict[str, str]:
    """The headers by which a client sees who answered."""
    return {
        "x-modelplane-cluster": pod.cluster,
        "x-modelplane-namespace": pod.namespace,
        "x-modelplane-pod": pod.name,
        "x-modelplane-deployment": pod.deployment,
        "x-modelplane-replica": pod.replica,
    }
