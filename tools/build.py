"""Builds what the machine lacks into the cache, two builds at a time, and says how far it is.

Progress goes to standard error. The source tree is never written to: a build works on a copy of its module's folder.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from pathlib import Path
from threading import Event

from tools import cache
from tools.catalog import MODULES, Copied, GoModule, Prepared
from tools.locate import machine_has
from tools.versions import Version, find_version, parse

AT_ONCE = 2
"""Go compiles several packages at a time by itself; more builds than this only compete for memory."""

REPORT_SECONDS = 30.0
_LAST_LINES = 25
_STOP_SECONDS = 10.0
_STOP = Event()


class BuildFailed(Exception):
    """A tool could not be built; `hint` says what to do."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(f"{message}\nhint: {hint}")
        self.message = message
        self.hint = hint


def say(text: str) -> None:
    """One line of progress."""
    sys.stderr.write(f"tools: {text}\n")
    sys.stderr.flush()


def missing(modules: Sequence[GoModule] = MODULES) -> tuple[GoModule, ...]:
    """The modules that must be built: neither in the cache nor on the machine."""
    return tuple(module for module in modules if not cache.is_filled(module) and not machine_has(module))


def build(modules: Sequence[GoModule] = MODULES) -> None:
    """Fill the cache with what is missing; returns at once where nothing is. Raises BuildFailed."""
    if not missing(modules):
        say("all there, nothing to build")
        return
    with cache.lock(lambda: say("another build is running, waiting for it to end")) as folder:
        todo = missing(modules)
        if not todo:
            return
        check_go(todo)
        say(f"building into {folder}: {', '.join(module.folder for module in todo)}")
        say(f"this takes about {_forecast(todo):.0f} min on two cores, once; less where Go has built them before")
        start = time.monotonic()
        _build_all(todo, folder / "log")
        say(f"all built in {_elapsed(start)}")


def check_go(todo: Sequence[GoModule]) -> Version:
    """The version of the Go command; BuildFailed where it is absent or too old for one of the modules."""
    needed = max(required_go(module) for module in todo)
    hint = f"install Go {needed.major}.{needed.minor} or newer from https://go.dev/dl and put its bin folder on PATH"
    names = ", ".join(module.folder for module in todo)
    if shutil.which("go") is None:
        raise BuildFailed(f"Go {needed} or newer is needed to build {names}, and `go` is not on PATH", hint)
    newest = max(todo, key=required_go)
    answer = _run(["go", "env", "GOVERSION"], cache.SOURCES / newest.folder)
    found = find_version(answer.stdout.removeprefix("go")) if answer.returncode == 0 else None
    if found is None or found < needed:
        said = (answer.stdout + answer.stderr).strip() or "nothing"
        raise BuildFailed(f"Go {needed} or newer is needed to build {names}, and `go` says: {said}", hint)
    return found


def required_go(module: GoModule) -> Version:
    """The version in the `go` line of the module's go.mod."""
    lines = (cache.SOURCES / module.folder / "go.mod").read_text().splitlines()
    return next(parse(line.removeprefix("go ")) for line in lines if line.startswith("go "))


def _forecast(todo: Sequence[GoModule]) -> float:
    longest = max(module.minutes for module in todo)
    return max(longest, sum(module.minutes for module in todo) / AT_ONCE, 1)


def _build_all(todo: Sequence[GoModule], logs: Path) -> None:
    logs.mkdir(exist_ok=True)
    _STOP.clear()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        futures = [pool.submit(_build_one, module, logs / f"{module.folder}.log") for module in todo]
        try:
            done, _ = wait(futures, return_when=FIRST_EXCEPTION)
        finally:
            if not all(future.done() for future in futures):
                _STOP.set()
                pool.shutdown(cancel_futures=True)
    for future in done:
        future.result()


def _build_one(module: GoModule, log: Path) -> None:
    start = time.monotonic()
    say(f"{module.folder} {module.version}: started")
    with cache.filling(cache.home(module)) as work:
        source = work / "source"
        source.mkdir()
        for file in cache.source_files(module):
            copy = source / file.relative_to(cache.SOURCES / module.folder)
            copy.parent.mkdir(exist_ok=True)
            shutil.copyfile(file, copy)
        for copied in module.beside_sources:
            copy_from_module(copied, source, source)
        for copied in module.contents:
            copy_from_module(copied, source, work / "files")
        if module.programs:
            _compile(module, source, work / "bin", log)
            shutil.rmtree(work / "temporary")
        shutil.rmtree(source)
    say(f"{module.folder} {module.version}: ready after {_elapsed(start)}")


