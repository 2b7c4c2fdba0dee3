"""A preview of the whole fleet: every stack in order, each on what the ones before it are planned to export.

No API server is called and nothing is written. First the infrastructure; then the rounds of a pass as pure plans; then
each stack once, against its own state, with what the rounds came to. So placement, workloads and routing show where an
update would end, withdrawals and deletions included, before anything is applied.
"""

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any

from api.documents import FleetDocuments
from api.errors import ModelplaneError
from api.names import StackName
from programs.context import Context, Permissions
from programs.outputs import ClusterOutputs, PlacementOutputs, RoutingOutputs, ServingOutputs, WorkloadsOutputs
from programs.planned import Captured, PlannedOutputs
from programs.reading import StackReader, read
from stacks.costs import costs_of
from stacks.emptied import emptied
from stacks.operation import Operation
from stacks.plan import fleet_stacks
from stacks.preview_engine import PreviewEngine
from stacks.preview_report import PreviewReport, Side
from stacks.preview_rounds import Rounds, Settled
from stacks.removal import TEARDOWN, held, left_documents

OnOperation = Callable[[Operation], None]

WITHOUT_OBJECTS = frozenset({"placement"})


@dataclass(frozen=True, kw_only=True)
class PreviewOptions:
    """How a fleet is previewed; `permissions` are those that the update would be given."""

    parallel: int = 3
    refresh: bool = False
    """Look at live objects first, with the kubeconfigs of the state: this calls API servers."""
    permissions: Permissions = field(default_factory=Permissions)
    expect_no_changes: bool = False


