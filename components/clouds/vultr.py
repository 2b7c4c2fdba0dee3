"""Clusters on Vultr: VKE with GPU pools (reference: clouds, section 7).

Vultr brings the GPU operator, and no storage that several nodes can write: model caches never match here.
"""

import base64
from typing import Any

import ediri_vultr as vultr
from pulumi import ComponentResource, Output, ResourceOptions

from api import names
from api.recipes import VultrNodes
from components.clouds.outputs import Made
from components.clouds.site import CloudPool, CloudSite

__all__ = ["build", "provider", "touch"]

Plain = dict[str, Any]

SYSTEM_PLAN = "vc2-6c-16gb"
RETRIES = 10
"""How often a call is made again that Vultr throttles; its provider would give up after three."""


def touch() -> None:
    """Load every part of the SDK that is used; it is one flat module."""
    str(vultr.Kubernetes)


def provider(name: str, site: CloudSite) -> vultr.Provider:
    """The provider of one account; its key comes from the environment."""
    account = site.credential
    return vultr.Provider(
        name,
        retry_limit=RETRIES,
        opts=ResourceOptions(env_var_mappings={ours: name for name, ours in account.env.items()} or None),
    )


def system_pool() -> Plain:
    """The pool of everything that is no engine. It is one object, and is read when the cluster is made only."""
    return {
        "label": names.SYSTEM_POOL,
        "plan": SYSTEM_PLAN,
        "node_quantity": 1,
        "auto_scaler": True,
        "min_nodes": 1,
        "max_nodes": 2,
        "labels": {names.LABEL_POOL: names.SYSTEM_POOL},
    }


def control_plane(site: CloudSite) -> Plain:
    """The cluster itself with its system pool."""
    return {
        "label": site.cluster,
        "region": site.region,
        "version": site.version,
        "ha_controlplanes": True,
        "node_pools": system_pool(),
    }


def gpu_pool(pool: CloudPool) -> Plain:
    """One pool of GPU nodes; a pool without a ceiling keeps its size."""
    nodes = pool.nodes
    if not isinstance(nodes, VultrNodes):
        raise TypeError("the loader refuses a pool whose class is another cloud's")
    bounds = {} if pool.is_fixed else {"auto_scaler": True, "min_nodes": pool.minimum, "max_nodes": pool.maximum}
    return {
        "label": pool.name,
        "plan": nodes.plan,
        "node_quantity": pool.wanted,
        "labels": {names.LABEL_POOL: pool.name, names.LABEL_GPU: nodes.accelerator.type},
        "taints": [{"key": names.TAINT_GPU, "value": "true", "effect": "NoSchedule"}],
        **bounds,
    }


def build(parent: ComponentResource, name: str, site: CloudSite) -> Made:
    """Register every resource of the cluster below `parent`."""
    cluster = vultr.Kubernetes(
        f"{name}/cluster",
        **control_plane(site),
        opts=ResourceOptions(parent=parent, protect=site.is_protected or None, ignore_changes=["nodePools"]),
    )
    pools = {
        pool.name: vultr.KubernetesNodePools(
            f"{name}/node-pool-{pool.name}",
            cluster_id=cluster.id,
            **gpu_pool(pool),
            opts=ResourceOptions(parent=parent, ignore_changes=None if pool.is_sized_here else ["nodeQuantity"]),
        )
        for pool in site.pools
    }
    decoded = cluster.kube_config.apply(lambda found: base64.b64decode(found).decode())
    reached: Output[str] = Output.secret(decoded)
    return Made(
        kubeconfig=reached,
        storage_class=None,
        pools={pool: made.id for pool, made in pools.items()},
        resources=[cluster],
    )
