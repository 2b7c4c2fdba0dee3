"""How long one decision takes, and how many selectors it runs: `python -m benchmarks.schedule`.

Prints a line for the size in question and one for a tenth of the clusters, so that growth can be read off. Nothing is
asserted: seconds belong to the machine they were measured on.
"""

import sys
import time

from api import ModelDeployment
from api.base import API_VERSION
from api.classes import Device
from scheduler import Cluster, PlacedReplica, Plan, Pool, Snapshot, schedule

MEMORY = 'device.capacity["gpu.nvidia.com"].memory.compareTo(quantity("{}Gi")) >= 0'
SIZES = {"l4": ("23034Mi", 1), "l40s": ("46068Mi", 4), "a100": ("40960Mi", 8), "h100": ("81559Mi", 8)}


def a_cluster(number: int) -> Cluster:
    """Make a cluster of four pools; each has its own copy of the device facts, as clusters read from outputs have."""
    pools = tuple(
        Pool(name=name, nodes=1 + number % 3, devices=(_device(memory, count),))
        for name, (memory, count) in SIZES.items()
    )
    address = f"10.{number // 250}.{number % 250}.1"
    return Cluster(name=f"cluster-{number:04}", ready=True, gateway_address=address, pools=pools)


def a_deployment(number: int, replicas: int) -> ModelDeployment:
    """Make a deployment of one engine with three selectors; every other one only fits the last pool."""
    selectors = [
        {"cel": 'device.driver == "gpu.nvidia.com"'},
        {"cel": 'device.attributes["gpu.nvidia.com"].ecc'},
        {"cel": MEMORY.format(70 if number % 2 else 20)},
    ]
    member = {
        "nodeSelector": {"devices": [{"name": "gpu", "selectors": selectors}]},
        "template": {"spec": {"containers": [{"name": "engine", "image": "registry.example/engine:1"}]}},
    }
    return ModelDeployment.parse(
        {
            "apiVersion": API_VERSION,
            "kind": "ModelDeployment",
            "metadata": {"name": f"model-{number:04}", "namespace": "ml-team"},
            "spec": {
                "replicas": replicas,
                "template": {"spec": {"engines": [{"name": "main", "members": [member]}]}},
            },
        }
    )


def a_snapshot(clusters: int, deployments: int, replicas: int) -> Snapshot:
    """Make a fleet in which nothing is placed yet."""
    return Snapshot(
        clusters=tuple(a_cluster(number) for number in range(clusters)),
        deployments=tuple(a_deployment(number, replicas) for number in range(deployments)),
    )


def placed(snapshot: Snapshot, plan: Plan) -> Snapshot:
    """Make the snapshot that follows a plan which was carried out."""
    replicas = tuple(
        PlacedReplica(key=each.key, name=each.name, engines=each.engines)
        for deployment in plan.deployments.values()
        for each in deployment.placements
    )
    return Snapshot(clusters=snapshot.clusters, deployments=snapshot.deployments, replicas=replicas)


def main(clusters: int = 200, deployments: int = 10, replicas: int = 10) -> None:
    """Print seconds, replicas placed and selectors run, first for nothing placed and then for nothing changed."""
    print("clusters  deployments  replicas  case       seconds  placed  evaluations")  # noqa: T201  # its one output
    for count in (max(1, clusters // 10), clusters):
        fresh = a_snapshot(count, deployments, replicas)
        plan = _timed("new", count, deployments, replicas, fresh)
        _timed("unchanged", count, deployments, replicas, placed(fresh, plan))


def _timed(case: str, clusters: int, deployments: int, replicas: int, snapshot: Snapshot) -> Plan:
    began = time.perf_counter()
    plan = schedule(snapshot)
    seconds = time.perf_counter() - began
    count = sum(len(each.placements) for each in plan.deployments.values())
    sizes = f"{clusters:8}  {deployments:11}  {replicas:8}"
    print(f"{sizes}  {case:9}  {seconds:7.3f}  {count:6}  {plan.evaluations:11}")  # noqa: T201  # its one output
    return plan


def _device(memory: str, count: int) -> Device:
    return Device.model_validate(
        {
            "name": "gpu",
            "driver": "gpu.nvidia.com",
            "deviceClassName": "gpu.nvidia.com",
            "count": count,
            "attributes": {"ecc": {"bool": True}},
            "capacity": {"memory": {"value": memory}},
        }
    )


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
