"""The project file of a fleet: which programs, interpreter and provider it names, and how it is written."""

import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from stacks import project
from tools.locate import Found, Origin, ToolMissing

ROOT = Path(__file__).resolve().parents[3]


def read(folder: Path) -> object:
    return YAML(typ="safe").load((folder / "Pulumi.yaml").read_text())


def provider(monkeypatch: pytest.MonkeyPatch, origin: Origin) -> None:
    found = Found(name="pulumi-resource-kubernetes", path=Path("/a cache/bin/it"), version="4.24.1", origin=origin)
    monkeypatch.setattr(project, "look_up", lambda name: found)


def test_it_names_the_programs_and_the_interpreter_of_this_installation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider(monkeypatch, Origin.PLUGIN)
    monkeypatch.setattr(sys, "prefix", "/somewhere/.venv")
    project.write_project(tmp_path, "modelplane")
    assert read(tmp_path) == {
        "name": "modelplane",
        "main": str(ROOT / "programs"),
        "runtime": {"name": "python", "options": {"virtualenv": "/somewhere/.venv"}},
    }
    assert (ROOT / "programs" / "__main__.py").exists()


def test_without_a_virtual_environment_the_machine_s_python_runs_the_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    provider(monkeypatch, Origin.PLUGIN)
    monkeypatch.setattr(sys, "prefix", sys.base_prefix)
    assert project.project("modelplane")["runtime"] == {"name": "python"}


def test_a_provider_that_was_built_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    provider(monkeypatch, Origin.CACHE)
    assert project.project("modelplane")["plugins"] == {"providers": [{"name": "kubernetes", "path": "/a cache/bin"}]}


def test_a_provider_that_is_missing_is_left_to_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Found:
        raise ToolMissing(name, "not there", "build it")

    monkeypatch.setattr(project, "look_up", missing)
    assert "plugins" not in project.project("modelplane")


def test_it_is_written_when_it_would_be_another_and_only_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    provider(monkeypatch, Origin.PLUGIN)
    project.write_project(tmp_path, "modelplane")
    file = tmp_path / "Pulumi.yaml"
    before = file.stat()
    project.write_project(tmp_path, "modelplane")
    assert (file.stat().st_ino, file.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)

    file.write_text("name: modelplane\nruntime: python\n")
    project.write_project(tmp_path, "modelplane")
    assert isinstance(read(tmp_path), dict)
    assert "main" in file.read_text()
    assert [path.name for path in tmp_path.iterdir()] == ["Pulumi.yaml"]
