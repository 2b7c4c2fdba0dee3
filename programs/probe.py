"""Asking one cluster what is there. Plain code that never raises: what cannot be read is copied from the last answer.

A probe's answer is a fact, not a decision; `unreachable_since` is set when a cluster stops answering and stays until
it answers again.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from lightkube import ApiError, Client
from lightkube.resources.apiextensions_v1 import CustomResourceDefinition
from lightkube.resources.core_v1 import Namespace, Node
from lightkube.resources.resource_v1 import ResourceSlice

from api import names
from api.base import Condition
from programs.examination import examine
from programs.findings import Wanted, conditions, unreachable
from programs.kubernetes_access import BadKubeconfig, connect
from programs.outputs import ClusterOutputs, ObservedDevices, PoolFacts

_REFUSALS = {401: "BadCredentials", 403: "RightsMissing"}


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a cluster said. `nodes` and `observed` are by pool name."""

    reachable: bool
    reason: str = ""
    kube_system_uid: str | None = None
    nodes: dict[str, int] | None = None
    observed: dict[str, tuple[ObservedDevices, ...]] | None = None
    foreign_namespaces: tuple[str, ...] = ()
    foreign_definitions: tuple[str, ...] = ()
    conditions: tuple[Condition, ...] = ()
    """What was found of its fitness, without times."""


def probe(
    kubeconfig: str,
    *,
    fleet: str,
    namespaces: Iterable[str],
    definitions: Iterable[str] = (),
    wanted: Wanted | None = None,
    pools: bool = True,
) -> Answer:
    """Ask the API server behind `kubeconfig`; `namespaces` and `definitions` are those the fleet would make there.

    With `wanted`, what the documents ask of the cluster, its fitness is looked into besides.
    """
    answer = _answer(kubeconfig, fleet, tuple(namespaces), tuple(definitions), pools=pools)
    if wanted is None:
        return answer
    if not answer.reachable:
        return replace(answer, conditions=unreachable(answer.reason, wanted))
    found = examine(kubeconfig, wanted.rules)
    return replace(answer, conditions=conditions(wanted, found, answer.nodes))


def merge(answer: Answer, last: ClusterOutputs | None, now: str) -> Callable[[ClusterOutputs], ClusterOutputs]:
    """A function that lays an answer over declared outputs; what was not answered comes from `last`."""

    def lay_over(declared: ClusterOutputs) -> ClusterOutputs:
        if not answer.reachable:
            since = last.unreachable_since if last and last.unreachable_since else now
            update = {"reachable": False, "reason": answer.reason, "unreachable_since": since}
            return as_last_seen(declared, last).model_copy(update=update)
        pools = tuple(
            _seen(pool, (answer.observed or {}).get(pool.name, ()), (answer.nodes or {}).get(pool.name, 0))
            for pool in declared.pools
        )
        return declared.model_copy(
            update={
                "pools": pools,
                "kube_system_uid": answer.kube_system_uid,
                "foreign_namespaces": answer.foreign_namespaces,
                "foreign_definitions": answer.foreign_definitions,
            }
        )

    return lay_over


def _seen(pool: PoolFacts, observed: tuple[ObservedDevices, ...], present: int | None) -> PoolFacts:
    """A declared pool with the devices its nodes publish and the number of nodes that are there."""
    nodes = pool.nodes.model_copy(update={"present": present})
    return pool.model_copy(update={"observed": observed, "nodes": nodes})


def as_last_seen(declared: ClusterOutputs, last: ClusterOutputs | None) -> ClusterOutputs:
    """Declared outputs with what the cluster showed when it was last asked; without such an answer as they are."""
    if last is None:
        return declared
    kept = {pool.name: pool for pool in last.pools}
    pools = tuple(
        _seen(pool, kept[pool.name].observed, kept[pool.name].nodes.present) if pool.name in kept else pool
        for pool in declared.pools
    )
    return declared.model_copy(
        update={
            "pools": pools,
            "reachable": last.reachable,
            "reason": last.reason,
            "unreachable_since": last.unreachable_since,
            "kube_system_uid": last.kube_system_uid,
            "foreign_namespaces": last.foreign_namespaces,
            "foreign_definitions": last.foreign_definitions,
            "conditions": last.conditions,
        }
    )


