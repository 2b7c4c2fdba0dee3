"""What cannot change once it is deployed: IC-V9, IC-N11, MC-N3, MC-N4, MR-N1, and MR-N2 beside them.

Documents alone cannot tell; these functions compare them with what was deployed before, as plain values, so that a
preview, `up` and `validate --against-state` say the same.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from api.base import Fault, Kind, Path
from api.caches import ModelCache
from api.clusters import InferenceCluster
from api.documents import FleetDocuments, Key, identity
from api.errors import Problem
from api.fleets import ControlPlane, control_plane_for
from api.problems import field_path
from api.replicas import ModelReplica
from api.rules import RULES


@dataclass(frozen=True, kw_only=True)
class DeployedCluster:
    """What a cluster was made with. What is empty was not recorded, and is not compared."""

    source: str
    stack: str
    region: str = ""
    credentials: str = ""
    control_plane: str = ""


@dataclass(frozen=True, kw_only=True)
class DeployedCache:
    """What a cache was staged from, and the size of its volumes in GiB."""

    source: str
    repo: str
    size_gib: int


@dataclass(frozen=True, kw_only=True)
class Deployed:
    """What stands, as the last run of each stack left it: clusters by name, the others by namespace and name."""

    clusters: Mapping[str, DeployedCluster] = field(default_factory=dict)
    caches: Mapping[Key, DeployedCache] = field(default_factory=dict)
    replicas: Mapping[Key, ModelReplica] = field(default_factory=dict)
    pools: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Pools that each cluster shows, also those that left the documents and are still in use."""


def check_against(documents: FleetDocuments, deployed: Deployed) -> Iterator[Problem]:
    """Find every change of documents that what is deployed does not allow."""
    for name, cluster in sorted(documents.clusters.items()):
        if name in deployed.clusters:
            made_by = control_plane_for(documents.fleet, name)
            yield from _problems(documents, cluster, cluster_changes(cluster, deployed.clusters[name], made_by))
    for key, cache in sorted(documents.caches.items()):
        if key in deployed.caches:
            yield from _problems(documents, cache, cache_changes(cache, deployed.caches[key]))


def cluster_changes(
    cluster: InferenceCluster, before: DeployedCluster, control_plane: ControlPlane = "Resources"
) -> Iterator[Fault]:
    """IC-V9 and IC-N11; `control_plane` is what is to make it by the Fleet, `spec.clusters.<name>.controlPlane`."""
    hint = "put the old value back, or make a new cluster under another name and drain this one"
    spec = cluster.spec
    if spec.stack != before.stack:
        yield _changed("IC-V9", ("spec", "stack"), (before.stack, spec.stack), hint)
    if spec.cluster.source != before.source:
        yield _changed("IC-N11", ("spec", "cluster", "source"), (before.source, spec.cluster.source), hint)
        return
    block = ("spec", "cluster", spec.cluster.source.lower())
    region = "location" if spec.cluster.source == "AKS" else "region"
    if before.region and spec.cluster.region != before.region:
        yield _changed("IC-N11", (*block, region), (before.region, spec.cluster.region), hint)
    if before.credentials and spec.cluster.credentials != before.credentials:
        values = (before.credentials, spec.cluster.credentials)
        yield _changed("IC-N11", (*block, "credentials", "name"), values, hint)
    if before.control_plane and control_plane != before.control_plane:
        message = f"what makes its control plane cannot be changed from {before.control_plane} to {control_plane}"
        hint = f"put spec.clusters.{cluster.name}.controlPlane of the Fleet back"
        yield Fault("IC-N11", block, message, hint)


def cache_changes(cache: ModelCache, before: DeployedCache) -> Iterator[Fault]:
    """MC-N3 and MC-N4; another revision is staged in place of the old one."""
    hint = "put the old value back, or stage another ModelCache under another name and refer to that"
    if cache.spec.source != before.source:
        yield _changed("MC-N3", ("spec", "source"), (before.source, cache.spec.source), hint)
    origin = cache.spec.hugging_face
    if origin is not None and origin.repo != before.repo:
        yield _changed("MC-N3", ("spec", "huggingFace", "repo"), (before.repo, origin.repo), hint)
    if origin is not None and origin.size_gib < before.size_gib:
        message = f"a volume of {before.size_gib} GiB cannot shrink to {origin.size_gib}"
        hint = f"keep {before.size_gib} or more, or stage another ModelCache with a smaller volume"
        yield Fault("MC-N4", ("spec", "huggingFace", "sizeGiB"), message, hint)


def replica_faults(replica: ModelReplica, deployed: Deployed) -> Iterator[Fault]:
    """What a replica of a ledger may not be: moved (MR-N1), or on a pool that its cluster does not have (MR-N2)."""
    before = deployed.replicas.get((replica.namespace, replica.name))
    cluster = replica.spec.cluster_name
    if before is not None and before.spec.cluster_name != cluster:
        hint = "a replica never moves; place a new one, and let this one retire"
        yield _changed("MR-N1", ("spec", "clusterName"), (before.spec.cluster_name, cluster), hint)
    pools = deployed.pools.get(cluster)
    if pools is None:
        return
    for e, engine in enumerate(replica.spec.engines):
        for m, member in enumerate(engine.members):
            if member.node_pool_name not in pools:
                at: Path = ("spec", "engines", e, "members", m, "nodePoolName")
                message = f"cluster {cluster} has no pool {member.node_pool_name}"
                hint = f"its pools are {', '.join(sorted(pools))}" if pools else "it has no pools"
                yield Fault("MR-N2", at, message, hint)


def _changed(rule: str, at: Path, values: tuple[str, str], hint: str) -> Fault:
    old, new = values
    return Fault(rule, at, f"cannot be changed from {old} to {new or 'nothing'}", hint)


def _problems(documents: FleetDocuments, document: Kind, faults: Iterable[Fault]) -> Iterator[Problem]:
    place = documents.places.get(identity(document))
    for fault in faults:
        yield Problem(
            code=RULES[fault.rule].code,
            message=fault.message,
            file=str(place.file) if place else "",
            line=place.line(fault.at) if place else 0,
            subject=document.subject,
            path=field_path(fault.at),
            hint=fault.hint,
            rule=fault.rule,
        )
