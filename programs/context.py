"""What a program is given: the documents, the stack it runs as, and a way to read other stacks."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TypeVar

import pulumi

from api import names
from api.clusters import InferenceCluster
from api.documents import FleetDocuments
from api.errors import InvalidFleet, InvocationError, ModelplaneError
from api.fleets import Fleet
from components.charts import Mirrors
from components.kubernetes_objects import OFFLINE_KUBECONFIG
from programs.engine_reader import engine_reader
from programs.outputs import Outputs
from programs.reading import StackReader, read

Model = TypeVar("Model", bound=Outputs)


def utc_now() -> str:
    """The time now as RFC 3339 in UTC, to the second: the form of condition times."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True, kw_only=True)
class Permissions:
    """What the reader has allowed for this run, beyond what documents can say."""

    deletions: frozenset[str] = frozenset()
    """Digests of refused deletions (`--allow`)."""
    delete_clusters: frozenset[str] = frozenset()
    """Clusters that left the documents and are to be drained and destroyed (`--delete-cluster`)."""
    forget: frozenset[str] = frozenset()
    """Unreachable clusters whose stacks are dropped without calling them (`--forget`)."""
    rebuild_ledger: bool = False
    """Take the ledger from what workloads stacks hold (`--rebuild-ledger`)."""

    @property
    def leaving(self) -> frozenset[str]:
        """Clusters that lose their replicas."""
        return self.delete_clusters | self.forget


def configured_permissions() -> Permissions:
    """Permissions from Pulumi config, for plain Pulumi: `modelplane:allowDeletions` and so on, comma-separated."""
    config = pulumi.Config("modelplane")

    def words(key: str) -> frozenset[str]:
        return frozenset(word for word in (config.get(key) or "").replace(",", " ").split() if word)

    return Permissions(
        deletions=words("allowDeletions"),
        delete_clusters=words("deleteClusters"),
        forget=words("forgetClusters"),
        rebuild_ledger=config.get_bool("rebuildLedger") or False,
    )


@dataclass(frozen=True, kw_only=True)
class Context:
    """One run of one program."""

    documents: FleetDocuments
    kind: str
    """Kind of stack: gateway, cluster, serving, placement, workloads or routing."""
    cluster: str | None = None
    reader: StackReader = engine_reader
    preview: bool = False
    offline: bool = False
    """The driver previews the whole fleet: no API server is called, and what cannot be known stays Unknown."""
    permissions: Permissions = Permissions()
    sick: frozenset[str] = frozenset()
    """Replicas that the driver sees not to be ready now: routing need not wait until their stack exports it."""
    now: str = field(default_factory=utc_now)

    @property
    def fleet(self) -> Fleet:
        """The Fleet document.

        Raises:
            InvocationError: the directory has none, and stacks need its name.

        """
        if self.documents.fleet is None:
            raise InvocationError(
                "a Fleet document is needed before anything can be brought up",
                where=str(self.documents.directory),
                hint="add a document of kind Fleet (modelplane.ai/v1alpha1); its name is the prefix of all stack names",
                code="MP130",
            )
        return self.documents.fleet

    @property
    def cluster_name(self) -> str:
        """The cluster this stack belongs to; only for kinds of stack that have one."""
        if self.cluster is None:
            raise InvocationError(f"a {self.kind} stack names its cluster", code="MP131")
        return self.cluster

    def cluster_document(self) -> InferenceCluster:
        """The document of the cluster this stack belongs to.

        Raises:
            InvocationError: it is not among the documents any more.

        """
        name = self.cluster_name
        found = self.documents.clusters.get(name)
        if found is None:
            raise InvocationError(
                f"cluster {name} is not in the documents any more",
                where=str(self.documents.directory),
                hint=f"put its document back, or take it out with `modelplane up --delete-cluster {name}`",
                code="MP132",
            )
        return found

    def kubeconfig(self, found: str) -> str:
        """The kubeconfig a provider is given: the cluster's own, but one that leads nowhere where none is called."""
        return OFFLINE_KUBECONFIG if self.offline else found

    @property
    def mirrors(self) -> Mirrors:
        """Where charts and images come from instead; relative folders lie below the fleet's directory."""
        spec = self.fleet.spec
        return Mirrors(charts=spec.chart_mirror, images=spec.image_mirror, base=self.documents.directory)

    def stack(self, kind: str, cluster: str | None = None) -> str:
        """Name of another stack of this fleet."""
        return names.stack_name(self.fleet.name, kind, cluster)

    def read(self, model: type[Model], kind: str, cluster: str | None = None) -> Model | None:
        """Outputs of another stack of this fleet, None when it is absent."""
        return read(self.reader, self.stack(kind, cluster), model)

    def read_all(self, model: type[Model], kind: str, clusters: Iterable[str]) -> dict[str, Model]:
        """Outputs of one kind of stack by cluster; absent stacks are left out."""
        found = {name: self.read(model, kind, name) for name in sorted(clusters)}
        return {name: outputs for name, outputs in found.items() if outputs is not None}

    def last(self, model: type[Model]) -> Model | None:
        """This stack's own outputs of its last update."""
        return read(self.reader, self.stack(self.kind, self.cluster), model)


def cleanly(look: Callable[[str], Model]) -> Callable[[str], Model]:
    """The function with its problems as one clean line each, for where it is applied to an output."""

    def guarded(value: str) -> Model:
        with edge():
            return look(value)

    return guarded


@contextmanager
def edge() -> Iterator[None]:
    """Turn a problem its reader can fix into one clean line of Pulumi's; a bug keeps its traceback."""
    try:
        yield
    except InvalidFleet as error:
        raise pulumi.RunError("\n".join(f"{problem.code}: {problem}" for problem in error.problems)) from error
    except ModelplaneError as error:
        raise pulumi.RunError(f"{error.error_code}: {error}") from error
