"""Where values of Secrets come from, and that no text ever holds one."""

import base64
from pathlib import Path

import pytest

from api import secrets
from api.codes import Code
from api.documents import FleetDocuments
from api.errors import InvalidFleet, ModelplaneError
from api.fleets import Secret
from api.loader import load
from api.secrets import ConfigSource, StackSource

VALUE = "very-secret-value"
FLEET = """\
apiVersion: modelplane.ai/v1alpha1
kind: Fleet
metadata: {name: prod}
spec:
  secrets:
    - namespace: modelplane-system
      name: us
      keys:
        file: {fromFile: ../keys/token}
        env: {fromEnv: MODELPLANE_TEST_TOKEN}
        config: {fromConfig: hfToken}
        stack: {fromStack: {stack: org/base/prod, output: token}}
"""


@pytest.fixture
def documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FleetDocuments:
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys" / "token").write_text(f"{VALUE}-of-file\n")
    (tmp_path / "fleet").mkdir()
    (tmp_path / "fleet" / "fleet.yaml").write_text(FLEET)
    encoded = base64.b64encode(f"{VALUE}-of-data".encode()).decode()
    (tmp_path / "fleet" / "secret.yaml").write_text(
        "apiVersion: v1\nkind: Secret\nmetadata: {name: us, namespace: modelplane-system}\n"
        f"data: {{data: {encoded}, both: {encoded}, file: {encoded}, config: {encoded}}}\n"
        f"stringData: {{both: {VALUE}-of-text}}\n"
    )
    monkeypatch.setenv("MODELPLANE_TEST_TOKEN", f"{VALUE}-of-env")
    return load(tmp_path / "fleet")


def test_values_come_from_documents_files_and_the_environment(documents: FleetDocuments) -> None:
    assert secrets.secret_values(documents, "modelplane-system", "us") == {
        "data": f"{VALUE}-of-data",
        "both": f"{VALUE}-of-text",
        "file": f"{VALUE}-of-file",
        "env": f"{VALUE}-of-env",
    }


def test_what_a_program_resolves_is_named(documents: FleetDocuments) -> None:
    assert secrets.secret_sources(documents, "modelplane-system", "us") == {
        "config": ConfigSource("hfToken"),
        "stack": StackSource("org/base/prod", "token"),
    }
    assert set(secrets.resolve(documents, "modelplane-system", "us")) == {
        "data",
        "both",
        "file",
        "env",
        "config",
        "stack",
    }


def test_the_namespace_is_part_of_a_secrets_name(documents: FleetDocuments) -> None:
    with pytest.raises(ModelplaneError, match="there is no Secret default/us") as refusal:
        secrets.secret_values(documents, "default", "us")
    assert refusal.value.error_code == Code.NO_SUCH_VALUE
    assert refusal.value.hint


def test_a_file_of_several_lines_stays_as_it_is(documents: FleetDocuments) -> None:
    (documents.directory.parent / "keys" / "token").write_text("a: b\nc: d\n")
    assert secrets.secret_values(documents, "modelplane-system", "us")["file"] == "a: b\nc: d\n"


UNUSABLE = {
    "absent": None,
    "empty": b"",
    "blank": b" \n",
    "binary": b"\xff\xfe" + VALUE.encode(),
    "too large": VALUE.encode() * 100_000,
}


@pytest.mark.parametrize("content", UNUSABLE.values(), ids=UNUSABLE)
def test_an_unusable_file_is_named_and_its_content_is_not(content: bytes | None, documents: FleetDocuments) -> None:
    file = documents.directory.parent / "keys" / "token"
    file.unlink()
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ModelplaneError) as refusal:
        secrets.secret_values(documents, "modelplane-system", "us")
    text = str(refusal.value)
    assert "Secret modelplane-system/us key file" in text
    assert f"{documents.directory}/fleet.yaml:9" in text
    assert refusal.value.hint
    assert VALUE not in text


def test_an_absent_variable_is_an_error_and_in_validate_a_warning(
    documents: FleetDocuments, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert secrets.unresolved(documents) == ()
    monkeypatch.delenv("MODELPLANE_TEST_TOKEN")
    with pytest.raises(ModelplaneError, match="MODELPLANE_TEST_TOKEN is not set") as refusal:
        secrets.secret_values(documents, "modelplane-system", "us")
    assert refusal.value.hint == "export MODELPLANE_TEST_TOKEN"
    [warning] = secrets.unresolved(documents)
    assert (warning.line, warning.path) == (10, "spec.secrets[0].keys.env")
    assert warning.where == f"{documents.directory}/fleet.yaml:10"


def test_data_that_is_no_text_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata:\n  k: //79\n")
    with pytest.raises(ModelplaneError, match="key k is no text") as refusal:
        secrets.secret_values(load(tmp_path), "default", "s")
    assert refusal.value.where == f"{tmp_path}/a.yaml:5"


def test_no_text_made_of_a_secret_holds_a_value(documents: FleetDocuments) -> None:
    secret = documents.secrets["modelplane-system", "us"]
    encoded = base64.b64encode(f"{VALUE}-of-data".encode()).decode()
    for text in (repr(secret), str(secret), f"{secret.plain()}", secret.model_dump_json(), repr(documents)):
        assert VALUE not in text
        assert encoded not in text


BAD_SECRETS = {
    "no base64": f"data: {{k: '{VALUE}!'}}",
    "a number": "data: {k: 7317317317}",
    "a list": f"stringData: {{k: [{VALUE}]}}",
    "a bad key": f"stringData: {{'a/b': {VALUE}}}",
    "a misspelt field": f"stringdata: {{k: {VALUE}}}",
    "bad syntax": f"stringData: {{k: {VALUE}",
    "a duplicate key": f"stringData: {{k: {VALUE}, k: {VALUE}}}",
    "an unknown tag": f"stringData: {{k: !vault {VALUE}}}",
    "a type of no text": f"type: [{VALUE}]",
}


@pytest.mark.parametrize("text", BAD_SECRETS.values(), ids=BAD_SECRETS)
def test_no_error_about_a_secret_holds_a_value(text: str, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(f"apiVersion: v1\nkind: Secret\nmetadata: {{name: s}}\n{text}\n")
    with pytest.raises(InvalidFleet) as refusal:
        load(tmp_path)
    assert VALUE not in str(refusal.value)
    assert "7317317317" not in str(refusal.value)


def test_pydantics_own_text_holds_no_value() -> None:
    document = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"k": [VALUE]}}
    with pytest.raises(ValueError, match="stringData") as refusal:
        Secret.parse(document)
    assert VALUE not in str(refusal.value)
