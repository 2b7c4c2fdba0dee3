"""Requests to a fleet's URL as a client sends them, with bounded patience: for the demo and for tests."""

import http.client
import json
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

SECONDS = 30.0
"""How long one answer, and the first good answer, may take."""

MOST_ROUND = 1000
"""Requests in which every backend of a service has its turn."""

_POLL_SECONDS = 0.1
_ANSWERED_BY = "x-modelplane-deployment"
"""The header in which an engine of the local fleet says which deployment it belongs to."""


@dataclass(frozen=True)
class Url:
    """An address without TLS, taken apart."""

    host: str
    port: int
    path: str

    @classmethod
    def parse(cls, text: str) -> "Url":
        """Take an http URL apart."""
        parts = urlsplit(text)
        return cls(parts.hostname or "", parts.port or 80, parts.path)

    def __str__(self) -> str:
        """The URL as it was."""
        return f"http://{self.host}:{self.port}{self.path}"


class NoAnswer(OSError):
    """A URL that does not answer as it should within the time."""


def wait_for_answer(url: Url, *, by: str = "", seconds: float = SECONDS) -> None:
    """Wait until the URL answers, by a given deployment where one is named.

    Gateways take a moment to follow a new route. Raises NoAnswer with the last thing that was seen.
    """
    deadline = time.monotonic() + seconds
    seen = "nothing"
    while time.monotonic() < deadline:
        try:
            with _connection(url) as connection:
                seen = answered_by(connection, url)
            if not by or seen == by:
                return
        except (OSError, http.client.HTTPException) as error:
            seen = str(error) or type(error).__name__
        time.sleep(_POLL_SECONDS)
    raise NoAnswer(f"{url} gave no {'answer' if not by else f'answer by {by}'} within {seconds:.0f} s; last: {seen}")


def stream_chat(url: Url, question: str) -> Iterator[str]:
    """The pieces of a streamed chat answer as they arrive; raises NoAnswer for anything but a stream."""
    with _connection(url) as connection:
        answer = _post(connection, url, question, stream=True)
        while line := answer.readline():
            text = line.decode().strip().removeprefix("data:").strip()
            if text == "[DONE]":
                return
            if text:
                for choice in json.loads(text)["choices"]:
                    yield choice["delta"].get("content") or ""
    raise NoAnswer(f"the stream from {url} broke off")


def count_answers(url: Url, requests: int, *, rare: str = "", ahead: int = 0) -> dict[str, int]:
    """How many of so many requests each deployment answered; raises NoAnswer for the first that fails.

    With `rare`, counting begins `ahead` requests after that deployment answered. A gateway hands requests out in
    rounds, and where a round ends its rarest backend ties with another: a count from there may be off by one, a count
    of whole rounds from the middle of one is exact.
    """
    counts: Counter[str] = Counter()
    with _connection(url) as connection:
        for _ in range(MOST_ROUND if rare else 0):
            if answered_by(connection, url) == rare:
                break
        for _ in range(ahead):
            answered_by(connection, url)
        for _ in range(requests):
            counts[answered_by(connection, url)] += 1
    return dict(counts)


def answered_by(connection: http.client.HTTPConnection, url: Url) -> str:
    """Ask once; the deployment that answered."""
    answer = _post(connection, url, "Who?", stream=False)
    answer.read()
    return answer.headers.get(_ANSWERED_BY) or "unknown"


def _post(connection: http.client.HTTPConnection, url: Url, question: str, *, stream: bool) -> http.client.HTTPResponse:
    body = {"model": "mock", "stream": stream, "messages": [{"role": "user", "content": question}]}
    connection.request("POST", url.path, json.dumps(body), {"Content-Type": "application/json"})
    answer = connection.getresponse()
    if answer.status != http.client.OK:
        text = answer.read().decode(errors="replace").strip()
        raise NoAnswer(f"{answer.status} {answer.reason}: {text[:200]}")
    return answer


@contextmanager
def _connection(url: Url) -> Iterator[http.client.HTTPConnection]:
    connection = http.client.HTTPConnection(url.host, url.port, timeout=SECONDS)
    try:
        yield connection
    finally:
        connection.close()