class Preview:
    """One preview of one fleet."""

    def __init__(
        self, documents: FleetDocuments, engine: PreviewEngine, options: PreviewOptions, on_operation: OnOperation
    ) -> None:
        if documents.fleet is None:
            raise AssertionError("a preview is made of a fleet that has its Fleet document")
        self._documents = documents
        self._fleet = documents.fleet.name
        self._engine = engine
        self._options = options
        self._on_operation = on_operation
        self._own = {stack for stack in engine.existing if stack.fleet == self._fleet}
        forgotten = {stack for stack in self._own if stack.cluster in options.permissions.forget}
        self._last = LastOutputs(engine, {str(stack) for stack in self._own - forgotten}, self._fleet)
        self._planned = PlannedOutputs(self._last.read)
        self._context = Context(
            documents=documents,
            kind="placement",
            reader=self._planned.read,
            preview=True,
            offline=True,
            permissions=options.permissions,
        )
        self._left = left_documents(self._fleet, self._own - forgotten, documents.clusters)
        self._forgotten = sorted(forgotten, key=str)
        self._done: dict[StackName, Operation] = {}
        self._lock = Lock()

    def run(self) -> PreviewReport:
        """Preview every stack of the fleet."""
        self._last.fetch(self._options.parallel)
        for stack in self._forgotten:
            self._record(Operation(stack=stack, action="forget"))
        working = self._infrastructure()
        settled = Rounds(self._context, self._planned).run({*working, *self._left})
        for stack, error in settled.errors.items():
            self._record(Operation(stack=stack, action="preview", error=error))
        if not settled.refused:
            self._decided(settled)
            self._emptied(settled)
            self._removed()
        return self._report(settled)

    def _infrastructure(self) -> list[str]:
        """Gateway and clusters side by side, each cluster's serving stack behind it; the clusters that went well."""
        names = sorted(self._documents.clusters)
        with ThreadPoolExecutor(self._options.parallel) as pool:
            gateway = pool.submit(self._preview, StackName(self._fleet, "gateway"))
            went_well = list(pool.map(self._cluster, names))
            gateway.result()
        return [name for name, well in zip(names, went_well, strict=True) if well]

    def _cluster(self, name: str) -> bool:
        serving = StackName(self._fleet, "serving", name)
        well = self._preview(StackName(self._fleet, "cluster", name)).ok
        outputs = self._read(ClusterOutputs, StackName(self._fleet, "cluster", name)) if well else None
        served = outputs is not None and outputs.reachable and self._preview(serving).ok
        if not served and serving not in self._own:
            # It is not to be taken for a cluster that will be there: nothing is placed on it.
            self._planned.plan(str(serving), ServingOutputs(cluster=name, ready=False).plain())
        return well

    def _decided(self, settled: Settled) -> None:
        """Each stack that decides, once, against its own state."""
        self._preview(StackName(self._fleet, "placement"))
        leaving = self._options.permissions.delete_clusters
        workloads = [StackName(self._fleet, "workloads", name) for name in settled.clusters if name not in leaving]
        with ThreadPoolExecutor(self._options.parallel) as pool:
            list(pool.map(self._preview, [stack for stack in workloads if stack not in settled.errors]))
        routing = StackName(self._fleet, "routing")
        if routing not in settled.errors:
            self._preview(routing)

    def _emptied(self, settled: Settled) -> None:
        """Clusters whose pools go, or are made anew, once replicas have left them: as they are to be after that."""
        for name in settled.clusters:
            document = self._documents.clusters.get(name)
            outputs = self._read(ClusterOutputs, StackName(self._fleet, "cluster", name))
            if document is None or outputs is None:
                continue
            workloads = self._planned_workloads(name)
            if emptied(outputs, {pool.name for pool in document.spec.node_pools or ()}, workloads):
                self._preview(StackName(self._fleet, "cluster", name))

    def _planned_workloads(self, name: str) -> WorkloadsOutputs | None:
        try:
            return read(self._planned.read, str(StackName(self._fleet, "workloads", name)), WorkloadsOutputs)
        except ModelplaneError:
            return None  # told with the stacks that cannot be read

    def _removed(self) -> None:
        """The stacks of clusters that are to be deleted, once they are drained."""
        ledger = self._side(self._planned.read).placement.ledger
        for cluster in self._left:
            drained = not any(entry.cluster == cluster for entry in ledger.replicas)
            if cluster in self._options.permissions.delete_clusters and drained:
                stacks = [StackName(self._fleet, kind, cluster) for kind in TEARDOWN]
                for stack in self._own.intersection(stacks):
                    self._record(self._engine.preview_destroy(stack))

    def _preview(self, stack: StackName) -> Operation:
        def take(captured: Captured) -> None:
            self._planned.plan(str(stack), captured.outputs)

        context = replace(self._context, kind=stack.kind, cluster=stack.cluster)
        refresh = self._options.refresh and stack.kind not in WITHOUT_OBJECTS
        operation = self._engine.preview(stack, context, take, refresh=refresh)
        self._record(operation)
        return operation

    def _record(self, operation: Operation) -> None:
        with self._lock:
            self._done[operation.stack] = operation
            self._on_operation(operation)

    def _read(
        self, model: type[ClusterOutputs], stack: StackName, reader: StackReader | None = None
    ) -> ClusterOutputs | None:
        try:
            return read(reader or self._planned.read, str(stack), model)
        except ModelplaneError:
            return None  # told with the stacks that cannot be read

    def _last_clusters(self) -> dict[str, ClusterOutputs]:
        stacks = [stack for stack in self._own if stack.kind == "cluster" and stack.cluster]
        read = {stack.cluster or "": self._read(ClusterOutputs, stack, self._last.read) for stack in stacks}
        return {name: outputs for name, outputs in read.items() if outputs is not None}

    def _side(self, reader: StackReader) -> Side:
        placement = routing = None
        try:
            placement = read(reader, str(StackName(self._fleet, "placement")), PlacementOutputs)
            routing = read(reader, str(StackName(self._fleet, "routing")), RoutingOutputs)
        except ModelplaneError:
            pass  # told with the stacks that cannot be read
        return Side(placement=placement or PlacementOutputs(), routing=routing or RoutingOutputs())

    def _report(self, settled: Settled) -> PreviewReport:
        clusters = sorted({*self._documents.clusters, *self._left, *self._options.permissions.forget})
        after = self._side(self._planned.read)
        outputs = {name: self._read(ClusterOutputs, StackName(self._fleet, "cluster", name)) for name in clusters}
        found = {name: each for name, each in outputs.items() if each is not None}
        gone = {*self._options.permissions.delete_clusters, *self._options.permissions.forget}
        kept = [name for name in self._left if name not in self._options.permissions.delete_clusters]
        replicas = [entry.cluster for entry in after.placement.ledger.replicas]
        return PreviewReport(
            operations=[self._done[stack] for stack in fleet_stacks(self._fleet, clusters) if stack in self._done],
            before=self._side(self._last.read),
            after=after,
            retired=settled.retired,
            clusters=found,
            costs=costs_of(self._last_clusters(), {name: each for name, each in found.items() if name not in gone}),
            failures=[*self._last.unreadable, *(held(name, replicas.count(name)) for name in kept)],
            expect_no_changes=self._options.expect_no_changes,
        )


class LastOutputs:
    """Outputs of the last update, each stack read once; one that cannot be read raises whenever it is asked for."""

    def __init__(self, engine: PreviewEngine, own: Iterable[str], fleet: str) -> None:
        self._engine = engine
        self._own = set(own)
        self._prefix = f"{fleet}."
        self._known: dict[str, Mapping[str, Any] | ModelplaneError | None] = {}

    @property
    def unreadable(self) -> list[ModelplaneError]:
        """Why stacks of the fleet cannot be read."""
        return [found for found in self._known.values() if isinstance(found, ModelplaneError)]

    def fetch(self, parallel: int) -> None:
        """Read the fleet's own stacks side by side."""
        with ThreadPoolExecutor(parallel) as pool:
            list(pool.map(self._fetch, sorted(self._own)))

    def read(self, stack: str) -> Mapping[str, Any] | None:
        """Outputs of one stack; of the fleet's own, those that do not exist are not asked for.

        Raises:
            UnreadableStack: they exist and cannot be read.

        """
        if stack.startswith(self._prefix) and stack not in self._own:
            return None
        if stack not in self._known:
            self._fetch(stack)
        found = self._known[stack]
        if isinstance(found, ModelplaneError):
            raise found
        return found

    def _fetch(self, stack: str) -> None:
        try:
            self._known[stack] = self._engine.outputs(stack)
        except ModelplaneError as error:
            self._known[stack] = error
