"""The language host with the real engine: what reaches a program, how it ends, and that nothing of it stays."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tools.locate import Origin, locate, look_up

pytestmark = pytest.mark.engine

DEADLINE = 60.0
PROGRAM = """
import sys, time, pulumi
config = pulumi.Config("tiny")
pulumi.export("seen", {
    "stack": pulumi.get_stack(),
    "project": pulumi.get_project(),
    "root": pulumi.get_root_directory(),
    "preview": pulumi.runtime.is_dry_run(),
    "text": config.get("text"),
    "arguments": sys.argv,
    "prefix": sys.prefix,
})
pulumi.export("secret", config.get_secret("hidden"))
print("said by the program")
"""


@dataclass(frozen=True)
class Project:
    """A project with one stack and a backend of its own."""

    folder: Path
    environment: dict[str, str]

    def write(self, body: str = "") -> None:
        (self.folder / "programs" / "__main__.py").write_text(PROGRAM + body)

    def pulumi(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [locate("pulumi"), *arguments, "--non-interactive"],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=DEADLINE,
        )

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [locate("pulumi"), *arguments, "--non-interactive"],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def export(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.pulumi("stack", "output", "--json").stdout)
        return found


@pytest.fixture
def project(tmp_path: Path) -> Project:
    if look_up("pulumi-language-python").origin is not Origin.CACHE:
        pytest.skip("the machine has the official language host")
    for name in ("state", "programs", "home"):
        (tmp_path / name).mkdir()
    options = {"virtualenv": os.path.relpath(sys.prefix, tmp_path)}
    text = {"name": "tiny", "main": "programs", "runtime": {"name": "python", "options": options}}
    (tmp_path / "Pulumi.yaml").write_text(json.dumps(text))
    own = {
        "PULUMI_BACKEND_URL": f"file://{tmp_path}/state",
        "PULUMI_CONFIG_PASSPHRASE": "x",
        "PULUMI_HOME": str(tmp_path / "home"),
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
        "PATH": f"{locate('pulumi-language-python').parent}{os.pathsep}{os.environ['PATH']}",
    }
    outer = {name: value for name, value in os.environ.items() if not name.startswith("PULUMI_")}
    made = Project(tmp_path, {**outer, **own})
    made.write()
    assert made.pulumi("stack", "init", "one").returncode == 0
    return made


def diagnostics(output: str) -> list[str]:
    """What the engine tells at the end of its stack, line by line."""
    found = re.search(r"^Diagnostics:\n.*?\n(.*?)(?:^\S|\Z)", output, re.MULTILINE | re.DOTALL)
    return [line.strip() for line in found[1].splitlines()] if found else []


def test_it_comes_from_where_the_engine_comes_from() -> None:
    engine, host = look_up("pulumi"), look_up("pulumi-language-python")
    assert engine.origin is host.origin
    assert engine.origin is not Origin.CACHE or engine.path.parent == host.path.parent


def test_a_program_gets_what_the_engine_knows(project: Project) -> None:
    assert project.pulumi("config", "set", "text", "a 'quoted' text").returncode == 0
    assert project.pulumi("config", "set", "--secret", "hidden", "top secret").returncode == 0
    preview = project.pulumi("preview")
    assert preview.returncode == 0, preview.stdout
    assert re.search(r"preview +: true", preview.stdout)

    up = project.pulumi("up", "--yes", "--skip-preview")
    assert up.returncode == 0, up.stdout
    assert "said by the program" in up.stdout
    assert "warning" not in up.stdout
    assert project.export() == {
        "seen": {
            "stack": "one",
            "project": "tiny",
            "root": str(project.folder),
            "preview": False,
            "text": "a 'quoted' text",
            "arguments": [str(project.folder / "programs")],
            "prefix": os.path.normpath(project.folder / os.path.relpath(sys.prefix, project.folder)),
        },
        "secret": "[secret]",
    }
    assert "top secret" not in up.stdout + preview.stdout
    assert project.pulumi("refresh", "--yes").returncode == 0
    assert project.pulumi("destroy", "--yes").returncode == 0


LATE = """
def late(value: int) -> int:
    raise pulumi.RunError("too late")