def copy_from_module(copied: Copied, source: Path, target: Path) -> None:
    """Copy files out of the Go module that `source`/go.mod pins, checked against its go.sum. Raises BuildFailed."""
    answer = _run(["go", "mod", "download", "-json", copied.module], source)
    if answer.returncode != 0:
        raise _failed(copied.module, answer.stdout + answer.stderr)
    folder = Path(json.loads(answer.stdout)["Dir"]) / copied.folder
    into = target / copied.into
    files = [file for pattern in copied.files for file in _matches(copied, folder, pattern)]
    for file in files:
        copy = into / file.relative_to(folder)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copy)
    if isinstance(copied, Prepared):
        _prepare(copied, [file.relative_to(folder) for file in files], into)


def _prepare(copied: Prepared, files: Sequence[Path], into: Path) -> None:
    if copied.joined:
        texts = [(into / file).read_text() for file in files]
        for file in files:
            (into / file).unlink()
        (into / copied.joined).write_text("".join(f"---\n{text.removeprefix('---')}\n" for text in texts))
    for before, after in copied.renamed:
        (into / before).rename(into / after)
    for name, text, replacement in copied.edits:
        content = (into / name).read_text()
        if text not in content:
            raise _failed(copied.module, f"{copied.folder}/{name} does not say {text!r}")
        (into / name).write_text(content.replace(text, replacement))


def _matches(copied: Copied, folder: Path, pattern: str) -> list[Path]:
    found = sorted(file for file in folder.glob(pattern) if file.is_file())
    if not found:
        raise _failed(copied.module, f"the module has no {copied.folder}/{pattern}")
    return found


def _compile(module: GoModule, source: Path, target: Path, log: Path) -> None:
    temporary = target.with_name("temporary")
    for folder in (target, temporary):
        folder.mkdir()
    packages = [package for _, package in module.programs]
    command = ["go", "build", "-v", *cache.BUILD_FLAGS, "-ldflags", module.ldflags, "-o", f"{target}/", *packages]
    with log.open("w+") as output:
        process = subprocess.Popen(
            command,
            cwd=source,
            env={**_environment(), "GOTMPDIR": str(temporary)},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        try:
            _wait(process, module, log)
        finally:
            if process.poll() is None:
                _interrupt(process)
    if process.returncode != 0:
        raise _failed(module.folder, log.read_text(errors="replace"), log)
    for name, package in module.programs:
        built = target / output_name(package)
        if built.name != name:
            built.rename(target / name)


def _wait(process: "subprocess.Popen[bytes]", module: GoModule, log: Path) -> None:
    """Wait for a compiler and report now and then; BuildFailed when the other build failed or the reader stopped it."""
    start = reported = time.monotonic()
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=0.5)
            return
        if _STOP.is_set():
            raise BuildFailed(f"{module.folder}: stopped", "run it again, what Go has compiled is kept")
        if time.monotonic() - reported >= REPORT_SECONDS:
            reported = time.monotonic()
            compiled = sum(1 for line in log.read_text(errors="replace").splitlines() if _is_package(line))
            say(f"{module.folder}: {_elapsed(start)} of about {module.minutes:.0f} min, {compiled} packages compiled")


def _interrupt(process: "subprocess.Popen[bytes]") -> None:
    """Stop a compiler and its children."""
    os.killpg(process.pid, signal.SIGINT)
    try:
        process.wait(timeout=_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def output_name(package: str) -> str:
    """What `go build` calls the program of a main package: the last part of its path, a version as `v3` left out."""
    parts = package.split("/")
    last = parts[-1]
    return parts[-2] if len(parts) > 1 and last[:1] == "v" and last[1:].isdecimal() else last


def _is_package(line: str) -> bool:
    """Whether a line of the compiler's output is a package's name (`go build -v`), not a message."""
    return bool(line) and " " not in line and ":" not in line


def _failed(name: str, output: str, log: Path | None = None) -> BuildFailed:
    lines = [line for line in output.splitlines() if not _is_package(line) and not line.startswith("go: downloading")]
    last = "\n".join(f"  {line}" for line in lines[-_LAST_LINES:])
    hint = (
        "the whole output is in " + str(log)
        if log
        else "check that the Go module proxy can be reached: `go env GOPROXY`"
    )
    if log and any(word in output for word in ("dial tcp", "no such host", "i/o timeout", "Forbidden", "not found")):
        hint += "; check that the Go module proxy can be reached: `go env GOPROXY`"
    elif log and any(word in output for word in ("no space left", "signal: killed")):
        hint += "; free some disk space or memory and run it again"
    return BuildFailed(f"{name} could not be built:\n{last}", hint)


def _environment() -> dict[str, str]:
    """The user's environment, with what every build shares; a workspace around the checkout is none of ours."""
    return {**os.environ, **cache.BUILD_ENVIRONMENT, "GOWORK": "off"}


def _run(command: list[str], folder: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command, check=False, cwd=folder, env=_environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True
    )


def _elapsed(start: float) -> str:
    minutes, seconds = divmod(round(time.monotonic() - start), 60)
    return f"{minutes} min {seconds:02} s" if minutes else f"{seconds} s"
