"""`make demo`: the whole product on this machine, told step by step.

Copies the example to a scratch folder of the checkout, starts the local fleet, brings the example up, asks its URL,
and plays a canary. Everything is done with the commands a reader would type, and their exit codes decide. The fleet
stays up for looking around; the next run takes it down and begins afresh.
"""

import argparse
import itertools
import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from local.requests import Url, count_answers, stream_chat, wait_for_answer
from tools.locate import PROJECT

FOLDER = PROJECT / ".modelplane-demo"
EXAMPLE = PROJECT / "examples" / "local"
STEPS = PROJECT / "examples" / "local-steps"
ADDRESS = "127.0.0.1:8080"
SERVICE = "ml-team/mock"
REQUESTS = 200
CANARY = {"mock-demo": 180, "mock-demo-v2": 20}
SECONDS = 1800
"""How long one command may take before the demo gives up on it."""


class Ended(Exception):
    """A step that did not go as it should; `code` becomes the demo's exit code."""

    def __init__(self, message: str, code: int = 1) -> None:
        super().__init__(message)
        self.code = code


class Demo:
    """One run, on one fleet directory."""

    def __init__(self, fleet: Path, address: str) -> None:
        self.fleet = fleet
        self.address = address
        self.url = Url.parse(f"http://{address}/{SERVICE}/v1/chat/completions")
        self._began = time.monotonic()
        self._steps = 0

    def run(self) -> None:
        """Play all steps."""
        say("Modelplane on this machine: a hub and two GPU clusters, with real API servers and gateways.")
        say("The GPU nodes are simulated; an engine without a model answers in the place of each real one.")
        self.begin_afresh()
        self.start_clusters()
        self.bring_up()
        self.ask()
        self.bring_up_again()
        self.play_canary()
        self.say_goodbye()

    def begin_afresh(self) -> None:
        """Take down what an earlier demo left, and copy the example."""
        if self.fleet.exists():
            self.heading("An earlier demo goes")
            self.modelplane("local", "down", "--discard-state")
            shutil.rmtree(self.fleet)
        self.fleet.parent.mkdir(exist_ok=True)
        (self.fleet.parent / ".gitignore").write_text("*\n")
        shutil.copytree(EXAMPLE, self.fleet, ignore=shutil.ignore_patterns(".modelplane"))
        if self.address != ADDRESS:
            document = self.fleet / "fleet.yaml"
            document.write_text(document.read_text().replace(ADDRESS, self.address))
        self.heading("The documents")
        say(f"copied from {EXAMPLE.relative_to(PROJECT)} to {shown(self.fleet)}:")
        for file in sorted(self.fleet.iterdir()):
            say(f"  {file.name:<16}{first_sentence(file)}")

    def start_clusters(self) -> None:
        """Start API servers, nodes, gateways and engines."""
        self.heading("Three clusters start")
        self.modelplane("local", "up")

    def bring_up(self) -> None:
        """Bring the fleet up, and show what became of it."""
        self.heading("The fleet comes up: nine stacks, through the Pulumi engine")
        self.modelplane("up")
        self.heading("What is where")
        self.modelplane("status")
        for replica in self.replicas():
            name, cluster = replica["metadata"]["name"], replica["spec"]["clusterName"]
            say(f"\nThe scheduler of {cluster} gave {name} its eight GPUs:")
            self.modelplane("local", "shell", cluster, "-c", "kubectl get resourceclaims,pods -n ml-team")

    def ask(self) -> None:
        """Say when the fleet's URL answered first, and send a request through it that streams."""
        self.heading("One URL answers, token by token")
        say(f"POST {self.url}")
        wait_for_answer(self.url)
        say(
            f"The first answer came {time.monotonic() - self._began:.0f} s after the demo began. Another one, streamed:"
        )
        began = time.monotonic()
        write("  ")
        for token in stream_chat(self.url, "Who answers me?"):
            write(token)
        say(f"\n  ({time.monotonic() - began:.2f} s)")

    def bring_up_again(self) -> None:
        """Bring the fleet up once more: nothing may change."""
        self.heading("A second `up` changes nothing")
        report = self.modelplane_json("up")
        changed = report["changed"]
        say(f"{changed} resources changed in {len(report['stacks'])} stacks")
        if changed:
            raise Ended("the second `up` changed something; nothing had been edited")

    def play_canary(self) -> None:
        """Put a new version beside the old one, and count who answers."""
        self.heading("A canary: one request in ten goes to a new version")
        step = STEPS / "01-canary"
        say(f"documents of {step.relative_to(PROJECT)} are copied over those of the fleet:")
        for file in sorted(step.iterdir()):
            shutil.copy(file, self.fleet / file.name)
            say(f"  {file.name:<18}{first_sentence(file)}")
        self.modelplane("up")
        wait_for_answer(self.url, by="mock-demo-v2")
        say(f"\n{REQUESTS} requests to the same URL were answered by:")
        counts = count_answers(self.url, REQUESTS, rare="mock-demo-v2", ahead=4)
        for deployment, count in sorted(counts.items()):
            say(f"  {deployment:<14}{count:>4}  {'#' * (count // 4)}")
        if counts != CANARY:
            raise Ended(f"expected {CANARY}")

    def say_goodbye(self) -> None:
        """Say how to look around, what to try, and how to stop."""
        self.heading("Done; the fleet stays up")
        example = json.dumps({"model": "mock", "messages": [{"role": "user", "content": "Hello"}]})
        room = (STEPS / "02-no-room").relative_to(PROJECT)
        lines = {
            "Look around": [
                f"export MODELPLANE_FLEET={shlex.quote(str(self.fleet))}",
                f"export PATH={shlex.quote(str(PROJECT))}/.venv/bin:$PATH",
                "modelplane status",
                "modelplane local status",
                'modelplane local shell gpu-us-east -c "kubectl get pods,resourceclaims -A"',
                f"curl -s {self.url} -H 'Content-Type: application/json' -d {shlex.quote(example)}",
            ],
            "Ask for more than there is: `up` says why it does not fit, and ends with exit code 20": [
                f'cp {room}/* "$MODELPLANE_FLEET" && modelplane up',
            ],
            "Stop": ["modelplane destroy --yes && modelplane local down"],
        }
        for title, commands in lines.items():
            say(f"\n{title}:")
            for command in commands:
                say(f"  {command}")
        say(f"\nThe demo took {time.monotonic() - self._began:.0f} s.")

    def replicas(self) -> list[Mapping[str, Any]]:
        """The ready replicas, as `modelplane status` shows them."""
        shown_objects = self.modelplane_json("status")["items"]
        found = [item for item in shown_objects if item["kind"] == "ModelReplica"]
        for replica in found:
            ready = {condition["type"]: condition["status"] for condition in replica["status"]["conditions"]}
            if ready.get("Ready") != "True":
                raise Ended(f"replica {replica['metadata']['name']} is not ready")
        return found

    def heading(self, text: str) -> None:
        """Begin a step."""
        self._steps += 1
        say(f"\n== {self._steps}. {text} ({time.monotonic() - self._began:.0f} s)")

    def modelplane(self, *arguments: str) -> None:
        """Run a command of ours as a reader would, its output on the screen."""
        say(f"$ modelplane {shlex.join(arguments)}")
        began = time.monotonic()
        self._run(arguments, capture=False)
        say(f"  ({time.monotonic() - began:.1f} s)")

    def modelplane_json(self, *arguments: str) -> dict[str, Any]:
        """Run a command and read its data; its progress is on the screen."""
        answer: dict[str, Any] = json.loads(self._run([*arguments, "-o", "json"], capture=True))
        return answer

    def _run(self, arguments: Sequence[str], *, capture: bool) -> str:
        try:
            ended = subprocess.run(
                [sys.executable, "-m", "cli", *arguments],
                check=False,
                cwd=PROJECT,
                env={**os.environ, "MODELPLANE_FLEET": str(self.fleet)},
                stdout=subprocess.PIPE if capture else None,
                text=True,
                timeout=SECONDS,
            )
        except subprocess.TimeoutExpired:
            raise Ended(f"`modelplane {shlex.join(arguments)}` did not end within {SECONDS} s", 9) from None
        if ended.returncode != 0:
            text = f"`modelplane {shlex.join(arguments)}` ended with exit code {ended.returncode}, see above"
            raise Ended(text, ended.returncode)
        return ended.stdout or ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Play the demo; 0, or the exit code of the step that failed."""
    parser = argparse.ArgumentParser(prog="make demo", description="Modelplane on this machine, step by step.")
    parser.add_argument("--address", default=ADDRESS, help=f"where the hub answers, if not on {ADDRESS}")
    parser.add_argument("--folder", type=Path, default=FOLDER, help=f"where the fleet lies, if not in {FOLDER.name}")
    options = parser.parse_args(arguments)
    fleet = options.folder.resolve() / "fleet"
    try:
        Demo(fleet, options.address).run()
    except (Ended, OSError, ValueError) as error:
        say(f"\nThe demo ends here: {error}")
        say("The next `make demo` begins afresh. What runs can be looked at:")
        say(f"  export MODELPLANE_FLEET={fleet} PATH={PROJECT / '.venv' / 'bin'}:$PATH")
        say("To end it:")
        say(f"  .venv/bin/modelplane local down --discard-state -f {shown(fleet)}")
        return error.code if isinstance(error, Ended) else 1
    except KeyboardInterrupt:
        say("\nStopped. The next `make demo` begins afresh; to end what runs:")
        say(f"  .venv/bin/modelplane local down --discard-state -f {shown(fleet)}")
        return 8
    return 0


def say(line: str) -> None:
    """Print a line of the story."""
    write(f"{line}\n")


def write(text: str) -> None:
    """Print at once: commands in between write to the same screen."""
    sys.stdout.write(text)
    sys.stdout.flush()


def shown(path: Path) -> str:
    """A path as a reader in the checkout would type it."""
    return str(path.relative_to(PROJECT) if path.is_relative_to(PROJECT) else path)


def first_sentence(file: Path) -> str:
    """The first sentence of the comment that a file begins with."""
    lines = file.read_text().splitlines()
    comment = itertools.takewhile(lambda line: line.startswith("#"), lines)
    return " ".join(line.removeprefix("#").strip() for line in comment).split(". ")[0].rstrip(".")


if __name__ == "__main__":
    sys.exit(main())
