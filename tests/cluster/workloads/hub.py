"""A small hub of models on this machine, for the hydration program: revisions, tokens, a store of large files."""

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

TOKEN = "a-token-of-the-hub"


def commit_of(name: str) -> str:
    return hashlib.sha1(name.encode()).hexdigest()


@dataclass
class Hub:
    """One repository, `org/model`: files by revision; large ones lie in a store with another address."""

    files: dict[str, dict[str, bytes]] = field(default_factory=dict)
    is_gated: bool = False
    cut_after: int | None = None
    """Bytes after which the next large answer breaks off, once."""
    asked: list[str] = field(default_factory=list)
    """Paths that were asked for, with the range."""
    tokens_at_store: list[str] = field(default_factory=list)
    url: str = ""
    store: str = ""

    def listing(self, revision: str) -> bytes:
        siblings = []
        for path, content in self.files[revision].items():
            entry: dict[str, object] = {
                "rfilename": path,
                "size": len(content),
                "blobId": hashlib.sha1(content).hexdigest(),
            }
            if path.endswith(".safetensors"):
                entry["lfs"] = {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content)}
            siblings.append(entry)
        return json.dumps({"sha": commit_of(revision), "siblings": siblings}).encode()

    def content(self, commit: str, path: str) -> bytes | None:
        for revision, files in self.files.items():
            if commit_of(revision) == commit:
                return files.get(path)
        return None


class _Handler(BaseHTTPRequestHandler):
    hub: Hub
    is_store = False
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:  # named by its base
        hub, path = self.hub, unquote(urlsplit(self.path).path)
        token = self.headers.get("Authorization", "")
        hub.asked.append(f"{path} {self.headers.get('Range', '')}".strip())
        if self.is_store:
            hub.tokens_at_store.append(token)
            commit, _, name = path.strip("/").partition("/")
            self._send(hub.content(commit, name))
        elif hub.is_gated and token != f"Bearer {TOKEN}":
            self._answer(401, b"Access to model org/model is restricted")
        elif path.startswith("/api/models/org/model/revision/"):
            revision = path.rpartition("/")[2]
            self._answer(200, hub.listing(revision)) if revision in hub.files else self._answer(404, b"")
        elif path.startswith("/org/model/resolve/"):
            commit, _, name = path.removeprefix("/org/model/resolve/").partition("/")
            if name.endswith(".safetensors"):
                self.send_response(302)
                self.send_header("Location", f"{hub.store}/{commit}/{name}")
                self.send_header("Content-Length", "0")
                self.end_headers()
            else:
                self._send(hub.content(commit, name))
        else:
            self._answer(404, b"")

    def _send(self, content: bytes | None) -> None:
        if content is None:
            self._answer(404, b"")
            return
        start = int(self.headers["Range"].removeprefix("bytes=").rstrip("-")) if self.headers.get("Range") else 0
        body = content[start:]
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        cut = self.hub.cut_after
        if cut is not None and len(body) > cut:
            self.hub.cut_after = None
            self.wfile.write(body[:cut])
            self.wfile.flush()
            self.close_connection = True
            return
        self.wfile.write(body)

    def _answer(self, code: int, body: bytes) -> None:
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def serving(hub: Hub) -> Iterator[Hub]:
    servers = [
        ThreadingHTTPServer((host, 0), type("Handler", (_Handler,), {"hub": hub, "is_store": is_store}))
        for host, is_store in (("127.0.0.1", False), ("127.0.0.2", True))
    ]
    hub.url, hub.store = (f"http://{server.server_address[0]!s}:{server.server_address[1]}" for server in servers)
    for server in servers:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield hub
    finally:
        for server in servers:
            server.shutdown()
            server.server_close()
