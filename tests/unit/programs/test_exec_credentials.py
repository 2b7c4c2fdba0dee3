"""Commands in kubeconfigs: run as kubectl runs them, bounded, and told when they give nothing."""

import base64
import json
import sys
from pathlib import Path

import pytest
from lightkube.config.models import NameValue, User, UserExec

from programs import exec_credentials
from programs.exec_credentials import NoCredentials, authenticated

V1 = "client.authentication.k8s.io/v1"


def a_user(script: str, **fields: str) -> User:
    env = [NameValue(name, value) for name, value in fields.items()]
    return User(exec=UserExec(apiVersion=V1, command=sys.executable, args=["-c", script], env=env))


def says(status: dict[str, str]) -> str:
    return f"print({json.dumps(json.dumps({'kind': 'ExecCredential', 'status': status}))})"


def test_a_token_takes_the_command_s_place() -> None:
    assert authenticated(a_user(says({"token": "t"}))) == User(token="t")


def test_a_certificate_takes_the_command_s_place() -> None:
    found = authenticated(a_user(says({"clientCertificateData": "c", "clientKeyData": "k"})))
    assert found == User(
        client_cert_data=base64.b64encode(b"c").decode(), client_key_data=base64.b64encode(b"k").decode()
    )


def test_a_user_without_a_command_stays_as_it_is() -> None:
    assert authenticated(User(token="t")) == User(token="t")


def test_the_command_is_told_what_is_asked_and_given_its_variables() -> None:
    script = (
        "import json, os; asked = json.loads(os.environ['KUBERNETES_EXEC_INFO']);"
        "token = asked['apiVersion'] + ' ' + os.environ['REGION'];"
        "print(json.dumps({'status': {'token': token}}))"
    )
    assert authenticated(a_user(script, REGION="us-east-1")) == User(token=f"{V1} us-east-1")


def test_a_command_is_not_run_again_at_once(tmp_path: Path) -> None:
    log = tmp_path / "runs"
    script = f"open({str(log)!r}, 'a').write('x'); {says({'token': 't'})}"
    for _ in range(3):
        authenticated(a_user(script))
    assert log.read_text() == "x"


FAULTS = {
    "it fails": (a_user("import sys; print('a secret', file=sys.stderr); sys.exit(3)"), "ends with 3"),
    "it says nothing": (a_user(""), "says no ExecCredential"),
    "it says something else": (a_user("print([1])"), "says no ExecCredential"),
    "it says no credential": (a_user(says({"expirationTimestamp": "x"})), "neither a token nor a certificate"),
    "it is not there": (User(exec=UserExec(apiVersion=V1, command="no-such-command")), "is not there"),
}


@pytest.mark.parametrize(("user", "what"), FAULTS.values(), ids=FAULTS)
def test_a_command_that_gives_nothing_is_told_without_what_it_printed(user: User, what: str) -> None:
    with pytest.raises(NoCredentials, match=what) as caught:
        authenticated(user)
    assert "a secret" not in str(caught.value)


def test_a_command_that_does_not_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exec_credentials, "EXEC_SECONDS", 0.5)
    with pytest.raises(NoCredentials, match="does not end"):
        authenticated(a_user("import threading; threading.Event().wait(60)"))
