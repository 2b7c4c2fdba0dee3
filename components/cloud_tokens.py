"""Tokens for the API servers of clusters on clouds, fetched when they are asked for and kept nowhere.

Credentials come from where the cloud's own tools find them; variables of ours may stand in for the cloud's, so that one
process can serve several accounts.
"""

import base64
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from api.errors import InvocationError, ModelplaneError

COMMAND = "modelplane"
EXEC_API = "client.authentication.k8s.io/v1"
EKS_PREFIX = "k8s-aws-v1."
EKS_HEADER = "x-k8s-aws-id"
EKS_URL_SECONDS = 60
EKS_TOKEN_MINUTES = 14
"""AWS takes such a token for 15 minutes; one less, for what is on its way."""
GKE_SCOPE = "https://www.googleapis.com/auth/cloud-platform"
GOOGLE_KEY = "GOOGLE_CREDENTIALS"
"""Variable with the key of a service account as text, as in the providers of Google Cloud."""
NEBIUS_KEY = "NEBIUS_CREDENTIALS"
"""Variable with the credentials file of a service account as text."""
NEBIUS_LIFE = timedelta(minutes=10)
"""How long a token is kept of which nobody says how long it lasts."""
SHORT = timedelta(minutes=1)
"""So much earlier than it does, a token is said to expire."""


class NoToken(ModelplaneError):
    """A cloud gave no token, or no credentials were found to ask it with."""

    code = "MP335"


@dataclass(frozen=True, kw_only=True)
class Token:
    """A bearer token and when it expires, in UTC."""

    value: str
    expires: datetime


def exec_credential(found: Token) -> str:
    """The token in the form that clients of Kubernetes read from a command."""
    until = (found.expires - SHORT).strftime("%Y-%m-%dT%H:%M:%SZ")
    status = {"token": found.value, "expirationTimestamp": until}
    return json.dumps({"apiVersion": EXEC_API, "kind": "ExecCredential", "status": status})


def token(
    cloud: str,
    *,
    cluster: str | None = None,
    region: str | None = None,
    profile: str | None = None,
    variables: Iterable[str] = (),
) -> Token:
    """A token for one cluster; `variables` are `<the cloud's>=<ours>`.

    Raises:
        InvocationError: the cloud is none of eks, gke and nebius, or something about the cluster is missing.
        NoToken: no credentials are found, or the cloud gives no token.

    """
    ask = _CLOUDS.get(cloud)
    if ask is None:
        raise InvocationError(f"{cloud} gives no tokens", hint=f"one of {', '.join(sorted(_CLOUDS))}", code="MP100")
    with _standing_in(_pairs(variables)):
        try:
            return ask({"cluster": cluster, "region": region, "profile": profile})
        except ModelplaneError:
            raise
        except ModuleNotFoundError as error:
            raise NoToken(f"{cloud}: the Python package {error.name} is not installed") from error
        except Exception as error:
            hint = "sign in with the cloud's own tool, or set the variables it reads"
            raise NoToken(f"{cloud} gave no token: {type(error).__name__}", hint=hint) from error


def eks_token(asked: Mapping[str, str | None]) -> Token:
    """A signed URL that tells the API server who asks; made without calling AWS."""
    from botocore.session import Session  # noqa: PLC0415 - only who asks AWS loads it
    from botocore.signers import RequestSigner  # noqa: PLC0415

    cluster, region = asked["cluster"], asked["region"]
    if not cluster or not region:
        raise InvocationError("eks needs --cluster and --region", code="MP100")
    session = Session(profile=asked["profile"])
    credentials = session.get_credentials()
    if credentials is None:
        raise NoToken("no credentials of AWS are found", hint="set AWS_PROFILE, or AWS_ACCESS_KEY_ID and its secret")
    client = session.create_client("sts", region_name=region)
    signer = RequestSigner(
        client.meta.service_model.service_id, region, "sts", "v4", credentials, session.get_component("event_emitter")
    )
    request = {
        "method": "GET",
        "url": f"{client.meta.endpoint_url}/?Action=GetCallerIdentity&Version=2011-06-15",
        "body": {},
        "headers": {EKS_HEADER: cluster},
        "context": {},
    }
    url = signer.generate_presigned_url(request, region_name=region, expires_in=EKS_URL_SECONDS, operation_name="")
    value = EKS_PREFIX + base64.urlsafe_b64encode(url.encode()).decode().rstrip("=")
    return Token(value=value, expires=datetime.now(UTC) + timedelta(minutes=EKS_TOKEN_MINUTES))


def gke_token(asked: Mapping[str, str | None]) -> Token:
    """An access token of the account that Google's libraries find; a key may stand in GOOGLE_CREDENTIALS as text."""
    import google.auth  # noqa: PLC0415 - only who asks Google loads it
    from google.auth.transport.requests import Request  # noqa: PLC0415
    from google.oauth2 import service_account  # noqa: PLC0415

    del asked
    written = os.environ.get(GOOGLE_KEY, "")
    if written.lstrip().startswith("{"):
        found = service_account.Credentials.from_service_account_info(  # type: ignore[no-untyped-call]  # has no types
            json.loads(written), scopes=[GKE_SCOPE]
        )
    else:
        found, _ = google.auth.default(scopes=[GKE_SCOPE])
    found.refresh(Request())
    return Token(value=found.token, expires=found.expiry.replace(tzinfo=UTC))


def nebius_token(asked: Mapping[str, str | None]) -> Token:
    """An access token of Nebius IAM, for the account of a credentials file or of a token that is there already."""
    del asked
    soon = datetime.now(UTC) + NEBIUS_LIFE
    file, given = os.environ.get("NEBIUS_CREDENTIALS_FILE"), os.environ.get("NEBIUS_IAM_TOKEN")
    with _as_file(os.environ.get(NEBIUS_KEY)) as written:
        named = written or file
        if given and not named:
            return Token(value=given, expires=soon)
        from nebius.sdk import SDK  # noqa: PLC0415 - an extra that takes seconds, for who asks Nebius only

        sdk: Any = SDK(credentials_file_name=named) if named else SDK()
        found = sdk.get_token_sync(30)
    return Token(value=found.token, expires=(found.expiration or soon).astimezone(UTC))


def search_path(path: str) -> str:
    """A PATH on which the command is found: it may have been started by its place, from an environment of its own."""
    own = str(Path(sys.executable).parent)
    return path if shutil.which(COMMAND, path=path) else os.pathsep.join(part for part in (path, own) if part)


_CLOUDS: Mapping[str, Callable[[Mapping[str, str | None]], Token]] = {
    "eks": eks_token,
    "gke": gke_token,
    "nebius": nebius_token,
}


def _pairs(variables: Iterable[str]) -> dict[str, str]:
    found = {}
    for each in variables:
        name, equals, ours = each.partition("=")
        if not (name and equals and ours):
            raise InvocationError(f"--env {each}: write NAME=OURS", code="MP100")
        found[name] = ours
    return found


@contextmanager
def _as_file(text: str | None) -> Iterator[str | None]:
    """A file of ours alone with the text, for as long as it is read."""
    if not text:
        yield None
        return
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write(text)
        file.flush()
        yield file.name


@contextmanager
def _standing_in(variables: Mapping[str, str]) -> Iterator[None]:
    """The environment with variables of ours in place of the cloud's; those that are not set are left out."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update({name: os.environ[ours] for name, ours in variables.items() if ours in os.environ})
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
