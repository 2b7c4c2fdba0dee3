"""How long one decision takes, how it grows, and what it holds: `python -m benchmarks.scheduler`.

Three fleets: one deployment on many clusters; a fleet where clusters, deployments and replicas grow together; and the
same where every deployment asks something of its own, so that little can be shared. Pools come in random order from
twelve classes, and each cluster has its own copy of the device facts, as clusters that are read from outputs have.
Seconds are processor time and belong to the machine they were measured on; ratios and exponents are of one run.
Nothing is asserted. Docs: docs/scheduling-speed.md.
"""

import argparse
import math
import random
import resource
import sys
import time
from dataclasses import dataclass
from itertools import pairwise

from api import ModelDeployment
from api.base import API_VERSION
from api.classes import Device
from scheduler import Cluster, PlacedReplica, Plan, Pool, Snapshot, schedule
from scheduler.cel import compile_selector

DRIVER = "gpu.nvidia.com"
MEMORY = 'device.capacity["gpu.nvidia.com"].memory.compareTo(quantity("{}Gi")) >= 0'
CLASSES = [(f"class-{number}", 16 + 8 * number, 1 if number < 4 else 8) for number in range(12)]
"""Name, GiB of one device, and devices a node."""
SIZES = (10, 30, 100, 300, 1000)


@dataclass(frozen=True)
class Figures:
    """One decision: processor seconds, replicas placed, selectors run, and the plan."""

    seconds: float
    placed: int
    evaluations: int
    plan: Plan


def clusters(count: int, nodes: int) -> tuple[Cluster, ...]:
    """Make clusters of four pools of random classes, in random order."""
    random_order = random.Random(count)  # noqa: S311  # a fixed seed makes two runs alike
    return tuple(
        Cluster(
            name=f"cluster-{number:04}",
            ready=True,
            gateway_address=f"10.{number // 250}.{number % 250}.1",
            labels={"region": f"r{number % 20}"},
            pools=tuple(
                Pool(name=name, nodes=nodes, devices=(_device(gibibytes, devices),))
                for name, gibibytes, devices in random_order.sample(CLASSES, 4)
            ),
        )
        for number in range(count)
    )


def deployment(number: int, replicas: int, gibibytes: int, copies: int = 1) -> ModelDeployment:
    """Make a deployment of one engine with three selectors; `gibibytes` may well be a number nobody else uses."""
    selectors = [f'device.driver == "{DRIVER}"', f'device.attributes["{DRIVER}"].ecc', MEMORY.format(gibibytes)]
    request = {"name": "gpu", "selectors": [{"cel": cel} for cel in selectors]}
    member = {
        "nodeSelector": {"devices": [request]},
        "template": {"spec": {"containers": [{"name": "engine", "image": "registry.example/engine:1"}]}},
    }
    shape = {"engines": [{"name": "main", "copies": copies, "members": [member]}]}
    return ModelDeployment.parse(
        {
            "apiVersion": API_VERSION,
            "kind": "ModelDeployment",
            "metadata": {"name": f"model-{number:04}", "namespace": "ml-team"},
            "spec": {"replicas": replicas, "template": {"spec": shape}},
        }
    )


def one_deployment(size: int) -> Snapshot:
    """Make a fleet for one deployment of ten replicas."""
    return Snapshot(clusters=clusters(size, 2), deployments=(deployment(0, 10, 70),))


def alike(size: int, nodes: int = 3) -> Snapshot:
    """Make two deployments of five replicas a cluster, of twelve kinds in all."""
    wanted = tuple(deployment(number, 5, 16 + 8 * (number % 12)) for number in range(2 * size))
    return Snapshot(clusters=clusters(size, nodes), deployments=wanted)


def own(size: int) -> Snapshot:
    """Make the same, but no two deployments ask for the same amount of memory."""
    wanted = tuple(deployment(number, 5, 8 + number * 96 // (2 * size), 1 + number % 2) for number in range(2 * size))
    return Snapshot(clusters=clusters(size, 3), deployments=wanted)


def short(size: int) -> Snapshot:
    """Make the first again with one node a pool, so that most deployments lack replicas and every cluster is judged."""
    return alike(size, nodes=1)


def placed(snapshot: Snapshot, plan: Plan) -> Snapshot:
    """Make the snapshot that follows a plan which was carried out, read anew."""
    replicas = tuple(
        PlacedReplica(key=each.key, name=each.name, engines=each.engines)
        for deployment_plan in plan.deployments.values()
        for each in deployment_plan.placements
    )
    return Snapshot(clusters=snapshot.clusters, deployments=snapshot.deployments, replicas=replicas)


def timed(snapshot: Snapshot) -> Figures:
    """Decide once."""
    began = time.process_time()
    plan = schedule(snapshot)
    seconds = time.process_time() - began
    return Figures(seconds, sum(len(each.placements) for each in plan.deployments.values()), plan.evaluations, plan)


CASES = {"one deployment": one_deployment, "grown together": alike, "each its own": own, "most are short": short}


def main() -> None:
    """Print a table in Markdown: seconds, replicas placed, selectors run, and the exponent from size to size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="clusters of each fleet")
    sizes = parser.parse_args().sizes
    began = time.process_time()
    compile_selector("true")
    _line(f"Grammar and first selector: {time.process_time() - began:.3f} s, once a process\n")
    _line("| case | clusters | deployments | wanted | placed | first, s | unchanged, s | selectors run |")
    _line("|---|---|---|---|---|---|---|---|")
    for name, case in CASES.items():
        first, again = [], []
        for size in sizes:
            snapshot = case(size)
            compile_selector.cache_clear()
            new = timed(snapshot)
            unchanged = timed(placed(snapshot, new.plan))
            first.append(new.seconds)
            again.append(unchanged.seconds)
            wanted = sum(each.spec.replicas for each in snapshot.deployments)
            counts = f"{size} | {len(snapshot.deployments)} | {wanted} | {new.placed}"
            _line(f"| {name} | {counts} | {new.seconds:.3f} | {unchanged.seconds:.3f} | {new.evaluations} |")
        _line(f"| {name} | exponent | | | | {_exponent(sizes, first)} | {_exponent(sizes, again)} | |")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    _line(f"\nPeak of the process: {peak:.0f} MiB")


def _exponent(sizes: list[int], seconds: list[float]) -> str:
    """Fit seconds = c * clusters ** exponent over all sizes, and over the last step alone."""
    points = [(math.log(size), math.log(max(each, 1e-6))) for size, each in zip(sizes, seconds, strict=True)]
    if len(points) < 2:
        return "-"
    mean_x, mean_y = (sum(point[axis] for point in points) / len(points) for axis in (0, 1))
    slope = sum((x - mean_x) * (y - mean_y) for x, y in points) / sum((x - mean_x) ** 2 for x, _ in points)
    (x0, y0), (x1, y1) = list(pairwise(points))[-1]
    return f"{slope:.2f} (last step {(y1 - y0) / (x1 - x0):.2f})"


def _line(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _device(gibibytes: int, count: int) -> Device:
    return Device.model_validate(
        {
            "name": "gpu",
            "driver": DRIVER,
            "deviceClassName": DRIVER,
            "count": count,
            "attributes": {"ecc": {"bool": True}},
            "capacity": {"memory": {"value": f"{gibibytes}Gi"}},
        }
    )


if __name__ == "__main__":
    main()
