"""The part of a cluster's program that makes it on a cloud, and what of it is exported.

Every output that an update may leave unresolved stands by itself, so that a pool the cloud cannot give leaves the
others known (`programs.outputs`).
"""

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pulumi
from pulumi import Output, ResourceOptions
from pydantic import TypeAdapter

from api.clusters import InferenceCluster, NodePool
from api.documents import FleetDocuments
from api.recipes import Provisioning
from components import clouds
from components.cloud_tokens import search_path
from components.clouds.site import CloudPool, made_of, site_of
from components.inference_cluster import InferenceCluster as Component
from components.inference_cluster import InferenceClusterArgs
from programs.context import Context
from programs.outputs import ClusterOutputs, PoolFacts

_RECIPE: TypeAdapter[Any] = TypeAdapter(Provisioning)
_IN_PLACE = {"className", "nodeCount", "minNodeCount", "maxNodeCount"}
_OF_POOLS = {"pools", "kubeconfig"}
_DECLARED = {"version", "cluster", "inputs", "stack"}
"""Outputs that need no cluster: without them nobody could tell what an update did not finish."""


def recipe_of(documents: FleetDocuments, pool: NodePool) -> dict[str, Any] | None:
    """How a pool on a cloud is made, as plain data; None for one that was handed over."""
    provisioning = documents.classes[pool.class_name].spec.provisioning
    if provisioning is None:
        return None
    return {"pool": pool.plain(), "provisioning": provisioning.plain()}


def register(
    context: Context, cluster: InferenceCluster, declared: ClusterOutputs, last: ClusterOutputs | None
) -> Component:
    """Register the cluster on its cloud, with the pools of its document and those that are still in use.

    Raises:
        MissingCloudSdk: the cloud's SDK is not installed.

    """
    source = cluster.spec.cluster.source
    clouds.prepare([source])
    os.environ["PATH"] = search_path(os.environ.get("PATH", ""))
    pools = [_pool(facts.recipe) for facts in declared.pools if facts.recipe]
    sizes = resized(declared.pools, last.pools if last else ())
    site = site_of(context.documents, cluster, context.mirrors, pools, sizes, is_offline=context.offline)
    account = clouds.cloud(source).provider(f"{cluster.name}-cloud", site)
    return Component(f"cluster-{cluster.name}", InferenceClusterArgs(site=site), ResourceOptions(providers=[account]))


def has_other_nodes(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> bool:
    """Whether a pool is to have nodes that those of before cannot become: all but their number, and a class's name.

    Clouds replace nodes for another machine, disk or network, most of them without asking who runs there.
    """
    return before is not None and after is not None and _nodes_of(before) != _nodes_of(after)


def _nodes_of(recipe: Mapping[str, Any]) -> tuple[Any, ...]:
    pool = {key: value for key, value in recipe["pool"].items() if key not in _IN_PLACE}
    return pool, recipe["provisioning"]


def resized(declared: Iterable[PoolFacts], last: Iterable[PoolFacts]) -> dict[str, int]:
    """Nodes that there are of pools whose bounds are not those that their cloud was last told, or did not take."""
    before = {pool.name: pool for pool in last}
    known = ((pool, before[pool.name]) for pool in declared if pool.name in before)
    return {
        pool.name: old.nodes.present
        for pool, old in known
        if old.nodes.present is not None and (old.provisioned is not True or _bounds(pool) != _bounds(old))
    }


def _bounds(pool: PoolFacts) -> tuple[Any, ...]:
    document = (pool.recipe or {}).get("pool", {})
    return tuple(document.get(field) for field in ("nodeCount", "minNodeCount", "maxNodeCount"))


def export(component: Component, outputs: ClusterOutputs | Output[ClusterOutputs], declared: ClusterOutputs) -> None:
    """Export the outputs of a cluster; those that only its API server can tell are known once it answers."""
    # Asked with a secret kubeconfig, and yet no secrets: who may not see those is to see how the cluster is.
    found = Output.unsecret(Output.from_input(outputs))
    names = sorted({field.alias or name for name, field in ClusterOutputs.model_fields.items()} - _OF_POOLS)
    told = {name: value for name, value in declared.plain().items() if name in _DECLARED}
    for name in names:
        pulumi.export(name, told[name] if name in told else _part(found, _field(name)))
    pulumi.export("pools", [_pool_outputs(component, found, index, pool) for index, pool in enumerate(declared.pools)])
    pulumi.export("kubeconfig", component.kubeconfig)
    if component.identity is not None:
        pulumi.export("identity", component.identity)


def _pool_outputs(
    component: Component, found: Output[ClusterOutputs], index: int, declared: PoolFacts
) -> dict[str, Any]:
    plain = declared.plain()
    nodes = {**plain["nodes"], "present": _part(found, lambda outputs: outputs["pools"][index]["nodes"].get("present"))}
    observed = _part(found, lambda outputs: outputs["pools"][index].get("observed", []))
    return {**plain, "nodes": nodes, "observed": observed, "provisioned": component.pools.get(declared.name, True)}


def _field(name: str) -> Callable[[Mapping[str, Any]], Any]:
    return lambda outputs: outputs.get(name)


def _part(found: Output[ClusterOutputs], pick: Callable[[Mapping[str, Any]], Any]) -> Output[Any]:
    return found.apply(lambda outputs: pick(outputs.plain()))


def _pool(recipe: Mapping[str, Any]) -> CloudPool:
    return made_of(NodePool.model_validate(recipe["pool"]), _RECIPE.validate_python(recipe["provisioning"]))
