"""Measure a local fleet on this machine: seconds and memory of each step, once or several times.

Run as `make benchmarks` (or `python -m benchmarks --runs 3`). Figures are of the whole process as a user meets it; they
are reported and never asserted. Other work on the machine shows in them, so quote medians, and ratios of one run.
"""

import argparse
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COMMAND = [sys.executable, "-m", "cli"]


def main() -> None:
    """Measure and print a table: step, median, smallest and largest value."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1, help="how often everything is measured")
    runs = parser.parse_args().runs
    figures: dict[str, list[float]] = {}
    for number in range(runs):
        print(f"run {number + 1} of {runs}", file=sys.stderr)  # noqa: T201 - this is a program with output
        for step, value in measure().items():
            figures.setdefault(step, []).append(value)
    print(f"{'step':<34} {'median':>9} {'min':>9} {'max':>9}   {os.cpu_count()} processors")  # noqa: T201
    for step, values in figures.items():
        row = f"{step:<34} {statistics.median(values):>9.2f} {min(values):>9.2f} {max(values):>9.2f}"
        print(row)  # noqa: T201


def measure() -> dict[str, float]:
    """Figures of one fresh fleet: seconds per command, and MiB that its processes hold."""
    with tempfile.TemporaryDirectory(prefix="modelplane-benchmark-") as scratch:
        directory = Path(scratch) / "fleet"
        shutil.copytree(ROOT / "examples" / "local", directory, ignore=shutil.ignore_patterns(".modelplane"))
        _use_free_port(directory)
        found = {"--help (s)": _timed(["--help"], directory)}
        try:
            found["local up, three clusters (s)"] = _timed(["local", "up"], directory)
            found["first up (s)"] = _timed(["up"], directory)
            found["up with nothing to do (s)"] = _timed(["up"], directory)
            found["no-op up ÷ first up"] = found["up with nothing to do (s)"] / found["first up (s)"]
            found["status (s)"] = _timed(["status"], directory)
            found["local fleet, resident (MiB)"] = _resident(directory)
            found["destroy (s)"] = _timed(["destroy", "--yes"], directory)
        finally:
            _timed(["local", "down", "--discard-state"], directory)
    return found


def _timed(arguments: list[str], directory: Path) -> float:
    began = time.monotonic()
    environment = {**os.environ, "MODELPLANE_FLEET": str(directory)}
    subprocess.run(
        [*COMMAND, *arguments], cwd=ROOT, env=environment, check=True, stdout=subprocess.DEVNULL, timeout=600
    )
    return time.monotonic() - began


def _use_free_port(directory: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    for file in directory.rglob("*.yaml"):
        file.write_text(file.read_text().replace("127.0.0.1:8080", f"127.0.0.1:{port}"))


def _resident(directory: Path) -> float:
    """MiB resident of all processes whose arguments or environment name the fleet's folder."""
    marker = str(directory).encode()
    return sum(_of_process(process, marker) for process in Path("/proc").iterdir()) / 1024


def _of_process(process: Path, marker: bytes) -> int:
    """KiB resident of one process, 0 for another fleet's."""
    if not process.name.isdigit():
        return 0
    try:
        named = (process / "cmdline").read_bytes() + (process / "environ").read_bytes()
        status = (process / "status").read_text()
    except OSError:
        return 0
    if marker not in named:
        return 0
    line = next((line for line in status.splitlines() if line.startswith("VmRSS:")), "VmRSS: 0 kB")
    return int(line.split()[1])


if __name__ == "__main__":
    main()
