"""Credentials that a kubeconfig's command hands out: run it as `kubectl` does, and use what it says for a short while.

The client that reads clusters outside Pulumi runs such commands itself, but only of versions before v1, and without an
end to its patience; so they are run here. What they print is in no message.
"""

import base64
import json
import os
import subprocess
import threading
import time
from collections.abc import Mapping
from typing import Any

from lightkube.config.models import User, UserExec

from api.errors import ModelplaneError

EXEC_SECONDS = 30.0
KEPT_SECONDS = 60.0
"""How long an answer is used again; every credential of a cloud lasts for longer."""
_VARIABLE = "KUBERNETES_EXEC_INFO"

_kept: dict[str, tuple[float, Mapping[str, Any]]] = {}
_guard = threading.Lock()


class NoCredentials(ModelplaneError):
    """A kubeconfig's command gave no credentials."""

    code = "MP330"


def authenticated(user: User) -> User:
    """The user with what its command says in place of the command; a user without one as it is.

    Raises:
        NoCredentials: the command is not there, fails, takes too long, or says nothing that can be used.

    """
    if user.exec is None:
        return user
    status = _status(user.exec)
    token, certificate, key = (status.get(name) for name in ("token", "clientCertificateData", "clientKeyData"))
    if isinstance(token, str) and token:
        return User(token=token)
    if isinstance(certificate, str) and isinstance(key, str):
        return User(client_cert_data=_encoded(certificate), client_key_data=_encoded(key))
    raise _no_credentials(user.exec, "says neither a token nor a certificate")


def _status(plugin: UserExec) -> Mapping[str, Any]:
    variables = {entry.name: entry.value for entry in plugin.env or ()}
    key = json.dumps([plugin.command, plugin.args or [], sorted(variables.items()), plugin.apiVersion])
    with _guard:
        until, status = _kept.get(key, (0.0, {}))
        if time.monotonic() < until:
            return status
    status = _run(plugin, variables)
    with _guard:
        _kept[key] = (time.monotonic() + KEPT_SECONDS, status)
    return status


def _run(plugin: UserExec, variables: Mapping[str, str]) -> Mapping[str, Any]:
    asked = {"apiVersion": plugin.apiVersion, "kind": "ExecCredential", "spec": {"interactive": False}}
    try:
        done = subprocess.run(
            [plugin.command, *(plugin.args or [])],
            env={**os.environ, **variables, _VARIABLE: json.dumps(asked)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=EXEC_SECONDS,
            check=False,
        )
    except FileNotFoundError:
        raise _no_credentials(plugin, "is not there", plugin.installHint or "") from None
    except subprocess.TimeoutExpired:
        raise _no_credentials(plugin, f"does not end within {EXEC_SECONDS:.0f} s") from None
    except OSError as error:
        raise _no_credentials(plugin, f"cannot be run: {error.strerror}") from None
    if done.returncode != 0:
        raise _no_credentials(plugin, f"ends with {done.returncode}")
    try:
        status = json.loads(done.stdout)["status"]
    except (ValueError, LookupError, TypeError):
        status = None
    if not isinstance(status, dict):
        raise _no_credentials(plugin, "says no ExecCredential with a status")
    return status


def _no_credentials(plugin: UserExec, what: str, hint: str = "") -> NoCredentials:
    return NoCredentials(
        f"the kubeconfig's command {plugin.command} {what}",
        hint=hint or "run it by hand on this machine, and log in where it asks for that",
    )


def _encoded(pem: str) -> str:
    return base64.b64encode(pem.encode()).decode()
