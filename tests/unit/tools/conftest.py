"""A machine of the test's own: its PATH, tool cache, Pulumi home and checkout lie below tmp_path."""

import importlib
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tools import cache, catalog


@pytest.fixture
def cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("MODELPLANE_TOOLS", str(folder))
    return folder


@pytest.fixture
def path_folder(tmp_path: Path, cache_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder on PATH; nothing is found in Pulumi's home or in a virtual environment either."""
    folder = tmp_path / "path"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("PULUMI_HOME", str(tmp_path / "pulumi"))
    monkeypatch.setattr(importlib.import_module("tools.locate"), "PROJECT", tmp_path / "checkout")
    monkeypatch.setattr(sys, "prefix", sys.base_prefix)
    return folder


@pytest.fixture
def script() -> Callable[[Path, str], Path]:
    """Write an executable for the shell."""

    def write(path: Path, body: str) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)
        return path

    return write


@pytest.fixture
def program(path_folder: Path, script: Callable[[Path, str], Path]) -> Callable[[str, str], Path]:
    """Put a program on PATH that answers every question with one text."""

    def put(name: str, answer: str) -> Path:
        return script(path_folder / name, f"echo '{answer}'")

    return put


@pytest.fixture
def built(path_folder: Path, script: Callable[[Path, str], Path]) -> Callable[[str], Path]:
    """Put a program into the tool cache, as a build does."""

    def put(name: str) -> Path:
        module = catalog.find(name)
        assert isinstance(module, catalog.GoModule)
        return script(cache.product(module, name), "exit 0")

    return put


FAKE_GO = """
echo "$@" >> "$CALLS"
case "$1" in
env) echo "$GO_SAYS" ;;
mod) echo "{\\"Dir\\": \\"$MODULE_DIR\\"}" ;;
build)
  while [ "$1" != -o ]; do shift; done
  target=$2; shift 2
  for package in "$@"; do
    echo "$package"
    name=${package##*/}; case $name in v[0-9]) rest=${package%/*}; name=${rest##*/} ;; esac
    echo "made of $package" > "$target$name"
    /bin/chmod +x "$target$name"
  done
  [ -z "$GO_FAILS" ] || { printf '# example.com/broken\\nmain.go:7:2: undefined: answer\\n' >&2; exit 1; } ;;
esac
"""


@pytest.fixture
def go_calls(
    path_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: Callable[[Path, str], Path]
) -> Callable[[], list[str]]:
    """Put a `go` on PATH that writes text files for programs, and give what it was called with."""
    module = tmp_path / "module"
    folders = ("cmd/pulumi-resource-kubernetes", "config/crd/standard", "config/crd/bases")
    for folder in (*folders, "charts/gateway-helm/templates", "charts/lws"):
        (module / folder).mkdir(parents=True)
    (module / "cmd/pulumi-resource-kubernetes/schema.json").write_text("{}")
    (module / "cmd/pulumi-resource-kubernetes/terraform-mapping.json").write_text("{}")
    (module / "config/crd/standard/gateways.yaml").write_text("kind: CustomResourceDefinition\n")
    for name in ("pools", "objectives"):
        (module / f"config/crd/bases/{name}.yaml").write_text(f"---\nkind: CustomResourceDefinition\nname: {name}\n")
    (module / "charts/gateway-helm/Chart.yaml").write_text('version: v0.0.0-latest\nappVersion: "latest"\n')
    values = "image: ${GatewayImage}\npullPolicy: ${GatewayImagePullPolicy}\n"
    (module / "charts/gateway-helm/values.tmpl.yaml").write_text(values)
    (module / "charts/gateway-helm/templates/service.yaml").write_text("kind: Service\n")
    (module / "charts/lws/Chart.yaml").write_text("version: 0.1.0\n")
    (module / "charts/lws/values.yaml").write_text("tag: main\npullPolicy: Always\n")
    calls = tmp_path / "calls"
    calls.touch()
    for name, value in {"CALLS": calls, "GO_SAYS": "go1.26.8", "MODULE_DIR": module, "GO_FAILS": ""}.items():
        monkeypatch.setenv(name, str(value))
    script(path_folder / "go", FAKE_GO)
    return lambda: calls.read_text().splitlines()
