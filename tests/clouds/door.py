"""The door of a cloud's cluster: it lets in who shows a token of that cloud, and leads to an API server behind it.

The API servers of tests know certificates only. The door speaks TLS with a certificate of its own, looks at the token
of each connection's first request, and goes on with the administrator's certificate.
"""

import asyncio
import base64
import ipaddress
import json
import ssl
import threading
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

HEAD_END = b"\r\n\r\n"
REFUSED = b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
PIECE = 65536
CLOSE_SECONDS = 1.0


class Door:
    """One door. `tokens` says by the beginnings of tokens whose they are; `seen` counts who came in."""

    def __init__(self, folder: Path, kubeconfig: Path, tokens: Mapping[str, str]) -> None:
        self.seen: Counter[str] = Counter()
        self.kubeconfig = folder / "kubeconfig"
        self._tokens = tokens
        config: dict[str, Any] = yaml.safe_load(kubeconfig.read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        self._host, _, port = cluster["server"].removeprefix("https://").rpartition(":")
        self._port = int(port)
        self._behind = _client(folder, cluster, user)
        self._shown, self._authority = _server(folder)

    @contextmanager
    def open(self) -> Iterator[None]:
        """Answer on the loopback; `kubeconfig` is a file that leads there, without a user."""
        loop = asyncio.new_event_loop()
        thread = threading.Thread(target=loop.run_forever, daemon=True)
        thread.start()
        started = asyncio.start_server(self._enter, "127.0.0.1", 0, ssl=self._shown, ssl_shutdown_timeout=CLOSE_SECONDS)
        server = asyncio.run_coroutine_threadsafe(started, loop).result(30)
        address = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        cluster = {"server": address, "certificate-authority-data": base64.b64encode(self._authority).decode()}
        self.kubeconfig.write_text(json.dumps({"clusters": [{"name": "door", "cluster": cluster}]}))
        try:
            yield
        finally:
            loop.call_soon_threadsafe(server.close)
            asyncio.run_coroutine_threadsafe(_ended(), loop).result(30)
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()

    async def _enter(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, asyncio.CancelledError):
            async with _closed(writer):
                head = await reader.readuntil(HEAD_END)
                whose = self._whose(head)
                self.seen[whose] += 1
                if whose == "nobody":
                    writer.write(REFUSED)
                    await writer.drain()
                    return
                inner, outer = await asyncio.open_connection(
                    self._host, self._port, ssl=self._behind, ssl_shutdown_timeout=CLOSE_SECONDS
                )
                async with _closed(outer):
                    outer.write(head)
                    await asyncio.gather(_pass_on(reader, outer), _pass_on(inner, writer))

    def _whose(self, head: bytes) -> str:
        """Whose token the first request of a connection shows."""
        lines = head.decode("latin-1").split("\r\n")
        named = (line.partition(":") for line in lines)
        shown = next((value.strip() for name, _, value in named if name.lower() == "authorization"), "")
        token = shown.removeprefix("Bearer ")
        return next((whose for start, whose in self._tokens.items() if token.startswith(start)), "nobody")


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Until one side is done, and then no more of the other."""
    try:
        while piece := await reader.read(PIECE):
            writer.write(piece)
            await writer.drain()
    finally:
        writer.close()


@asynccontextmanager
async def _closed(writer: asyncio.StreamWriter) -> AsyncIterator[None]:
    try:
        yield
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


async def _ended() -> None:
    """End what is under way in this loop."""
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


def _client(folder: Path, cluster: Mapping[str, str], user: Mapping[str, str]) -> ssl.SSLContext:
    """As the administrator of what lies behind."""
    parts = {
        "ca.crt": cluster["certificate-authority-data"],
        "admin.crt": user["client-certificate-data"],
        "admin.key": user["client-key-data"],
    }
    for name, encoded in parts.items():
        (folder / name).touch(mode=0o600)
        (folder / name).write_bytes(base64.b64decode(encoded))
    context = ssl.create_default_context(cafile=str(folder / "ca.crt"))
    context.load_cert_chain(folder / "admin.crt", folder / "admin.key")
    return context


def _server(folder: Path) -> tuple[ssl.SSLContext, bytes]:
    """With a certificate of its own for the loopback, which is its own authority."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "door")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=2))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    authority = made.public_bytes(serialization.Encoding.PEM)
    (folder / "door.crt").write_bytes(authority)
    (folder / "door.key").touch(mode=0o600)
    (folder / "door.key").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "door.crt", folder / "door.key")
    return context, authority
