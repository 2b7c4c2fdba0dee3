"""What a pass of the loop costs where nothing changed, on simulated states: `python -m benchmarks.loop`.

Fleets of growing size: two deployments for each two clusters, a service for each deployment. The stacks' outputs are
those that a simulated fleet has exported; from there on everything is the loop's own. Then one deployment is edited,
and the stacks that are brought up are counted. Last, outputs are read from the files of a folder as backend, of stacks
that export no secrets. Prints a table in Markdown; seconds belong to the machine.
"""

import argparse
import json
import resource
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from builders import a_class, a_cluster, a_deployment, a_fleet, a_service
from states import documents_of
from unit.stacks.loop.test_loop import Bench

from api.documents import FleetDocuments
from api.names import CLUSTER_STACKS, StackName
from stacks.environment import PROJECT
from stacks.events import STACK_TYPE
from stacks.exported import exports_secrets, stack_outputs
from stacks.loop.agenda import Done
from stacks.loop.backend import state_of

COLUMNS = (
    "clusters",
    "stacks",
    "idle pass (s)",
    "of processor",
    "engines",
    "stacks up after an edit of one deployment",
    "states read (s)",
    "MiB",
)
MEBIBYTE = 1024


def main() -> None:
    """Measure fleets of growing size and print a row each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clusters", type=int, default=1000, help="size of the largest fleet")
    largest = parser.parse_args().clusters
    sys.stdout.write(f"| {' | '.join(COLUMNS)} |\n{'|---' * len(COLUMNS)}|\n")
    for size in (largest // 8, largest // 4, largest // 2, largest):
        sys.stdout.write(row(size))
        sys.stdout.flush()


def row(size: int) -> str:
    """Measure a fleet of so many clusters."""
    with tempfile.TemporaryDirectory(prefix="modelplane-benchmark-") as folder:
        bench = Bench(Path(folder), fleet_of(size, replicas=1), parallel=2)
        bring_up(bench, size)
        bench.loop.view.renew_all(bench.simulation.stacks())
        bench.loop.done = {
            stack: Done(asked=asked, at=time.monotonic()) for stack, asked in bench.loop.facts().asked.items()
        }
        began = time.monotonic()
        busy = time.process_time()
        idle = bench.settle()
        seconds, busy = time.monotonic() - began, time.process_time() - busy
        edited = fleet_of(size, replicas=0)
        bench.loop.documents = bench.simulation.documents = edited
        touched = set(bench.settle())
        states = read_states(bench)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / MEBIBYTE
    figures = f"{seconds:.1f} | {busy:.1f} | {len(idle)} | {len(touched)} | {states:.1f} | {memory:.0f}"
    return f"| {size:,} | {3 * size + 3:,} | {figures} |\n"


def read_states(bench: Bench) -> float:
    """Seconds to read the outputs of all stacks that export no secrets from the files of a folder as backend."""
    environment = bench.simulation.environment
    folder = environment.directory / "state" / ".pulumi" / "stacks" / PROJECT
    folder.mkdir(parents=True)
    plain = [stack for stack in bench.simulation.kept if stack.kind not in {"gateway", "cluster"}]
    for stack in plain:
        root = {"type": STACK_TYPE, "outputs": bench.simulation.kept[stack].plain()}
        checkpoint = {"version": 3, "checkpoint": {"latest": {"resources": [root]}}}
        (folder / f"{stack}.json").write_text(json.dumps(checkpoint))
    began = time.monotonic()
    for stack in plain:
        state = state_of(environment, str(stack))
        if state is None or exports_secrets(state) or not stack_outputs(state):
            raise SystemExit(f"the state of {stack} cannot be read")
    return time.monotonic() - began


def bring_up(bench: Bench, size: int) -> None:
    """Export what every stack of the fleet exports once all of it serves."""
    names = [f"cluster-{number:04}" for number in range(size)]
    of_each = {kind: [StackName("local", kind, name) for name in names] for kind in CLUSTER_STACKS}
    placement, routing = StackName("local", "placement"), StackName("local", "routing")
    bench.simulation.up(StackName("local", "gateway"), refresh=False)
    for stack in (*of_each["cluster"], *of_each["serving"], placement, *of_each["workloads"]):
        bench.simulation.up(stack, refresh=False)
    bench.become_ready()
    for stack in (*of_each["workloads"], placement, routing):
        bench.simulation.up(stack, refresh=True)
    bench.simulation.accepted |= {f"ml-team/model-{number:04}" for number in range(size)}
    bench.simulation.up(routing, refresh=True)


def fleet_of(size: int, *, replicas: int) -> FleetDocuments:
    """A fleet in which the first deployment has so many replicas and each other one."""
    clusters = [a_cluster(f"cluster-{number:04}", labels={"number": str(number)}) for number in range(size)]
    counts = [replicas, *[1] * (size - 1)]
    deployments = [
        a_deployment(f"model-{number:04}", replicas=count, cluster_selector={"number": str(number)})
        for number, count in enumerate(counts)
    ]
    services = [a_service(f"model-{number:04}") for number in range(size)]
    return documents_of(a_fleet("local"), a_class(), *clusters, *deployments, *services)


if __name__ == "__main__":
    main()
