"""The driver against raw `pulumi up` on the same stacks: `python -m benchmarks.overhead`.

A local fleet is brought up once. Then its stacks are brought up again and again with nothing to change, refreshed each
time: one after the other by raw `pulumi up`, and by the driver at `--parallel` 1 and 4, in turns, so that other work on
the machine meets all of them. Ratios are those of one turn; the median of the turns counts. While the driver runs its
engines and providers are counted; afterwards none may be left. Reported, never asserted.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from engine.fleets import ROOT, Scratch
from engine.runs import marked, running

STACKS = ("gateway", "cluster", "serving", "placement", "routing", "workloads")
UP = ("up", "--yes", "--skip-preview", "--refresh", "--suppress-outputs", "--non-interactive")
COLUMNS = (
    "turn",
    "load",
    "raw (s)",
    "at 1 (s)",
    "÷ raw",
    "at 4 (s)",
    "÷ raw",
    "engines, providers at 1",
    "at 4",
    "left",
)
POLL_SECONDS = 0.05
LONGEST_SECONDS = 900


def main() -> None:
    """Measure and print a row a turn, and medians of the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=3, help="how often everything is measured")
    turns = parser.parse_args().turns
    ratios: list[tuple[float, float]] = []
    with tempfile.TemporaryDirectory(prefix="modelplane-benchmark-") as folder:
        fleet = Scratch(Path(folder) / "fleet")
        with fleet.clusters_up():
            up = fleet.run("up", "--wait", "5m")
            if up.code != 0:
                raise SystemExit(up.err)
            sys.stdout.write(f"| {' | '.join(COLUMNS)} |\n{'|---' * len(COLUMNS)}|\n")
            for number in range(turns):
                load = os.getloadavg()[0]
                raw = raw_seconds(fleet)
                one, at_one = driver(fleet, Path(folder) / "runs", 1)
                four, at_four = driver(fleet, Path(folder) / "runs", 4)
                ratios.append((one / raw, four / raw))
                figures = f"{raw:.1f} | {one:.1f} | {one / raw:.2f} | {four:.1f} | {four / raw:.2f}"
                counts = f"{at_one[0]}, {at_one[1]} | {at_four[0]}, {at_four[1]} | {at_one[2] + at_four[2]}"
                sys.stdout.write(f"| {number + 1} | {load:.1f} | {figures} | {counts} |\n")
                sys.stdout.flush()
            fleet.run("destroy", "--yes")
    medians = [statistics.median(column) for column in zip(*ratios, strict=True)]
    sys.stdout.write(f"\nmedians of the ratios: {medians[0]:.2f} at 1, {medians[1]:.2f} at 4\n")


def raw_seconds(fleet: Scratch) -> float:
    """Seconds that raw `pulumi up` takes for all stacks, one after the other, in an environment that is there."""
    names = [stack["name"] for stack in fleet.run("stacks", "-o", "json").json()]
    ordered = sorted(names, key=lambda name: STACKS.index(name.split(".")[1]))
    return script_seconds(fleet, [["pulumi", *UP, "--stack", name] for name in ordered])


def script_seconds(fleet: Scratch, commands: Sequence[Sequence[str]]) -> float:
    """Seconds of commands in a shell where `modelplane env` was evaluated; that does not count."""
    lines = fleet.run("env").out
    text = "\n".join([lines, "set -e", "date +%s.%N", *(f"{' '.join(each)} >&2" for each in commands), "date +%s.%N"])
    outer = {name: value for name, value in os.environ.items() if not name.startswith(("PULUMI_", "MODELPLANE_F"))}
    done = subprocess.run(
        ["sh", "-c", text], cwd=ROOT, env=outer, capture_output=True, text=True, timeout=LONGEST_SECONDS, check=False
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    began, ended = map(float, done.stdout.split())
    return ended - began


def driver(fleet: Scratch, folder: Path, parallel: int) -> tuple[float, tuple[int, int, int]]:
    """Seconds of `modelplane up`; most engines and most providers at a time, and how many processes were left."""
    engines = providers = 0
    began = time.monotonic()
    with running(fleet.directory, folder, "up", "--parallel", str(parallel)) as run:
        while run.process.poll() is None:
            started = run.started()
            engines = max(engines, sum(process.leads for process in started))
            providers = max(providers, sum(process.name.startswith("pulumi-resource") for process in started))
            time.sleep(POLL_SECONDS)  # between two looks at what runs
        seconds = time.monotonic() - began
        if run.process.returncode:
            raise SystemExit(run.said)
    return seconds, (engines, providers, len(marked(fleet.directory)))


if __name__ == "__main__":
    main()
