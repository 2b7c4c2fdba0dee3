"""Where definitions are read from, and what is said when they cannot be."""

from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml
from builders import a_fleet
from stack_parts import a_definition
from states import documents_of

from api.versions import GATEWAY_API
from components.definitions import DEFINITIONS
from programs import definitions as module
from programs.context import Context
from programs.definitions import UnreadableDefinitions, definitions

NAMES = DEFINITIONS["gateway-api"]
FILE = "crds/gateway-api-v1.5.1.yaml"


def a_context(directory: Path, **spec: Any) -> Context:
    return Context(documents=documents_of(a_fleet("prod", **spec), directory=directory), kind="gateway")


def a_file(*names: str) -> str:
    policy = {"apiVersion": "v1", "kind": "ValidatingAdmissionPolicy", "metadata": {"name": "safe-upgrades"}}
    return yaml.safe_dump_all([policy, *(a_definition(name) for name in names)])


def test_a_mirror_s_file_is_read_below_the_fleet(tmp_path: Path) -> None:
    (tmp_path / "charts" / "crds").mkdir(parents=True)
    (tmp_path / "charts" / FILE).write_text(a_file(*NAMES, "others.example.com"))
    found = definitions(a_context(tmp_path, chartMirror="charts"), [GATEWAY_API])
    assert found == {"gateway-api": {name: a_definition(name) for name in NAMES}}


PROBLEMS = {
    "no file": (None, "No such file or directory"),
    "no YAML": ("{", "it is not YAML"),
    "definitions are missing": (a_file(*NAMES[1:]), f"it lacks {NAMES[0]}"),
}


@pytest.mark.parametrize(("content", "reason"), PROBLEMS.values(), ids=PROBLEMS)
def test_what_cannot_be_read_is_told_with_a_way_out(tmp_path: Path, content: str | None, reason: str) -> None:
    (tmp_path / "charts" / "crds").mkdir(parents=True)
    if content is not None:
        (tmp_path / "charts" / FILE).write_text(content)
    with pytest.raises(UnreadableDefinitions) as caught:
        definitions(a_context(tmp_path, chartMirror="charts"), [GATEWAY_API])
    error = caught.value
    assert (error.error_code, error.where) == ("MP350", str(tmp_path / "charts" / FILE))
    assert reason in error.message
    assert FILE in error.hint


def test_a_release_file_is_fetched_once_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fetched: list[str] = []

    def get(url: str, **_: Any) -> httpx2.Response:
        fetched.append(url)
        return httpx2.Response(200, text=a_file(*NAMES), request=httpx2.Request("GET", url))

    monkeypatch.setattr(module.httpx2, "get", get)
    context = a_context(tmp_path)
    assert definitions(context, [GATEWAY_API]) == definitions(context, [GATEWAY_API])
    assert fetched == [GATEWAY_API.address]
    mirrored = a_context(tmp_path, chartMirror="http://mirror.example")
    assert definitions(mirrored, [GATEWAY_API]) == definitions(mirrored, [GATEWAY_API])
    assert fetched[1:] == [f"http://mirror.example/{FILE}"] * 2


def test_a_server_s_refusal_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def get(url: str, **_: Any) -> httpx2.Response:
        return httpx2.Response(404, request=httpx2.Request("GET", url))

    monkeypatch.setattr(module.httpx2, "get", get)
    with pytest.raises(UnreadableDefinitions, match="the server answers 404"):
        definitions(a_context(tmp_path), [GATEWAY_API])
    assert not (tmp_path / ".modelplane").exists()
