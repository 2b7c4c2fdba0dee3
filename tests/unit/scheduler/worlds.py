"""Snapshots for tests of the scheduler, in the short notation of its worked examples.

`alpha0` is the replica of index 0 on cluster alpha, `alpha0@l4` the same with all its members on pool l4. Devices and
deployments come from `builders`.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import builders

from api import ModelDeployment
from api.classes import Device
from api.names import replica_name
from api.terms import ClaimRequest, Taint
from scheduler import (
    CacheFootprint,
    Capabilities,
    Cluster,
    DeploymentPlan,
    PlacedEngine,
    PlacedMember,
    PlacedReplica,
    Pool,
    ReplicaKey,
    Snapshot,
    schedule,
)

MEMORY = 'device.capacity["gpu.nvidia.com"].memory'
AT_LEAST_20 = f'{MEMORY}.compareTo(quantity("20Gi")) >= 0'
AT_LEAST_40 = f'{MEMORY}.compareTo(quantity("40Gi")) >= 0'
AT_LEAST_79 = f'{MEMORY}.compareTo(quantity("79Gi")) >= 0'
BELOW_30 = f'{MEMORY}.compareTo(quantity("30Gi")) < 0'
IS_NIC = 'device.driver == "nic.example.com"'


def device(name: str = "gpu", **fields: Any) -> Device:
    return Device.model_validate(builders.a_device(name, **fields))


L4 = device(count=1, memory="23034Mi")
L40S = device(count=1, memory="46068Mi")
H100 = device(count=8, memory="81559Mi")
NIC_DRA = device("nic", count=1, driver="nic.example.com", deviceClassName="nic.example.com", capacity={})
NIC_SYNTHETIC = device("nic", count=1, claim="Synthetic", driver="nic.example.com", capacity={})


def pool(name: str = "l4", nodes: int = 1, *devices: Device, leaving: bool = False) -> Pool:
    return Pool(name=name, nodes=nodes, devices=devices or (L4,), leaving=leaving)


def cluster(
    name: str,
    *pools: Pool | int,
    labels: Mapping[str, str] | None = None,
    taints: Iterable[str] = (),
    capabilities: Capabilities | None = None,
    **fields: Any,
) -> Cluster:
    """A ready cluster. A number stands for a pool l4 of that many nodes, a taint is written `key[=value]:effect`."""
    given: dict[str, Any] = {"ready": True, "gateway_address": f"10.0.0.{ord(name[0])}"} | fields
    return Cluster(
        name=name,
        labels=labels or {},
        taints=tuple(taint(text) for text in taints),
        capabilities=capabilities or Capabilities(),
        pools=tuple(pool(nodes=each) if isinstance(each, int) else each for each in pools),
        **given,
    )


def taint(text: str) -> Taint:
    head, _, effect = text.partition(":")
    key, _, value = head.partition("=")
    return Taint.model_validate({"key": key, "value": value, "effect": effect})


def deployment(
    replicas: int, name: str = "d", *, cel: str = AT_LEAST_20, namespace: str = "ml-team", **fields: Any
) -> ModelDeployment:
    """One Standalone engine with a request for one GPU of at least 20Gi, unless `engines` are given."""
    requests = [builders.a_request(count=1, cel=cel)]
    engines = [builders.an_engine(members=[builders.a_member(requests=requests)])]
    return builders.a_deployment(name, namespace=namespace, replicas=replicas, **{"engines": engines} | fields)


def gang(copies: int, *members: Any) -> dict[str, Any]:
    return builders.an_engine(members=members, copies=copies)


def member(role: str, count: int = 1, cel: str = AT_LEAST_20, nodes: int | None = None) -> dict[str, Any]:
    """A member that asks for `count` GPUs; for nothing if that is 0."""
    return builders.a_member(role, requests=[builders.a_request(count=count, cel=cel)] if count else [], nodes=nodes)


def placed(
    document: ModelDeployment,
    place: str,
    facts: Sequence[Device] = (L4,),
    *,
    name: str | None = None,
    applied: bool = True,
    nodes: int | None = None,
    claims: bool = True,
) -> PlacedReplica:
    """A replica of a deployment as it would be in the ledger; every request is claimed unless `claims` is false."""
    where, _, pool_name = place.partition("@")
    cluster_name, index = re.fullmatch(r"(.*?)([0-9]+)", where).groups()  # type: ignore[union-attr]  # the notation
    engines = tuple(
        PlacedEngine(
            name=engine.name,
            copies=engine.copies,
            phase=engine.phase,
            members=tuple(
                PlacedMember(
                    role=each.role,
                    pool=pool_name or "l4",
                    nodes=nodes or each.nodes,
                    requests=tuple(
                        ClaimRequest(
                            name=request.name,
                            device_class_name="gpu.nvidia.com",
                            count=request.count,
                            selectors=request.selectors,
                        )
                        for request in (each.node_selector.devices if each.node_selector and claims else ())
                    ),
                    facts=tuple(facts),
                )
                for each in engine.members
            ),
        )
        for engine in document.spec.template.spec.engines
    )
    key = ReplicaKey(namespace=document.namespace, deployment=document.name, cluster=cluster_name, index=int(index))
    own_name = name or replica_name(document.name, cluster_name, int(index))
    return PlacedReplica(key=key, name=own_name, engines=engines, applied=applied)


def snapshot(
    clusters: Iterable[Cluster],
    *deployments: ModelDeployment,
    replicas: Iterable[PlacedReplica] = (),
    retiring: Iterable[PlacedReplica] = (),
    caches: Mapping[tuple[str, str], CacheFootprint] | None = None,
) -> Snapshot:
    return Snapshot(
        clusters=tuple(clusters),
        deployments=deployments,
        replicas=tuple(replicas),
        retiring=tuple(retiring),
        caches=caches or {},
    )


def decide(
    clusters: Iterable[Cluster],
    document: ModelDeployment,
    *others: ModelDeployment,
    replicas: Iterable[PlacedReplica] = (),
    retiring: Iterable[PlacedReplica] = (),
    caches: Mapping[tuple[str, str], CacheFootprint] | None = None,
) -> DeploymentPlan:
    """The plan of the first deployment."""
    view = snapshot(clusters, document, *others, replicas=replicas, retiring=retiring, caches=caches)
    return schedule(view).deployments[document.namespace, document.name]


def identity(key: ReplicaKey) -> str:
    return f"{key.cluster}{key.index}"


def places(plan: DeploymentPlan) -> list[str]:
    """Where the replicas are, in the short notation without pools."""
    return [identity(placement.key) for placement in plan.placements]


def pools_of(plan: DeploymentPlan) -> dict[str, list[str]]:
    """The pool of every member, by replica."""
    return {
        identity(placement.key): [each.pool for engine in placement.engines for each in engine.members]
        for placement in plan.placements
    }


def drops(plan: DeploymentPlan) -> dict[str, str]:
    """The reason of every drop, by replica."""
    return {identity(dropped.replica.key): str(dropped.reason) for dropped in plan.dropped}


def reasons(plan: DeploymentPlan) -> dict[str, list[str]]:
    """The codes of every verdict, by cluster."""
    return {verdict.cluster: [str(reason.code) for reason in verdict.reasons] for verdict in plan.verdicts}


def active(plan: DeploymentPlan, *, applied: bool = True) -> list[PlacedReplica]:
    """The placements of a plan as the replicas of the next snapshot."""
    return [
        PlacedReplica(key=each.key, name=each.name, engines=each.engines, applied=applied) for each in plan.placements
    ]
