"""The demo's own part: where it works, what ends it, and how it asks and counts."""

import json
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from local import demo
from local.requests import NoAnswer, Url, count_answers, stream_chat, wait_for_answer


class Gateway(BaseHTTPRequestHandler):
    """Answers as the weighted gateway of a local fleet does: nine for the old, one for the new, in rounds of ten."""

    protocol_version = "HTTP/1.1"
    failing = 0
    asked = 0

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        kind = type(self)
        if kind.failing:
            kind.failing -= 1
            self._answer(404, b"404 page not found\n", {})
            return
        kind.asked += 1
        deployment = "new" if kind.asked % 10 == 9 else "old"
        if body["stream"]:
            events = [{"choices": [{"delta": {"content": piece}}]} for piece in ("one", " two")]
            text = "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"
        else:
            text = json.dumps({"choices": [{"message": {"content": "hello"}}]})
        self._answer(200, text.encode(), {"x-modelplane-deployment": deployment})

    def _answer(self, status: int, content: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def url() -> Iterator[Url]:
    Gateway.failing = Gateway.asked = 0
    server = ThreadingHTTPServer(("127.0.0.1", 0), Gateway)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield Url.parse(f"http://127.0.0.1:{server.server_port}/ml-team/mock/v1/chat/completions")
    server.shutdown()
    thread.join(10)
    server.server_close()


def test_an_answer_is_waited_for_while_the_gateway_follows(url: Url) -> None:
    Gateway.failing = 3
    wait_for_answer(url, seconds=20)
    assert Gateway.asked == 1
    wait_for_answer(url, by="new", seconds=20)
    assert Gateway.asked == 9


def test_what_was_seen_last_is_told_when_the_time_is_over(url: Url) -> None:
    Gateway.failing = 1_000_000
    with pytest.raises(NoAnswer, match="gave no answer within 0 s; last: 404 Not Found: 404 page not found"):
        wait_for_answer(url, seconds=0.3)
    Gateway.failing = 0
    with pytest.raises(NoAnswer, match=r"no answer by absent within 0 s; last: (old|new)"):
        wait_for_answer(url, by="absent", seconds=0.3)


def test_a_stream_arrives_in_pieces(url: Url) -> None:
    assert list(stream_chat(url, "Who?")) == ["one", " two"]


def test_counting_begins_inside_a_round(url: Url) -> None:
    assert count_answers(url, 20, rare="new", ahead=4) == {"old": 18, "new": 2}
    assert Gateway.asked == 9 + 4 + 20


def test_a_refused_request_ends_the_count(url: Url) -> None:
    Gateway.failing = 1
    with pytest.raises(NoAnswer, match="404"):
        count_answers(url, 20)


def test_a_step_that_fails_ends_the_demo_with_its_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ran: list[list[str]] = []

    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        ran.append(command[3:])
        return subprocess.CompletedProcess(command, 20 if command[3:] == ["up"] else 0, "")

    monkeypatch.setattr(demo, "PROJECT", tmp_path)
    monkeypatch.setattr(demo, "FOLDER", tmp_path / ".modelplane-demo")
    monkeypatch.setattr(demo, "STEPS", tmp_path)
    monkeypatch.setattr(demo, "EXAMPLE", _an_example(tmp_path))
    monkeypatch.setattr(subprocess, "run", run)

    assert demo.main(["--address", "127.0.0.1:9"]) == 20

    told = capsys.readouterr().out
    assert "The demo ends here: `modelplane up` ended with exit code 20, see above\n" in told
    assert ran == [["local", "up"], ["up"]]
    fleet = tmp_path / ".modelplane-demo" / "fleet"
    assert "127.0.0.1:9" in (fleet / "fleet.yaml").read_text()
    assert (tmp_path / ".modelplane-demo" / ".gitignore").read_text() == "*\n"

    demo.main([])

    assert ran[2:] == [["local", "down", "--discard-state"], ["local", "up"], ["up"]]
    assert "127.0.0.1:8080" in (fleet / "fleet.yaml").read_text()


def test_a_stop_says_how_to_end_what_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(demo.Demo, "run", stop)
    assert demo.main([]) == 8
    assert ".venv/bin/modelplane local down --discard-state -f .modelplane-demo/fleet" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("# One thing. And more\na: 1\n", "One thing"),
        ("# A sentence that goes\n# on. And more\na: 1\n", "A sentence that goes on"),
        ("a: 1\n", ""),
    ],
)
def test_the_first_sentence_of_a_document_is_its_description(text: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(text)
    assert demo.first_sentence(tmp_path / "a.yaml") == told


def _an_example(folder: Path) -> Path:
    example = folder / "example"
    example.mkdir()
    (example / "fleet.yaml").write_text("# The fleet\naddress: 127.0.0.1:8080\n")
    return example
