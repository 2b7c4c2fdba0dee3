"""Accounts on clouds for tests: credentials of nobody, with which `modelplane kube-token` calls this machine only."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

GOOGLE_TOKEN = "ya29.of-the-identity"
NEBIUS_TOKEN = "ne1-of-nobody"


class _Tokens(BaseHTTPRequestHandler):
    """Google's token endpoint, as far as a service account asks it."""

    def do_POST(self) -> None:  # named by its base
        self.rfile.read(int(self.headers["Content-Length"]))
        body = json.dumps({"access_token": GOOGLE_TOKEN, "expires_in": 3600, "token_type": "Bearer"}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing."""


@contextmanager
def google_key() -> Iterator[str]:
    """The key file of a service account whose tokens come from this machine."""
    server = HTTPServer(("127.0.0.1", 0), _Tokens)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    made = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    text = made.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
    try:
        yield json.dumps(
            {
                "type": "service_account",
                "client_email": "fleet@acme.iam.gserviceaccount.com",
                "private_key_id": "1",
                "private_key": text,
                "token_uri": f"http://127.0.0.1:{server.server_port}/token",
            }
        )
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def accounts(folder: Path) -> Iterator[dict[str, str]]:
    """Variables of one account on each cloud, as `examples/multicloud` names them."""
    profiles = folder / "aws"
    profiles.write_text("[inference]\naws_access_key_id = AKIAEXAMPLE\naws_secret_access_key = example\n")
    with google_key() as google:
        yield {
            "AWS_SHARED_CREDENTIALS_FILE": str(profiles),
            "GOOGLE_CREDENTIALS": google,
            "NEBIUS_IAM_TOKEN": NEBIUS_TOKEN,
            "ACME_VULTR_KEY": "example",
        }
