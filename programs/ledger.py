"""The ledger between its two readers: scheduler values on one side, exported outputs on the other. Pure functions.

Pod templates and device facts are stored once under a content hash, so that ten replicas of one deployment cost one
template; a ledger can always be turned back into whole ModelReplica documents.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from api import names
from api.base import Metadata
from api.classes import Device
from api.deployments import ModelDeployment
from api.fleets import FleetSpec
from api.pods import PodTemplate
from api.replicas import ModelReplica, ModelReplicaSpec, ReplicaEngine, ReplicaMember
from api.terms import CacheRef, Serving, Worker
from components.mirrors import mirrored_image
from programs.outputs import Ledger, LedgerCache, LedgerEngine, LedgerMember, LedgerReplica
from scheduler import PlacedEngine, PlacedMember, PlacedReplica, Placement, ReplicaKey


def content_hash(value: Any) -> str:
    """Twelve hex digits over plain data, the same for equal content whatever the order of keys."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _plain(value: Any) -> Any:
    return value.model_dump(by_alias=True, exclude_none=True, mode="json")


class LedgerBuilder:
    """Collects replicas and keeps each template and each set of facts once."""

    def __init__(self, settings: FleetSpec | None = None) -> None:
        settings = settings or FleetSpec()
        self._image_mirror = settings.image_mirror
        self._wait_for_cache = settings.caches.wait_until_ready
        self._replicas: dict[str, LedgerReplica] = {}
        self._templates: dict[str, PodTemplate] = {}
        self._facts: dict[str, tuple[Device, ...]] = {}

    def template(self, template: PodTemplate) -> str:
        """Store a template; its hash."""
        key = content_hash(_plain(template))
        self._templates[key] = template
        return key

    def facts(self, devices: Iterable[Device]) -> str:
        """Store device facts; their hash."""
        found = tuple(devices)
        key = content_hash([_plain(device) for device in found])
        self._facts[key] = found
        return key

    def entry(self, placement: Placement, deployment: ModelDeployment) -> LedgerReplica:
        """An active replica as the scheduler placed it, with the deployment's own templates; not added yet."""
        shape = deployment.spec.template.spec
        engines = {engine.name: engine for engine in shape.engines}
        metadata = deployment.spec.template.metadata
        key = placement.key
        return LedgerReplica(
            namespace=key.namespace,
            deployment=key.deployment,
            cluster=key.cluster,
            index=key.index,
            name=placement.name,
            labels={
                **(metadata.labels if metadata else {}),
                names.LABEL_DEPLOYMENT: key.deployment,
                names.LABEL_CLUSTER: key.cluster,
                names.LABEL_REPLICA_INDEX: str(key.index),
            },
            engines=tuple(
                LedgerEngine(
                    name=placed.name,
                    copies=placed.copies,
                    phase=placed.phase,
                    members=tuple(
                        self._member(member, self._mirrored(engines[placed.name].members[position].template))
                        for position, member in enumerate(placed.members)
                    ),
                )
                for placed in placement.engines
            ),
            model_cache_ref=shape.model_cache_ref.name if shape.model_cache_ref else None,
            serving_mode=shape.serving.mode if shape.serving else "Unified",
            waits_for=tuple(replica_key(waited) for waited in placement.waits_for),
            starts_early=self._starts_early(deployment) or None,
        )

    def _starts_early(self, deployment: ModelDeployment) -> bool:
        said = deployment.metadata.annotations.get(names.ANNOTATION_WAIT_FOR_CACHE)
        return said == "false" if said in ("true", "false") else not self._wait_for_cache

    def _mirrored(self, template: PodTemplate) -> PodTemplate:
        """The template with its image from the fleet's mirror. It is part of the ledger, so a change of it rolls."""
        engine = template.spec.engine
        image = mirrored_image(engine.image, self._image_mirror)
        container = engine.model_copy(update={"image": image})
        return template.model_copy(update={"spec": template.spec.model_copy(update={"containers": (container,)})})

    def add(self, entry: LedgerReplica) -> None:
        """Add an entry whose templates and facts are stored already."""
        self._replicas[entry.key] = entry

    def keep(self, entry: LedgerReplica, source: Ledger) -> None:
        """Add an entry of an earlier ledger, with the templates and facts it names."""
        for engine in entry.engines:
            for member in engine.members:
                self._templates[member.template] = source.templates[member.template]
                self._facts[member.facts] = source.facts[member.facts]
        self.add(entry)

    def build(self) -> Ledger:
        """The finished ledger, in a stable order."""
        replicas = sorted(
            self._replicas.values(), key=lambda entry: (entry.namespace, entry.deployment, entry.cluster, entry.index)
        )
        members = [member for entry in replicas for engine in entry.engines for member in engine.members]
        return Ledger(
            replicas=tuple(replicas),
            templates={key: self._templates[key] for key in sorted({member.template for member in members})},
            facts={key: self._facts[key] for key in sorted({member.facts for member in members})},
        )

    def _member(self, member: PlacedMember, template: PodTemplate) -> LedgerMember:
        return LedgerMember(
            role=member.role,
            node_pool_name=member.pool,
            nodes=member.nodes,
            device_requests=member.requests,
            template=self.template(template),
            facts=self.facts(member.facts),
        )


