"""What every stack is asked to do now, as digests of documents, values of Secrets and outputs read.

Pure. A digest that stays the same stands for a run that would change nothing, so no engine is started for it. What a
program only reports (conditions, nodes counted, devices published) is no part of another stack's digest.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from api import names
from api.base import Kind
from api.documents import FleetDocuments, Key
from api.names import StackName
from programs.carried import Named, named_by
from programs.context import Permissions
from programs.ledger import content_hash
from programs.outputs import (
    UNKNOWN,
    ClusterOutputs,
    GatewayOutputs,
    PlacementOutputs,
    RoutingOutputs,
    ServingOutputs,
    WorkloadsOutputs,
)
from programs.routing_plan import silent_clusters
from stacks.intent import Intents
from stacks.loop.agenda import Asked
from stacks.loop.sight import HUB, Sight, astray_replicas, astray_routes, sick
from stacks.view import View

VERSION = 1
"""Goes into every digest: raised when programs change what they make of the same inputs."""


@dataclass(frozen=True, kw_only=True)
class World:
    """Everything that digests are made of."""

    documents: FleetDocuments
    view: View
    sights: Mapping[str, Sight] = field(default_factory=dict)
    """By cluster; the hub's under HUB."""
    values: Mapping[Key, str] = field(default_factory=dict)
    """Digests of the values of Secrets."""
    permissions: Permissions = field(default_factory=Permissions)
    now: str = ""
    """The time, RFC 3339: only for clusters that do not answer."""
    edited: str = ""
    """The digest of the documents, where it is known already."""


def asked(world: World) -> dict[StackName, Asked]:
    """Every stack that can be brought up now, with what it is asked to do."""
    made = Digests(world)
    return {stack: made.of(stack) for stack in stacks(world)}


def one(world: World, stack: StackName) -> Asked:
    """What one stack, which can be brought up, is asked to do."""
    return Digests(world).of(stack)


def stacks(world: World) -> list[StackName]:
    """Stacks whose inputs are there; what reads an absent one is not among them."""
    fleet, view = _fleet(world), world.view
    clusters = view.by_cluster(ClusterOutputs, "cluster")
    serving = view.by_cluster(ServingOutputs, "serving")
    answering = [name for name, outputs in clusters.items() if outputs.reachable]
    found = [StackName(fleet, "gateway"), StackName(fleet, "placement")]
    found += [StackName(fleet, "cluster", name) for name in sorted(world.documents.clusters)]
    found += [StackName(fleet, "serving", name) for name in answering if name in world.documents.clusters]
    if view.get(PlacementOutputs, "placement") is not None:
        found += [StackName(fleet, "workloads", name) for name in answering if name in serving]
        found += [StackName(fleet, "routing")] if view.get(GatewayOutputs, "gateway") else []
    return found


def endpoints(world: World) -> frozenset[str]:
    """Endpoints that routing would list now."""
    return frozenset(endpoint.key for endpoint in intents(world).routing().endpoints)


def leaving(world: World) -> dict[StackName, frozenset[str]]:
    """Replicas that a run of each workloads stack would take away now."""
    made, found = intents(world), {}
    for name, last in world.view.by_cluster(WorkloadsOutputs, "workloads").items():
        rendered = {entry.key for entry in made.rendering(name).replicas}
        found[StackName(_fleet(world), "workloads", name)] = frozenset(last.replicas) - rendered
    return found


def intents(world: World) -> Intents:
    """What programs would do in this world."""
    spec = world.documents.fleet.spec if world.documents.fleet else None
    seconds = spec.unreachable.withdraw_after_seconds if spec else None
    clusters = world.view.by_cluster(ClusterOutputs, "cluster")
    silent = silent_clusters(clusters, seconds, world.now) if world.now else frozenset()
    made = Intents(world.documents, world.view, world.permissions, silent)
    found = [
        sick(made.rendering(name).replicas, outputs, world.sights[name])
        for name, outputs in clusters.items()
        if name in world.sights and world.sights[name].is_unwell
    ]
    made.sick = frozenset().union(*found)
    return made


