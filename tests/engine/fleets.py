"""What the engine tests use: a copy of the example on ports of its own, the CLI, and questions to ask."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "local"
STEPS = ROOT / "examples" / "local-steps"
COMMAND_SECONDS = 400
EVALUATED = 'set -eu; eval "$1"; shift; exec "$@"'


def free_port() -> int:
    """A port nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@dataclass(frozen=True)
class Done:
    """A finished command."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        return json.loads(self.out)


@dataclass
class Scratch:
    """A scratch copy of the example fleet, or another, whose gateway answers on a free port."""

    directory: Path
    port: int = field(default_factory=free_port)
    example: Path = EXAMPLE

    def __post_init__(self) -> None:
        shutil.copytree(self.example, self.directory, ignore=shutil.ignore_patterns(".modelplane"), dirs_exist_ok=True)
        self._move_gateway()

    def _move_gateway(self) -> None:
        for file in self.directory.rglob("*.yaml"):
            text = file.read_text()
            file.write_text(text.replace("127.0.0.1:8080", f"127.0.0.1:{self.port}"))

    def step(self, name: str) -> None:
        """Lay one step's files over those of the same name."""
        found = next(folder for folder in STEPS.iterdir() if re.fullmatch(rf"\d\d-{name}", folder.name))
        shutil.copytree(found, self.directory, dirs_exist_ok=True)
        self._move_gateway()

    def run(
        self,
        *arguments: str,
        env: Mapping[str, str] | None = None,
        seconds: float = COMMAND_SECONDS,
        program: tuple[str, ...] = ("-m", "cli"),
    ) -> Done:
        """Run the CLI on this fleet, bounded; by another program that calls it, where one is given."""
        done = subprocess.run(
            [sys.executable, *program, *arguments],
            cwd=ROOT,
            env={**os.environ, "MODELPLANE_FLEET": str(self.directory), **(env or {})},
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    @contextmanager
    def clusters_up(self) -> Iterator[None]:
        """Its clusters on this machine, gone afterwards with whatever is on them."""
        try:
            up = self.run("local", "up")
            assert up.code == 0, up.err
            yield
        finally:
            down = self.run("local", "down", "--discard-state")
            assert down.code == 0, down.err

    def documents(self) -> Iterator[tuple[Path, list[dict[str, Any]]]]:
        """Plain documents by the file that they are in."""
        for file in sorted(self.directory.glob("*.yaml")):
            yield file, [document for document in YAML(typ="safe").load_all(file.read_text()) if document]

    def edit(self, kind: str, name: str, change: Callable[[dict[str, Any]], Any]) -> None:
        """Change one document by a function of its plain data; None takes it out."""
        for file, documents in self.documents():
            found = [it for it in documents if (it["kind"], it["metadata"]["name"]) == (kind, name)]
            if found:
                kept = [it for it in documents if it not in found or change(it) is not None]
                file.write_text("".join(f"---\n{json.dumps(document)}\n" for document in kept))
                if not kept:
                    file.unlink()
                return
        raise AssertionError(f"no {kind} {name}")

    def nodes(self, cluster: str, count: int) -> None:
        """Give the cluster's pool another number of nodes."""

        def change(document: dict[str, Any]) -> dict[str, Any]:
            document["spec"]["nodePools"][0]["nodeCount"] = count
            return document

        self.edit("InferenceCluster", cluster, change)

    def shell(self, *command: str, **variables: str) -> Done:
        """Run a command where `modelplane env` was evaluated, with variables that are set afterwards."""
        lines = self.run("env")
        assert lines.code == 0, lines.err
        text = lines.out + "".join(f"export {name}='{value}'\n" for name, value in variables.items())
        done = subprocess.run(
            ["sh", "-c", EVALUATED, "sh", text, *command],
            cwd=ROOT,
            env={name: value for name, value in os.environ.items() if not name.startswith(("PULUMI_", "MODELPLANE_F"))},
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    def pulumi(self, *arguments: str, **variables: str) -> Done:
        """Run plain Pulumi in the checkout, as one does who has evaluated `modelplane env`."""
        return self.shell("pulumi", *arguments, "--non-interactive", **variables)

    def kubeconfig(self, cluster: str) -> Path:
        return self.directory / ".modelplane" / "local" / cluster / "kubeconfig"

    def kubectl(self, cluster: str, *arguments: str) -> str:
        from tools.locate import locate  # noqa: PLC0415 - only tests that have clusters need it

        command = [str(locate("kubectl")), "--kubeconfig", str(self.kubeconfig(cluster)), *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout

    def objects(self, cluster: str, kind: str, *arguments: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self.kubectl(cluster, "get", kind, "-A", "-o", "json", *arguments))[
            "items"
        ]
        return found

    def status(self) -> dict[tuple[str, str], dict[str, Any]]:
        """Whole objects of `modelplane status` by kind and name."""
        items = self.run("status", "-o", "json").json()["items"]
        return {(item["kind"], item["metadata"]["name"]): item for item in items}

    def replicas(self) -> dict[str, str]:
        """Cluster by replica, for those that do not retire."""
        found = self.status().items()
        return {name: item["spec"]["clusterName"] for (kind, name), item in found if kind == "ModelReplica"}

    def places(self) -> Counter[str]:
        """How many replicas each cluster has."""
        return Counter(self.replicas().values())

    def kill(self, cluster: str, part: str) -> None:
        """End a process of the local fleet as a crash would."""
        parts = self.run("local", "status", "-o", "json").json()
        os.kill(next(it["pid"] for it in parts if (it["cluster"], it["part"]) == (cluster, part)), signal.SIGKILL)

    def url(self, service: str, path: str) -> str:
        return f"http://127.0.0.1:{self.port}/ml-team/{service}/{path}"

    def ask(self, service: str = "mock", *, stream: bool = False) -> "Answer":
        """One chat request through the hub."""
        body = json.dumps({"model": "mock", "stream": stream, "messages": [{"role": "user", "content": "hello"}]})
        request = urllib.request.Request(
            self.url(service, "v1/chat/completions"),
            data=body.encode(),
            headers={"content-type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=20) as answer:
            return Answer(answer.status, dict(answer.headers), answer.read().decode())

    def count(self, requests: int, service: str = "mock") -> Counter[str]:
        """Which deployment answered how many of so many requests."""
        return Counter(self.ask(service).deployment for _ in range(requests))


@dataclass(frozen=True)
class Answer:
    """What came back through the gateway."""

    status: int
    headers: dict[str, str]
    text: str

    @property
    def deployment(self) -> str:
        return self._header("x-modelplane-deployment").rpartition("/")[2]

    @property
    def pod(self) -> str:
        return self._header("x-modelplane-pod")

    def _header(self, name: str) -> str:
        return {key.lower(): value for key, value in self.headers.items()}[name]

    def events(self) -> Iterator[str]:
        """Data lines of a streamed answer."""
        for line in self.text.splitlines():
            if line.startswith("data: "):
                yield line.removeprefix("data: ")