def replica_key(key: ReplicaKey) -> str:
    """`<namespace>/<replica name>` of a scheduler key."""
    return f"{key.namespace}/{names.replica_name(key.deployment, key.cluster, key.index)}"


def replica_identity(entry: LedgerReplica) -> ReplicaKey:
    """The scheduler's key of a ledger entry."""
    return ReplicaKey(namespace=entry.namespace, deployment=entry.deployment, cluster=entry.cluster, index=entry.index)


def placed(entry: LedgerReplica, ledger: Ledger, *, applied: bool) -> PlacedReplica:
    """A ledger entry as the scheduler takes it."""
    return PlacedReplica(
        key=replica_identity(entry),
        name=entry.name,
        applied=applied,
        engines=tuple(
            PlacedEngine(
                name=engine.name,
                copies=engine.copies,
                phase=engine.phase,
                members=tuple(
                    PlacedMember(
                        role=member.role,
                        pool=member.node_pool_name,
                        nodes=member.nodes,
                        requests=member.device_requests,
                        facts=ledger.facts.get(member.facts, ()),
                    )
                    for member in engine.members
                ),
            )
            for engine in entry.engines
        ),
    )


def document(entry: LedgerReplica, ledger: Ledger) -> ModelReplica:
    """The whole ModelReplica document of a ledger entry."""
    return ModelReplica(
        kind="ModelReplica",
        metadata=Metadata(name=entry.name, namespace=entry.namespace, labels=dict(entry.labels)),
        spec=ModelReplicaSpec(
            cluster_name=entry.cluster,
            model_cache_ref=CacheRef(name=entry.model_cache_ref) if entry.model_cache_ref else None,
            serving=Serving(mode=entry.serving_mode),
            engines=tuple(
                ReplicaEngine(
                    name=engine.name,
                    copies=engine.copies,
                    phase=engine.phase,
                    members=tuple(_document_member(member, ledger.templates) for member in engine.members),
                )
                for engine in entry.engines
            ),
        ),
    )


def _document_member(member: LedgerMember, templates: Mapping[str, PodTemplate]) -> ReplicaMember:
    return ReplicaMember(
        role=member.role,
        node_pool_name=member.node_pool_name,
        device_requests=member.device_requests or None,
        worker=Worker(nodes=member.nodes) if member.role == "Worker" else None,
        template=templates[member.template],
    )


def part_of(ledger: Ledger, entries: Iterable[LedgerReplica], caches: Iterable[LedgerCache] = ()) -> Ledger:
    """The ledger of some of its entries and caches, with the templates and facts they name."""
    builder = LedgerBuilder()
    for entry in entries:
        builder.keep(entry, ledger)
    return builder.build().model_copy(update={"caches": tuple(caches)})


def merged(ledgers: Iterable[Ledger]) -> Ledger:
    """One ledger out of several that share no replica; a cache is on every cluster that one of them names."""
    builder = LedgerBuilder()
    caches: dict[str, LedgerCache] = {}
    for ledger in ledgers:
        for entry in ledger.replicas:
            builder.keep(entry, ledger)
        for cache in ledger.caches:
            clusters = {*cache.clusters, *(caches[cache.key].clusters if cache.key in caches else ())}
            caches[cache.key] = cache.model_copy(update={"clusters": tuple(sorted(clusters))})
    return builder.build().model_copy(update={"caches": tuple(caches[key] for key in sorted(caches))})


def template_hash(entry: LedgerReplica) -> str:
    """One hash over everything of a replica that its pods show: a change of it is a roll."""
    shown = [
        engine.model_dump(by_alias=True, exclude_none=True, mode="json", exclude={"members": {"__all__": {"facts"}}})
        for engine in entry.engines
    ]
    return content_hash([shown, entry.model_cache_ref, entry.serving_mode])
