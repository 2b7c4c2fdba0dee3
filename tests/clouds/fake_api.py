"""An API server as far as the driver asks one: it shows nodes by their pools, and has nothing else.

Objects are with the double of the Kubernetes provider; this is for the looks that the driver takes besides.
"""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

LISTS = {
    "customresourcedefinitions",
    "events",
    "namespaces",
    "pods",
    "resourceslices",
    "secrets",
    "services",
    "storageclasses",
}

Plain = dict[str, Any]


class FakeApi(ThreadingHTTPServer):
    """The server; `pools` are nodes by pool, and may change."""

    daemon_threads = True

    def __init__(self, pools: Mapping[str, int]) -> None:
        super().__init__(("127.0.0.1", 0), _Answers)
        self.pools = dict(pools)

    def kubeconfig(self) -> str:
        """How it is reached."""
        cluster = {"server": f"http://127.0.0.1:{self.server_address[1]}", "certificate-authority-data": ""}
        return json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "fake",
                "contexts": [{"name": "fake", "context": {"cluster": "fake", "user": "fake"}}],
                "clusters": [{"name": "fake", "cluster": cluster}],
                "users": [{"name": "fake", "user": {}}],
            }
        )

    def answer(self, path: str) -> Plain | None:
        """What a GET is answered with; None where nothing is there."""
        last = path.rpartition("/")[2]
        if path == "/version":
            return {"gitVersion": "v1.36.3"}
        if path == "/apis":
            return {"groups": [{"versions": [{"groupVersion": "resource.k8s.io/v1"}]}]}
        if path == "/api/v1/namespaces/kube-system":
            return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kube-system", "uid": "one"}}
        if last == "nodes":
            return _listed([_node(pool, index) for pool, count in self.pools.items() for index in range(count)])
        return _listed([]) if last in LISTS else None


@contextmanager
def fake_api(pools: Mapping[str, int]) -> Iterator[FakeApi]:
    """A server on the loopback, gone afterwards."""
    server = FakeApi(pools)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Answers(BaseHTTPRequestHandler):
    server: FakeApi

    def do_GET(self) -> None:  # named by its base
        found = self.server.answer(urlsplit(self.path).path)
        missing = {"kind": "Status", "code": 404, "reason": "NotFound", "message": "not found"}
        self._send(200 if found else 404, found or missing)

    def do_POST(self) -> None:  # named by its base
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self._send(201, {"status": {"allowed": True}})

    def _send(self, code: int, body: Plain) -> None:
        text = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: object) -> None:
        """Nothing."""


def _listed(items: list[Plain]) -> Plain:
    return {"apiVersion": "v1", "kind": "List", "metadata": {}, "items": items}


def _node(pool: str, index: int) -> Plain:
    metadata = {"name": f"{pool}-{index}", "labels": {"modelplane.ai/pool": pool}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": {}, "status": {}}
