"""The documents of a fleet directory as one frozen value, with the place each of them came from."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from api.base import Kind
from api.base import Path as FieldPath
from api.caches import ModelCache
from api.classes import InferenceClass
from api.clusters import InferenceCluster
from api.config_maps import ConfigMap
from api.deployments import ModelDeployment
from api.errors import Problem
from api.fleets import Fleet, Secret
from api.providers import ProviderConfig
from api.reading import RawDocument
from api.routing import InferenceGateway, ModelEndpoint, ModelService

Key = tuple[str, str]
"""Namespace and name."""
Identity = tuple[str, str, str]
"""Kind, namespace and name of a document; nothing else in a directory may have the same."""


@dataclass(frozen=True, kw_only=True)
class FleetDocuments:
    """Valid documents by kind: cluster-scoped ones by name, the others by namespace and name."""

    directory: Path
    fleet: Fleet | None = None
    gateway: InferenceGateway | None = None
    classes: Mapping[str, InferenceClass] = field(default_factory=dict)
    clusters: Mapping[str, InferenceCluster] = field(default_factory=dict)
    deployments: Mapping[Key, ModelDeployment] = field(default_factory=dict)
    caches: Mapping[Key, ModelCache] = field(default_factory=dict)
    services: Mapping[Key, ModelService] = field(default_factory=dict)
    endpoints: Mapping[Key, ModelEndpoint] = field(default_factory=dict)
    config_maps: Mapping[Key, ConfigMap] = field(default_factory=dict)
    secrets: Mapping[Key, Secret] = field(default_factory=dict)
    provider_configs: Mapping[Key, ProviderConfig] = field(default_factory=dict)
    """By cloud and name."""
    warnings: tuple[Problem, ...] = ()
    places: Mapping[Identity, RawDocument] = field(default_factory=dict, repr=False, compare=False)

    def all(self) -> Iterator[Kind]:
        """Every document, those of one kind together and in order of their names."""
        yield from (kind for kind in (self.fleet, self.gateway) if kind is not None)
        by_name: tuple[Mapping[str, Kind], ...] = (self.classes, self.clusters)
        by_key: tuple[Mapping[Key, Kind], ...] = (
            self.deployments,
            self.caches,
            self.services,
            self.endpoints,
            self.config_maps,
            self.secrets,
            self.provider_configs,
        )
        for named in by_name:
            yield from (named[name] for name in sorted(named))
        for keyed in by_key:
            yield from (keyed[key] for key in sorted(keyed))

    def where(self, document: Kind, path: FieldPath = ()) -> str:
        """`file:line` of a document, or of a field of it; empty for one that was not read from a file."""
        place = self.places.get(identity(document))
        return f"{place.file}:{place.line(path)}" if place else ""

    def file(self, document: Kind) -> Path | None:
        """The file a document was read from; None for one that was not."""
        place = self.places.get(identity(document))
        return place.file if place else None

    def digest(self) -> str:
        """SHA-256 over the content of all documents, the same wherever and in whichever order they are written.

        Values of Secret documents count, what `Fleet.spec.secrets` points at does not.
        """
        whole = hashlib.sha256()
        for document in self.all():
            text = json.dumps(document.plain(), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
            whole.update(text.encode() + b"\n")
            if isinstance(document, Secret):
                for key, value in sorted(document.values().items()):
                    whole.update(hashlib.sha256(key.encode() + b"\0" + value).digest())
        return whole.hexdigest()


def identity(document: Kind) -> Identity:
    """What makes two documents the same; provider configurations of different clouds may share a name."""
    if isinstance(document, ProviderConfig):
        return (document.kind, document.cloud, document.name)
    return (document.kind, document.namespace, document.name)
