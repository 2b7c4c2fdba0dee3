"""Runs of the command line that tests stop, cancel and kill; and what is left afterwards."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.fleets import ROOT, Done, Scratch

from stacks.processes import FLEET, MARK, Process, everything, send

OURS = "modelplane.ai/fleet"
POLL_SECONDS = 0.05
PLUGIN = "pulumi-resource"
RELEASE = "kubernetes:helm.sh/v3:Release"
CLUSTERS = ("gpu-us-east", "gpu-eu-west", "hub")
GONE_SECONDS = 30.0
"""How long what a killed run left may take to end: it may finish, is then cancelled, and is then killed."""


def tell(text: str) -> None:
    """Leave a line for whoever reads what a failed test said."""
    sys.stderr.write(f"{text}\n")


def wait_until(condition: Callable[[], Any], seconds: float, what: str) -> Any:
    """What the condition says as soon as it says something; an assertion that names it when the time is over."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, f"not within {seconds:.0f} s: {what}"
        time.sleep(POLL_SECONDS)
    return found


@dataclass
class Run:
    """One command that runs, in a process group of its own as a terminal would give it."""

    directory: Path
    process: "subprocess.Popen[str]"
    out: Path
    err: Path

    @property
    def said(self) -> str:
        return self.err.read_text()

    def started(self) -> list[Process]:
        """Engines and providers of this run that live."""
        mark = f"{self.process.pid}."
        return [process for process, variables in marked(self.directory) if variables[MARK].startswith(mark)]

    def engines(self) -> list[Process]:
        return [process for process in self.started() if process.leads and PLUGIN not in process.name]

    def providers(self) -> list[Process]:
        return [process for process in self.started() if not process.leads]

    def interrupt(self) -> None:
        """Ctrl-C, as a terminal sends it: to the whole process group."""
        os.killpg(self.process.pid, signal.SIGINT)

    def kill(self, *victims: str) -> list[Process]:
        """SIGKILL to the driver, its engines or its providers; what was hit."""
        hit = []
        for victim in victims:
            if victim == "driver":
                hit.append(Process(pid=self.process.pid, name="driver"))
            else:
                hit += self.engines() if victim == "engine" else self.providers()
        send(hit, signal.SIGKILL)
        return hit

    def ended(self, seconds: float) -> Done:
        """The finished command; an assertion when it does not end in time."""
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still running after {seconds:.0f} s:\n{self.said}") from None
        return Done(code, self.out.read_text(), self.said)


