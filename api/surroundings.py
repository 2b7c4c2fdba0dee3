"""What a check between documents asks of the others, gathered once so that each answer costs little."""

from collections.abc import Callable, Collection, Sequence
from functools import cached_property

from api.base import Kind, Path
from api.classes import Device
from api.codes import Code
from api.documents import FleetDocuments, Identity
from api.errors import Problem, Severity
from api.problems import Describer
from api.rules import RULES
from api.selection import LabelIndex
from api.sources import VultrSource
from api.terms import DeviceRequest

CheckCel = Callable[[str], str | None]
"""Says what is wrong with an expression; None where it compiles."""
Fits = Callable[[tuple[DeviceRequest, ...], tuple[Device, ...]], Sequence[object] | None]
"""What a member would claim on a node with these devices; None where its requests do not fit."""
Describe = Callable[[Kind], Describer]


class Surroundings:
    """All documents of a directory, as one of them sees them.

    A reference is only checked against documents that were all read: a class in a file with a syntax error is not
    missing. `declared` holds the identities of all documents, also of invalid ones; None where some could not be told.
    """

    def __init__(
        self,
        documents: FleetDocuments,
        describe: Describe,
        declared: set[Identity] | None,
        doubled: Collection[str] = (),
    ) -> None:
        self.documents = documents
        self.is_whole = declared is not None
        self._describe = describe
        self._declared = declared or set()
        self._doubled = doubled
        self._names: dict[tuple[str, str], set[str]] = {}
        for kind, namespace, name in self._declared:
            self._names.setdefault((kind, namespace), set()).add(name)

    def names(self, kind: str, namespace: str = "") -> set[str]:
        """Names of the documents of a kind, also of invalid ones."""
        return self._names.get((kind, namespace), set())

    def is_valid(self, *kinds: str) -> bool:
        """Whether every document of these kinds could be read, so that what is not among them does not exist."""
        return self.is_whole and not any(kind in self._invalid_kinds for kind in kinds)

    def problem(
        self, document: Kind, rule: str, path: Path, message: str, hint: str, *, severity: Severity | None = None
    ) -> Problem:
        """A problem of a document under a rule; `severity` where it is less than the rule's own."""
        known = RULES[rule]
        code = Code.CAUTION if severity is not None and severity is not known.severity else known.code
        return self._describe(document).problem(code, path, message, hint, severity or known.severity, rule)

    @cached_property
    def clusters(self) -> LabelIndex:
        """Clusters by their labels."""
        return LabelIndex((name, cluster.metadata.labels) for name, cluster in self.documents.clusters.items())

    @cached_property
    def dynamo(self) -> frozenset[str]:
        """Clusters with a Dynamo stack."""
        return frozenset(name for name, cluster in self.documents.clusters.items() if cluster.spec.stack == "Dynamo")

    @cached_property
    def without_storage(self) -> frozenset[str]:
        """Clusters that no model cache can stage on: Vultr's, and those handed over that name no StorageClass."""
        found = set()
        for name, cluster in self.documents.clusters.items():
            source = cluster.spec.cluster
            if isinstance(source, VultrSource):
                found.add(name)
            elif source.existing is not None:
                cache = source.existing.cache
                if cache is None or cache.storage_class_name is None:
                    found.add(name)
        return frozenset(found)

    @cached_property
    def staging(self) -> dict[str, str]:
        """A cache for each cluster that some cache would stage on."""
        found: dict[str, str] = {}
        for cache in self.documents.caches.values():
            for name in self.clusters.selected(cache.spec.cluster_selector):
                found.setdefault(name, cache.name)
        return found

    @cached_property
    def device_lists(self) -> tuple[tuple[Device, ...], ...]:
        """The devices of each class that a pool uses."""
        pools = (pool for cluster in self.documents.clusters.values() for pool in cluster.spec.node_pools or ())
        used = dict.fromkeys(pool.class_name for pool in pools)
        classes = (self.documents.classes.get(name) for name in used)
        return tuple(found.spec.devices for found in classes if found is not None)

    @cached_property
    def _invalid_kinds(self) -> set[str]:
        valid = {(document.kind, document.namespace, document.name) for document in self.documents.all()}
        return {*self._doubled, *(identity[0] for identity in self._declared if identity not in valid)}