class Digests:
    """What stacks of one world are asked to do."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._documents = world.documents
        self._view = world.view
        self._intents = intents(world)
        self._edited = world.edited or world.documents.digest()
        self._settings = [VERSION, _plain(world.documents.fleet)]
        documents = world.documents
        keys = (*documents.deployments, *documents.caches, *documents.services, *documents.endpoints)
        self._namespaces = sorted({namespace for namespace, _ in keys})

    def of(self, stack: StackName) -> Asked:
        """What one stack, which can be brought up, is asked to do."""
        parts = {
            "gateway": self._gateway,
            "cluster": self._cluster,
            "serving": self._serving,
            "placement": self._placement,
            "workloads": self._workloads,
            "routing": self._routing,
        }[stack.kind](stack.cluster or HUB)
        digest = content_hash([parts, self._intents.digest(stack)])
        return Asked(digest=digest, edited=self._edited, astray=self._astray(stack))

    def _astray(self, stack: StackName) -> frozenset[str]:
        if stack.kind == "routing":
            return astray_routes(self._view.get(RoutingOutputs, "routing"), self._world.sights.get(HUB))
        if stack.kind != "workloads" or stack.cluster is None:
            return frozenset()
        return astray_replicas(
            self._intents.rendering(stack.cluster).replicas,
            self._view.get(WorkloadsOutputs, "workloads", stack.cluster),
            self._view.get(ClusterOutputs, "cluster", stack.cluster),
            self._world.sights.get(stack.cluster),
        )

    def _gateway(self, _: str) -> Any:
        reference = self._documents.fleet.spec.gateway.kubeconfig_secret_ref if self._documents.fleet else None
        value = self._value(f"{names.SYSTEM_NAMESPACE}/{reference.name}") if reference else ""
        return [self._settings, _plain(self._documents.gateway), value, self._namespaces, self._at(HUB)]

    def _cluster(self, name: str) -> Any:
        document = self._documents.clusters[name]
        workloads = self._view.get(WorkloadsOutputs, "workloads", name)
        classes = {pool.class_name for pool in document.spec.node_pools or ()}
        declared = {pool.name for pool in document.spec.node_pools or ()}
        outputs = self._view.get(ClusterOutputs, "cluster", name)
        replacing = {pool.name for pool in outputs.pools if pool.replacing} if outputs else set()
        existing = document.spec.cluster.existing
        return [
            self._settings,
            _plain(document),
            [_plain(self._documents.classes.get(each)) for each in sorted(classes)],
            [_plain(each) for _, each in sorted(self._documents.provider_configs.items())],
            self._value(f"{names.SYSTEM_NAMESPACE}/{existing.secret_ref.name}") if existing else "",
            self._namespaces,
            sorted(set(workloads.pools) - (declared - replacing)) if workloads else [],
            self._at(name),
        ]

    def _serving(self, name: str) -> Any:
        return [self._settings, _plain(self._documents.clusters[name]), _access(self._view, name)]

    def _placement(self, _: str) -> Any:
        return VERSION

    def _workloads(self, name: str) -> Any:
        serving = self._view.get(ServingOutputs, "serving", name)
        placement = self._view.get(PlacementOutputs, "placement")
        rendered = self._intents.rendering(name).replicas
        ledger = placement.ledger if placement else None
        carried = {named for entry in rendered for named, _ in named_by(entry, ledger)} if ledger else set()
        return [
            self._settings[:1],
            _access(self._view, name),
            serving.capabilities.plain() if serving else None,
            [[*named, self._carried(named)] for named in sorted(carried)],
        ]

    def _routing(self, _: str) -> Any:
        gateway = self._view.get(GatewayOutputs, "gateway")
        known = [gateway.address, content_hash(gateway.kubeconfig), list(gateway.foreign_namespaces)] if gateway else []
        return [VERSION, [str(each) for each in known]]

    def _at(self, cluster: str) -> bool:
        """Whether the cluster answers; one that was not looked at yet is taken at its word."""
        sight = self._world.sights.get(cluster)
        return sight is None or sight.answers is not False

    def _carried(self, named: Named) -> Any:
        if named.kind == "Secret":
            return self._value(named.key)
        namespace, _, name = named.key.partition("/")
        return _plain(self._documents.config_maps.get((namespace, name)))

    def _value(self, key: str) -> str:
        namespace, _, name = key.partition("/")
        return self._world.values.get((namespace, name), "")


def _access(view: View, name: str) -> Any:
    """What stacks of a cluster take from its cluster stack; its kubeconfig as a digest."""
    cluster = view.get(ClusterOutputs, "cluster", name)
    if cluster is None:
        return None
    kept = cluster.model_dump(include={"inputs", "foreign_namespaces", "foreign_definitions", "storage_class", "stack"})
    fabrics = sorted(pool.name for pool in cluster.pools if pool.fabric)
    return [{key: str(value) for key, value in kept.items()}, fabrics, content_hash(cluster.kubeconfig)]


def _plain(document: Kind | None) -> Any:
    return document.plain() if document else None


def _fleet(world: World) -> str:
    if world.documents.fleet is None:
        raise AssertionError("the loop is given documents that have their Fleet")
    return world.documents.fleet.name


def is_unfinished(stack: StackName, view: View) -> bool:
    """Whether a stack that was brought up without an error has not come to what others wait for."""
    if stack.kind == "gateway":
        gateway = view.get(GatewayOutputs, "gateway")
        return gateway is None or gateway.ready is not True
    serving = view.get(ServingOutputs, "serving", stack.cluster) if stack.kind == "serving" else None
    return serving is not None and (serving.ready is not True or serving.gateway_address in {None, UNKNOWN})


def in_rotation(view: View) -> frozenset[str]:
    """Endpoints that routing lists."""
    routing = view.get(RoutingOutputs, "routing")
    return frozenset(routing.endpoints) if routing else frozenset()