@contextmanager
def running(directory: Path, folder: Path, *arguments: str, env: Mapping[str, str] | None = None) -> Iterator[Run]:
    """The command line on a fleet, its output in files of `folder`; killed when the test is done with it."""
    folder.mkdir(exist_ok=True)
    number = len(list(folder.iterdir()))
    out, err = folder / f"{number}.out", folder / f"{number}.err"
    with out.open("w") as stdout, err.open("w") as stderr:
        process = subprocess.Popen(
            [sys.executable, "-m", "cli", *arguments],
            cwd=ROOT,
            env={**os.environ, FLEET: str(directory), **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            text=True,
            start_new_session=True,
        )
    try:
        yield Run(directory=directory, process=process, out=out, err=err)
    finally:
        process.kill()
        process.wait()


def marked(directory: Path) -> list[tuple[Process, dict[str, str]]]:
    """Everything that runs on this fleet directory have started and that lives, with its variables."""
    found = []
    for process in everything():
        with suppress(OSError):
            block = Path(f"/proc/{process.pid}/environ").read_text(errors="replace")
            variables: dict[str, str] = dict(entry.partition("=")[::2] for entry in block.split("\0"))
            if MARK in variables and variables.get(FLEET) == str(directory):
                found.append((process, variables))
    return found


def checkpoint(directory: Path, stack: str) -> Path:
    """Where the embedded backend keeps the state of a stack."""
    return directory / ".modelplane" / "state" / ".pulumi" / "stacks" / "modelplane" / f"{stack}.json"


def state(directory: Path) -> dict[str, Any]:
    """What every stack holds, by URN, and what is open in it; without what differs from run to run."""
    found: dict[str, Any] = {}
    for file in sorted(checkpoint(directory, "any").parent.glob("*.json")):
        with suppress(ValueError, FileNotFoundError):  # an engine may be writing it
            latest = json.loads(file.read_text())["checkpoint"].get("latest") or {}
            found[file.stem] = {
                "resources": sorted(_known(entry) for entry in latest.get("resources") or ()),
                "pending": [operation["type"] for operation in latest.get("pending_operations") or ()],
                "creating": [
                    operation["resource"]["type"]
                    for operation in latest.get("pending_operations") or ()
                    if operation["type"] == "creating"
                ],
            }
    return found


def _known(entry: dict[str, Any]) -> tuple[str, str, str]:
    is_provider = entry["type"].startswith("pulumi:providers:")
    return entry["urn"], "" if is_provider else entry.get("id", ""), "delete" if entry.get("delete") else ""


def objects(fleet: Scratch) -> dict[str, Any]:
    """Every object of the fleet on its clusters with what it asks for, by where it is.

    The address of a cluster's gateway is its load balancer's to choose, and another one where the gateway was made
    anew: what points there tells whose it is.
    """
    found = {}
    gateways = {
        address["value"]: f"gateway of {cluster}"
        for cluster in CLUSTERS
        for gateway in fleet.objects(cluster, "gateways.gateway.networking.k8s.io")
        for address in gateway.get("status", {}).get("addresses") or ()
    }
    for cluster in CLUSTERS:
        kinds = fleet.kubectl(cluster, "api-resources", "--verbs=list", "-o", "name").split()
        asked = ",".join(kind for kind in kinds if kind != "endpoints" and not kind.startswith("events"))
        for item in fleet.objects(cluster, asked, "-l", f"{OURS}=demo"):
            metadata = item["metadata"]
            if metadata.get("ownerReferences"):
                continue  # a controller made it out of one of ours
            plain: dict[str, Any] = {
                part: item[part] for part in ("spec", "data", "endpoints", "ports") if part in item
            }
            for endpoint in plain.get("endpoints") or ():
                endpoint["addresses"] = [gateways.get(address, address) for address in endpoint["addresses"]]
            if item["kind"] == "Service":
                plain["spec"] = {key: value for key, value in plain["spec"].items() if not key.startswith("clusterIP")}
            key = f"{cluster}: {item['kind']} {metadata.get('namespace', '')}/{metadata['name']}"
            found[key] = {**plain, "labels": metadata["labels"]}
    return found


def whole(fleet: Scratch) -> dict[str, Any]:
    """All that a fleet comes to: what its stacks hold, what is on its clusters, and what its routes say."""
    return {"state": state(fleet.directory), "objects": objects(fleet)}


def differences(expected: Any, found: Any, at: str = "") -> list[str]:
    """Where two pieces of plain data differ, a line each."""
    if isinstance(expected, dict) and isinstance(found, dict):
        keys = sorted(expected.keys() | found.keys())
        return [each for key in keys for each in differences(expected.get(key), found.get(key), f"{at}/{key}")]
    if isinstance(expected, list) and isinstance(found, list):
        missing, extra = (
            [each for each in some if each not in others] for some, others in ((expected, found), (found, expected))
        )
        return [f"{at}: without {missing}, with {extra}"] if expected != found else []
    return [f"{at}: {found!r} and not {expected!r}"] if expected != found else []


def locks(directory: Path) -> list[Path]:
    """Locks of passes and stacks that are there."""
    folder = directory / ".modelplane"
    return [*folder.glob("pass.lock"), *(folder / "state" / ".pulumi" / "locks").rglob("*.json")]


def has_begun_creation(directory: Path) -> bool:
    """Whether an engine is creating something at this moment, or was when it was killed."""
    return any(stack["creating"] for stack in state(directory).values())


def installs(directory: Path) -> bool:
    """Whether an engine is in the middle of a Helm install, or was when it was killed."""
    return any(RELEASE in stack["creating"] for stack in state(directory).values())


def killed_up(
    fleet: Scratch,
    folder: Path,
    victims: tuple[str, ...],
    after: float,
    patience: float = 3.0,
    *,
    begun: Callable[[Path], bool] = has_begun_creation,
    flags: tuple[str, ...] = (),
) -> bool:
    """Run `up` and kill parts of it, so many seconds after its first engine was there; whether anything was hit.

    A moment when something is being created (or `begun` otherwise) is waited for a little: nothing is easier to lose.
    """
    with running(fleet.directory, folder, "up", "--wait", "2m", *flags) as run:
        wait_until(run.engines, 60, "an engine runs")
        began = time.monotonic()

        def is_time() -> bool:
            since = time.monotonic() - began
            there = run.providers() if "provider" in victims else run.engines() or victims == ("driver",)
            gone = run.process.poll() is not None
            return gone or (since > after and bool(there) and (begun(run.directory) or since > after + patience))

        wait_until(is_time, 180, "the moment to kill")
        caught = begun(run.directory)
        over = run.process.poll() is not None
        hit = run.kill(*victims)
        names = ", ".join(f"{process.name} (pid {process.pid})" for process in hit) or "nothing"
        tell(f"after {time.monotonic() - began:.1f} s{', as was waited for' if caught else ''}: {names}")
        run.ended(180)
        wait_until(lambda: not run.started(), GONE_SECONDS, "engines and providers of the killed run are gone")
        tell(run.said)
    return bool(hit) and not over


def ends_like(fleet: Scratch, undisturbed: dict[str, Any]) -> None:
    """The next `up` ends where one ends that nobody disturbs, and leaves neither locks nor processes."""
    up = fleet.run("up", "--wait", "2m")
    tell(up.err)
    assert up.code == 0, up.err
    other = differences(undisturbed, whole(fleet))
    assert not other, "\n".join(other)
    assert locks(fleet.directory) == []
    assert marked(fleet.directory) == []
    assert not list((fleet.directory / ".modelplane" / "work").glob("*.given-up.json"))
