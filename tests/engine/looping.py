"""A local fleet with a loop that runs beside the test, and what such tests wait for."""

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
from engine.fleets import ROOT, Scratch, free_port

SOMEBODY = "--field-manager=somebody"
LONG = 300.0


class Looping(Scratch):
    """The scratch fleet with a loop that runs beside the test."""

    output: Path
    process: "subprocess.Popen[bytes]"
    metrics: int

    @contextmanager
    def looping(self, *arguments: str) -> Iterator[None]:
        self.output = self.directory.parent / "loop.out"
        ready = self.directory.parent / "ready"
        self.metrics = free_port()
        command = [sys.executable, "-m", "cli", "reconcile", "-f", str(self.directory), "--ready-file", str(ready)]
        command += ["--metrics-listen", f"127.0.0.1:{self.metrics}"]
        with self.output.open("wb") as file:
            self.process = subprocess.Popen(
                [*command, *arguments], cwd=ROOT, stdout=file, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL
            )
        try:
            until(ready.exists, "the loop to settle", self.told)
            yield
        finally:
            self.process.send_signal(signal.SIGTERM)
            assert self.process.wait(LONG) == 0, self.told()
        assert not ready.exists()

    def told(self) -> str:
        return self.output.read_text()

    def metric(self, name: str) -> float:
        """What the loop exports under a name, all labels taken together."""
        text = httpx2.get(f"http://127.0.0.1:{self.metrics}/metrics", timeout=LONG).text
        return sum(float(value) for value in re.findall(rf"^modelplane_{name}(?:{{.*}})? (\S+)$", text, re.MULTILINE))

    def backends(self) -> int:
        """How many endpoints the hub's routes have."""
        routes = self.objects("hub", "httproutes")
        return sum(len(rule.get("backendRefs") or ()) for route in routes for rule in route["spec"]["rules"])

    def drift(self) -> dict[tuple[str, str], tuple[str, str]]:
        """Class and manager by kind and name."""
        done = self.run("drift", "-o", "json")
        found = done.json()
        assert found["errors"] == [], done.err
        assert done.code == (23 if found["findings"] else 0), done.err
        return {(it["kind"], it["name"]): (it["class"], it["manager"]) for it in found["findings"]}

    def one(self, cluster: str, kind: str, *arguments: str) -> str:
        [found] = self.objects(cluster, kind, *arguments)
        name: str = found["metadata"]["name"]
        return name

    def patch(self, cluster: str, kind: str, name: str, path: str, value: Any, namespace: str = "ml-team") -> None:
        operation = json.dumps([{"op": "replace", "path": path, "value": value}])
        self.kubectl(cluster, "patch", kind, name, "-n", namespace, SOMEBODY, "--type=json", "-p", operation)


def until(condition: Callable[[], Any], what: str, told: Callable[[], str], seconds: float = LONG) -> float:
    """Wait until something holds; how long that took."""
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < seconds, f"waited {seconds:.0f} s for {what}\n{told()}"
        time.sleep(0.2)  # between two questions, within the deadline
    return round(time.monotonic() - began, 1)


@contextmanager
def busy(processes: int) -> Iterator[None]:
    """So many processes beside it that do nothing but compute."""
    started = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()