pulumi.export("late", pulumi.Output.from_input(1).apply(late))
"""
FAILURES = {
    "a fault that its reader can fix": ('raise pulumi.RunError("it is not there")\n', "error: it is not there"),
    "a fault found later": (LATE, "error: too late"),
    "an exit": ("sys.exit(3)\n", "error: an unhandled error occurred: the program ended early: exit status 3"),
}


@pytest.mark.parametrize(("body", "told"), FAILURES.values(), ids=FAILURES)
def test_a_program_that_fails_is_told_in_one_line(project: Project, body: str, told: str) -> None:
    project.write(body)
    done = project.pulumi("preview")
    assert done.returncode != 0
    assert [line for line in diagnostics(done.stdout) if line not in {"", "said by the program"}] == [told]


def test_a_bug_keeps_its_traceback_from_the_program_on(project: Project) -> None:
    project.write("def broken() -> None:\n    {}['key']\nbroken()\n")
    done = project.pulumi("preview")
    assert done.returncode != 0
    lines = diagnostics(done.stdout)
    first = lines.index("error: the program failed with an exception that is not handled:")
    assert lines[first + 1] == "Traceback (most recent call last):"
    assert lines[first + 2].startswith(f'File "{project.folder}/programs/__main__.py", line ')
    assert "KeyError: 'key'" in lines
    assert sum("error:" in line for line in lines) == 1


def test_a_missing_virtual_environment_is_named(project: Project) -> None:
    file = project.folder / "Pulumi.yaml"
    text = json.loads(file.read_text())
    text["runtime"]["options"]["virtualenv"] = "gone"
    file.write_text(json.dumps(text))
    done = project.pulumi("preview")
    assert done.returncode != 0
    assert f"there is no virtual environment in {project.folder}/gone" in done.stderr
    assert "make venv" in done.stderr


def test_the_engine_is_told_which_plugins_the_packages_need(project: Project) -> None:
    about = project.pulumi("about", "--json")
    assert about.returncode == 0, about.stderr
    found = json.loads(about.stdout)
    assert found["runtime"]["language"] == "python"
    assert found["runtime"]["version"] == ".".join(map(str, sys.version_info[:3]))
    assert [plugin["name"] for plugin in found["plugins"] if plugin["name"] == "kubernetes"] == ["kubernetes"]


def processes_of(folder: Path) -> list[str]:
    """Command lines of what runs in a folder or was started from it."""
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                where, line = (process / "cwd").readlink(), (process / "cmdline").read_bytes()
            except OSError:
                continue
            if line and where.is_relative_to(folder):
                found.append(line.replace(b"\0", b" ").decode())
    return found


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.fixture
def asleep(project: Project) -> Iterator["subprocess.Popen[str]"]:
    """An engine whose program is in the middle of something that takes long."""
    started = project.folder / "started"
    project.write(f"open({str(started)!r}, 'w').close()\ntime.sleep(600)\n")
    engine = project.start("up", "--yes", "--skip-preview")
    try:
        until(started.exists)
        assert len(processes_of(project.folder)) >= 3, "engine, host and program"
        yield engine
    finally:
        engine.kill()
        engine.communicate()


def test_an_interrupt_ends_the_program_and_the_update(project: Project, asleep: "subprocess.Popen[str]") -> None:
    asleep.send_signal(signal.SIGINT)
    output, _ = asleep.communicate(timeout=DEADLINE)
    assert asleep.returncode != 0
    assert "error: update canceled" in output
    assert "Traceback" not in output
    until(lambda: not processes_of(project.folder))
    assert list((project.folder / "state" / ".pulumi" / "locks").rglob("*.json")) == []


def test_nothing_outlives_an_engine_that_was_killed(project: Project, asleep: "subprocess.Popen[str]") -> None:
    asleep.kill()
    asleep.communicate(timeout=DEADLINE)
    until(lambda: not processes_of(project.folder))