def _answer(
    kubeconfig: str, fleet: str, namespaces: tuple[str, ...], definitions: tuple[str, ...], *, pools: bool
) -> Answer:
    try:
        with connect(kubeconfig) as client:
            answer = _ask(client, fleet, namespaces, pools=pools)
            foreign = tuple(
                name for name in sorted(set(definitions)) if _is_foreign(client, CustomResourceDefinition, name, fleet)
            )
            return replace(answer, foreign_definitions=foreign)
    except BadKubeconfig as error:
        return Answer(reachable=False, reason=f"BadCredentials: {error.message}")
    except ApiError as error:
        word = _REFUSALS.get(error.status.code or 0, "Unreachable")
        return Answer(reachable=False, reason=f"{word}: {error.status.message}")
    except Exception as error:  # noqa: BLE001 - whatever keeps a cluster from answering is a fact about it, and ends no run
        return Answer(reachable=False, reason=f"Unreachable: {type(error).__name__}")


def _ask(client: Client, fleet: str, namespaces: tuple[str, ...], *, pools: bool) -> Answer:
    system = client.get(Namespace, "kube-system")
    foreign = tuple(name for name in sorted(set(namespaces)) if _is_foreign(client, Namespace, name, fleet))
    uid = system.metadata.uid if system.metadata else None
    if not pools:
        return Answer(reachable=True, kube_system_uid=uid, foreign_namespaces=foreign)
    pool_of_node = {
        node.metadata.name or "": (node.metadata.labels or {}).get(names.LABEL_POOL, "")
        for node in client.list(Node)
        if node.metadata
    }
    return Answer(
        reachable=True,
        kube_system_uid=uid,
        foreign_namespaces=foreign,
        nodes=dict(Counter(pool for pool in pool_of_node.values() if pool)),
        observed=_observed(client, pool_of_node),
    )


def _is_foreign(client: Client, kind: type[Namespace | CustomResourceDefinition], name: str, fleet: str) -> bool:
    try:
        found = client.get(kind, name)
    except ApiError as error:
        if error.status.code == 404:
            return False
        raise
    labels = (found.metadata.labels or {}) if found.metadata else {}
    return labels.get(names.LABEL_FLEET) != fleet


def _observed(client: Client, pool_of_node: dict[str, str]) -> dict[str, tuple[ObservedDevices, ...]]:
    """Devices per pool, alike ones counted: {pool: ({driver, attributes, capacity, count per node, nodes})}."""
    per_node: dict[tuple[str, str], Counter[str]] = {}
    shapes: dict[str, tuple[str, dict[str, Any], dict[str, str]]] = {}
    for piece in _slices(client):
        spec = piece.spec
        if spec is None or not spec.nodeName or spec.nodeName not in pool_of_node:
            continue
        counts = per_node.setdefault((pool_of_node[spec.nodeName], spec.nodeName), Counter())
        for device in spec.devices or []:
            attributes = {key: _value(value) for key, value in sorted((device.attributes or {}).items())}
            capacity = {key: str(_part(value, "value")) for key, value in sorted((device.capacity or {}).items())}
            shape = repr((spec.driver, attributes, capacity))
            shapes[shape] = (spec.driver, attributes, capacity)
            counts[shape] += 1
    return _by_pool(per_node, shapes)


def _slices(client: Client) -> list[ResourceSlice]:
    try:
        return list(client.list(ResourceSlice))
    except ApiError as error:
        if error.status.code == 404:
            return []  # a cluster without DRA publishes none
        raise


def _by_pool(
    per_node: dict[tuple[str, str], Counter[str]], shapes: dict[str, tuple[str, dict[str, Any], dict[str, str]]]
) -> dict[str, tuple[ObservedDevices, ...]]:
    totals: dict[tuple[str, str, int], int] = Counter()
    for (pool, _), counts in per_node.items():
        for shape, count in counts.items():
            totals[pool, shape, count] += 1
    found: dict[str, list[ObservedDevices]] = {}
    for (pool, shape, count), nodes in sorted(totals.items()):
        driver, attributes, capacity = shapes[shape]
        device = ObservedDevices(driver=driver, count=count, nodes=nodes, attributes=attributes, capacity=capacity)
        found.setdefault(pool, []).append(device)
    return {pool: tuple(devices) for pool, devices in found.items() if pool}


def _value(attribute: Any) -> Any:
    values = (_part(attribute, kind) for kind in ("string", "version", "bool", "int"))
    return next((value for value in values if value is not None), None)


def _part(value: Any, name: str) -> Any:
    """A field of a value that the client leaves as plain data inside maps, and as an object elsewhere."""
    return value.get(name) if isinstance(value, dict) else getattr(value, name, None)
