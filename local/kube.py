"""A small client of one simulated cluster's API server, over the standard library.

Documents are applied as they are (server-side apply), so nothing a newer API knows is lost on the way through a model.
"""

import http.client
import json
import re
import ssl
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from api.errors import LocalFleetError
from local.objects import MANAGED_BY, MANAGER, Document

_PLURALS = {
    "CustomResourceDefinition": "customresourcedefinitions",
    "DeviceClass": "deviceclasses",
    "GatewayClass": "gatewayclasses",
    "Node": "nodes",
    "ResourceSlice": "resourceslices",
    "Stage": "stages",
}
_CRD_PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_PASSING = {404, 409, 429, 500, 503, 504}
_RETRY_SECONDS = 0.1
_KIND = re.compile(r"^kind: (\S+)$", re.MULTILINE)
_NAME = re.compile(r"^  name: (\S+)$", re.MULTILINE)


class Refused(Exception):
    """The API server answered a request with an error status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class ApiServer:
    """One API server on the host's loopback, spoken to with the cluster's own administrator certificate."""

    def __init__(self, cluster: str, port: int, pki: Path) -> None:
        self.cluster = cluster
        self._port = port
        context = ssl.create_default_context(cafile=str(pki / "ca.crt"))
        context.load_cert_chain(str(pki / "admin.crt"), str(pki / "admin.key"))
        self._context = context
        self._connection: http.client.HTTPSConnection | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give the connection back; a later request opens a new one."""
        if self._connection:
            self._connection.close()
            self._connection = None

    def is_ready(self) -> bool:
        """Whether `/readyz` says ok."""
        try:
            self._send("GET", "/readyz")
        except (OSError, http.client.HTTPException, Refused):
            self.close()
            return False
        return True

    def apply(self, document: Document, deadline: float) -> None:
        """Create the object or bring it to what the document says.

        A server that has just started refuses for a moment what it will take; it is asked again until `deadline`, a
        time of `time.monotonic`. Raises Refused, or OSError where the server is gone.
        """
        path = f"{_collection(document['apiVersion'], document['kind'])}/{document['metadata']['name']}"
        while True:
            try:
                self._apply(path, json.dumps(document).encode())
            except Refused as error:
                if error.status not in _PASSING or time.monotonic() > deadline:
                    raise
                time.sleep(_RETRY_SECONDS)
            else:
                return

    def get(self, path: str) -> Any:
        """The decoded answer to a GET; raises Refused."""
        return json.loads(self._send("GET", path))

    def post(self, path: str, document: Document) -> Any:
        """The decoded answer to a POST; raises Refused."""
        return json.loads(self._send("POST", path, json.dumps(document).encode()))

    def patch(self, path: str, document: Document) -> None:
        """Change an object by a merge patch; raises Refused."""
        self._send("PATCH", path, json.dumps(document).encode(), "application/merge-patch+json")

    def apply_definitions(self, folder: Path, deadline: float) -> None:
        """Apply the CustomResourceDefinitions of a folder and wait until they are Established.

        `deadline` is a time of `time.monotonic`; raises LocalFleetError (MP506) when it passes.
        """
        names = []
        for file in sorted(folder.glob("*.yaml")):
            text = file.read_text()
            kind, name = _KIND.search(text), _NAME.search(text)
            if kind and name and kind[1] == "CustomResourceDefinition":
                self._apply(f"{_CRD_PATH}/{name[1]}", text.encode())
                names.append(name[1])
        waiting = set(names)
        while waiting := {name for name in waiting if not self._is_established(name)}:
            if time.monotonic() > deadline:
                message = f"the API server did not take in {', '.join(sorted(waiting))}"
                raise LocalFleetError(
                    message, where=self.cluster, code="MP506", hint="see its log in `local status -o json`"
                )
            time.sleep(_RETRY_SECONDS)

    def made(self, kind: str, api_version: str) -> set[str]:
        """Names of the objects of a kind that the local fleet made."""
        items = self.get(f"{_collection(api_version, kind)}?labelSelector={MANAGED_BY}%3D{MANAGER}")["items"]
        return {item["metadata"]["name"] for item in items}

    def prune(self, kind: str, api_version: str, keep: set[str]) -> list[str]:
        """Delete the objects of a kind that the local fleet made and no longer wants; returns their names."""
        collection = _collection(api_version, kind)
        surplus = sorted(self.made(kind, api_version) - keep)
        for name in surplus:
            self._send("DELETE", f"{collection}/{name}")
        return surplus

    def _is_established(self, name: str) -> bool:
        conditions = self.get(f"{_CRD_PATH}/{name}").get("status", {}).get("conditions") or []
        return any(condition["type"] == "Established" and condition["status"] == "True" for condition in conditions)

    def _apply(self, path: str, body: bytes) -> None:
        self._send("PATCH", f"{path}?fieldManager={MANAGER}&force=true", body, "application/apply-patch+yaml")

    def _send(self, method: str, path: str, body: bytes | None = None, content_type: str = "application/json") -> bytes:
        """One request; a kept connection that the server has closed meanwhile is opened once more."""
        for attempt in (1, 2):
            fresh = self._connection is None
            connection = self._connection or http.client.HTTPSConnection(
                "127.0.0.1", self._port, context=self._context, timeout=30
            )
            self._connection = connection
            try:
                connection.request(method, path, body, {"Content-Type": content_type, "Accept": "application/json"})
                answer = connection.getresponse()
                content = answer.read()
            except (OSError, http.client.HTTPException):
                self.close()
                if fresh or attempt == 2:
                    raise
                continue
            if answer.status >= 400:
                raise Refused(answer.status, f"{method} {path}: {answer.status} {_message(content)}")
            return content
        raise AssertionError


def _collection(api_version: str, kind: str) -> str:
    prefix = "/api" if "/" not in api_version else "/apis"
    return f"{prefix}/{api_version}/{_PLURALS[kind]}"


def _message(content: bytes) -> str:
    try:
        return str(json.loads(content).get("message", ""))
    except ValueError:
        return content[:200].decode(errors="replace")
