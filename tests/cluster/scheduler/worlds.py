"""Pools, deployments and plans for the real scheduler, the same every time, and the pods that a plan comes to."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from builders import a_request
from unit.scheduler.worlds import (
    AT_LEAST_20,
    AT_LEAST_40,
    AT_LEAST_79,
    BELOW_30,
    cluster,
    deployment,
    gang,
    member,
)

from api import ModelDeployment, names
from api.base import Metadata
from api.classes import Device
from api.deployments import Member
from api.replicas import ModelReplica, ModelReplicaSpec, ReplicaEngine, ReplicaMember
from api.terms import Worker
from components.pod_manifests import claim_template, pod_spec
from components.setting import Setting
from local.plan import LocalPool
from scheduler import PlacedEngine, Placement, Pool, Snapshot, schedule

ROUNDS = 10


def gpu(count: int, memory: str, **fields: Any) -> Device:
    plain = {"name": "gpu", "driver": "gpu.nvidia.com", "deviceClassName": "gpu.nvidia.com", "count": count}
    return Device.model_validate(plain | {"capacity": {"memory": {"value": memory}}} | fields)


L4 = gpu(2, "23034Mi", name="l4")
L40S = gpu(4, "46068Mi", name="l40s")
H100 = gpu(8, "81559Mi", name="h100")
NIC = Device.model_validate(
    {"name": "nic", "driver": "nic.example.com", "deviceClassName": "nic.example.com", "count": 2}
)
DISK = Device.model_validate({"name": "disk", "driver": "disk.example.com", "claim": "Synthetic", "count": 1})

CONTENTS = [(L4,), (L40S,), (H100,), (L4, H100), (H100, NIC), (H100, DISK)]

L40S_ONLY = f"{AT_LEAST_40} && !({AT_LEAST_79})"

FULL_SHAPES = {
    "two of two": [gang(1, member("Standalone", 2, BELOW_30))],
    "eight of eight": [gang(1, member("Standalone", 8, AT_LEAST_79))],
    "two copies of five": [gang(2, member("Standalone", 5, AT_LEAST_40))],
    "three of four": [gang(1, member("Standalone", 3, L40S_ONLY))],
    "a gang with an idle leader": [gang(1, member("Leader", 0), member("Worker", 8, AT_LEAST_79, nodes=2))],
    "a gang": [gang(1, member("Leader", 3, L40S_ONLY), member("Worker", 4, L40S_ONLY, nodes=2))],
}
"""Every claiming pod takes more than half of what a node has, so that a node is full with one."""


def _two_requests() -> dict[str, Any]:
    devices = [
        a_request("big", count=5, cel=AT_LEAST_79),
        a_request("nic", count=1, cel='device.driver == "nic.example.com"'),
    ]
    return gang(1, {**member("Standalone"), "nodeSelector": {"devices": devices}})


PART_SHAPES = {
    "a small one": [gang(1, member("Standalone", 1, AT_LEAST_20))],
    "copies of a small one": [gang(3, member("Standalone", 1, BELOW_30))],
    "with a network card": [_two_requests()],
    "two engines": [
        gang(1, member("Standalone", 1, BELOW_30)) | {"name": "a"},
        gang(2, member("Standalone", 3, AT_LEAST_79)) | {"name": "b"},
    ],
}


@dataclass(frozen=True)
class Round:
    """One random fleet: pools on the one cluster that only this round uses, and what is wanted there."""

    number: int
    pools: tuple[Pool, ...]
    deployments: tuple[ModelDeployment, ...]

    @property
    def namespace(self) -> str:
        return f"round-{self.number}"

    @property
    def snapshot(self) -> Snapshot:
        return Snapshot(clusters=(cluster("east", *self.pools),), deployments=self.deployments)


def a_round(number: int) -> Round:
    """Random pools and deployments; those of even numbers leave no node half used."""
    dice = random.Random(number)
    contents = CONTENTS[:3] + CONTENTS[5:] if number % 2 == 0 else CONTENTS
    pools = tuple(
        Pool(name=f"r{number}-{position}", nodes=dice.randrange(2, 8), devices=dice.choice(contents))
        for position in range(3)
    )
    shapes = [
        shape
        for shape in (FULL_SHAPES if number % 2 == 0 else FULL_SHAPES | PART_SHAPES).values()
        if _has_a_place(shape, pools)
    ]
    wanted = tuple(
        deployment(dice.randrange(1, 5), name, engines=dice.choice(shapes), namespace=f"round-{number}")
        for name in ("a", "b", "c")
        if shapes
    )
    return Round(number, pools, wanted)


def _has_a_place(shape: list[dict[str, Any]], pools: tuple[Pool, ...]) -> bool:
    alone = Snapshot(clusters=(cluster("east", *pools),), deployments=(deployment(1, engines=shape),))
    return all(plan.placements for plan in schedule(alone).deployments.values())


RANDOM_ROUNDS = tuple(a_round(number) for number in range(ROUNDS))


def local_pools() -> tuple[LocalPool, ...]:
    """Nodes for all rounds."""
    return tuple(
        LocalPool(name=pool.name, nodes=pool.nodes, devices=pool.devices)
        for each in RANDOM_ROUNDS
        for pool in each.pools
    )


def objects(placement: Placement, document: ModelDeployment, *, name: str = "") -> Iterator[dict[str, Any]]:
    """The claim templates and pods of one replica, pods of gangs as their controller would make them."""
    replica = _replica(placement, document, name or placement.name)
    for engine in replica.spec.engines:
        for position, each in enumerate(engine.members):
            if each.device_requests:
                yield claim_template(Setting(replica=replica), engine, each)
            count = each.worker.nodes if each.worker else 1
            for number in range(count * engine.copies):
                spec = pod_spec(Setting(replica=replica), engine, each)
                # Nothing is to be served here, and what is not pulled needs no probe.
                spec["containers"][0].pop("readinessProbe", None)
                metadata = {"name": f"{replica.name}-{engine.name}-{position}-{number}", "namespace": replica.namespace}
                yield {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _replica(placement: Placement, document: ModelDeployment, name: str) -> ModelReplica:
    asked = {engine.name: engine for engine in document.spec.template.spec.engines}
    labels = {names.LABEL_DEPLOYMENT: placement.key.deployment}
    return ModelReplica(
        kind="ModelReplica",
        metadata=Metadata(name=name, namespace=placement.key.namespace, labels=labels),
        spec=ModelReplicaSpec(
            cluster_name=placement.key.cluster,
            engines=tuple(_engine(engine, asked[engine.name].members) for engine in placement.engines),
        ),
    )


def _engine(engine: PlacedEngine, members: tuple[Member, ...]) -> ReplicaEngine:
    return ReplicaEngine(
        name=engine.name,
        copies=engine.copies,
        phase=engine.phase,
        members=tuple(
            ReplicaMember(
                role=placed.role,
                node_pool_name=placed.pool,
                device_requests=placed.requests or None,
                worker=Worker(nodes=placed.nodes) if placed.role == "Worker" else None,
                template=asked.template,
            )
            for placed, asked in zip(engine.members, members, strict=True)
        ),
    )
