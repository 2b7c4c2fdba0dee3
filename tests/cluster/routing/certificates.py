"""Certificates for servers of tests."""

import ssl
import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """A certificate that is its own authority, and its key."""

    certificate: Path
    key: Path

    def context(self) -> ssl.SSLContext:
        """What a server with it speaks TLS by."""
        found = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        found.load_cert_chain(self.certificate, self.key)
        return found

    def bundle(self, *others: "Certificate") -> Path:
        """A file with this certificate and others, for those that are to trust them."""
        file = self.certificate.with_suffix(".bundle")
        file.write_text("".join(each.certificate.read_text() for each in (self, *others)))
        return file


def certificate(folder: Path, name: str) -> Certificate:
    """A certificate for one name."""
    found = Certificate(certificate=folder / f"{name}.pem", key=folder / f"{name}.key")
    files = ["-keyout", str(found.key), "-out", str(found.certificate)]
    subject = ["-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}"]
    argv = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *files, *subject]
    subprocess.run(argv, check=True, capture_output=True)
    return found
