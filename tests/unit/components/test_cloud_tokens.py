import base64
import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from urllib.parse import parse_qs, urlsplit

import pytest

from api.errors import InvocationError
from cli import main
from components.cloud_tokens import EKS_PREFIX, NoToken, Token, exec_credential, token

KEYS = {"AWS_ACCESS_KEY_ID": "AKIAEXAMPLE", "AWS_SECRET_ACCESS_KEY": "a secret"}
NOBODY = {
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_CONFIG_FILE": "/dev/null",
    "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
}


@pytest.fixture(autouse=True)
def no_account(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("AWS_", "GOOGLE_", "NEBIUS_")):
            monkeypatch.delenv(name)
    for name, value in NOBODY.items():
        monkeypatch.setenv(name, value)


def signed(found: Token) -> dict[str, list[str]]:
    assert found.value.startswith(EKS_PREFIX)
    text = found.value.removeprefix(EKS_PREFIX)
    url = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode()
    assert urlsplit(url).netloc == "sts.us-east-1.amazonaws.com"
    return parse_qs(urlsplit(url).query)


def test_a_token_of_eks_is_a_signed_question_about_the_caller_that_names_the_cluster(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    query = signed(token("eks", cluster="us", region="us-east-1"))
    assert query["Action"] == ["GetCallerIdentity"]
    assert query["X-Amz-Expires"] == ["60"]
    assert query["X-Amz-SignedHeaders"] == ["host;x-k8s-aws-id"]
    assert query["X-Amz-Credential"][0].startswith("AKIAEXAMPLE/")


def test_variables_of_ours_stand_in_for_those_of_the_cloud_and_only_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACCOUNT_B_KEY", "AKIAOTHER")
    monkeypatch.setenv("ACCOUNT_B_SECRET", "another secret")
    variables = ["AWS_ACCESS_KEY_ID=ACCOUNT_B_KEY", "AWS_SECRET_ACCESS_KEY=ACCOUNT_B_SECRET"]
    query = signed(token("eks", cluster="us", region="us-east-1", variables=variables))
    assert query["X-Amz-Credential"][0].startswith("AKIAOTHER/")
    assert "AWS_ACCESS_KEY_ID" not in os.environ


def test_without_credentials_there_is_one_clean_sentence() -> None:
    with pytest.raises(NoToken, match="no credentials of AWS are found"):
        token("eks", cluster="us", region="us-east-1")


REFUSED = {
    "another cloud": ({"cloud": "aks"}, "aks gives no tokens"),
    "no region": ({"cloud": "eks", "cluster": "us"}, "--region"),
    "half a variable": ({"cloud": "eks", "variables": ["AWS_ACCESS_KEY_ID"]}, "NAME=OURS"),
}


@pytest.mark.parametrize(("asked", "want"), REFUSED.values(), ids=REFUSED)
def test_what_is_asked_wrongly_is_refused(asked: dict[str, object], want: str) -> None:
    with pytest.raises(InvocationError, match=want):
        token(**asked)  # type: ignore[arg-type]  # the table mixes kinds of arguments


def test_the_form_that_clients_read_says_a_minute_less() -> None:
    found = Token(value="abc", expires=datetime(2026, 8, 1, 12, 0, tzinfo=UTC))
    assert json.loads(exec_credential(found)) == {
        "apiVersion": "client.authentication.k8s.io/v1",
        "kind": "ExecCredential",
        "status": {"token": "abc", "expirationTimestamp": "2026-08-01T11:59:00Z"},
    }


def test_the_command_prints_the_credential_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    assert main(["kube-token", "eks", "--cluster", "us", "--region", "us-east-1"]) == 0
    found = capsys.readouterr()
    assert json.loads(found.out)["kind"] == "ExecCredential"
    assert found.err == ""


def test_a_token_loads_no_engine_and_no_cloud_s_sdk() -> None:
    script = (
        "import sys; from cli import main; main(['kube-token', 'eks', '--cluster', 'us', '--region', 'us-east-1']);"
        "heavy = {'pulumi_aws', 'pulumi_gcp', 'pulumi', 'grpc'} & sys.modules.keys(); print(heavy, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], env={**os.environ, **KEYS}, capture_output=True, text=True, check=True
    )
    assert done.stderr.strip() == "set()"
