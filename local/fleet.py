"""Brings a local fleet up, says what of it lives, and takes it down.

Every step asks first what is there, so `up` starts what is missing and nothing else, whatever died or was interrupted
before. Clusters start side by side. What was started is remembered at once.
"""

import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from http.client import HTTPException
from pathlib import Path
from threading import Event, Lock

from api.errors import Cancelled, LocalFleetError
from local import clusters, network, objects, processes, stages, traffic
from local import state as remembered
from local.clusters import COMPONENTS, Site
from local.kube import ApiServer, Refused
from local.plan import HUB, LocalCluster, LocalPlan, Ranges, give_out_indexes, home
from local.state import TRAFFIC, ClusterState, Part, State
from local.toolbox import Toolbox, find

START_SECONDS = 180.0
"""How long one `up` waits for everything together, unless told otherwise."""

STAND_INS = Path(__file__).parent / "charts"
"""Charts of our own under the names of ones that no tool brings."""

_POLL_SECONDS = 0.1
_MOST_RESTARTS = 2
_PARALLEL = 3

Progress = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class PartStatus:
    """One part as it is now; `state` is `running` or `dead`, `log` the file it writes to."""

    cluster: str
    part: str
    state: str
    pid: int
    address: str
    log: str


def up(plan: LocalPlan, *, progress: Progress, wait: float = START_SECONDS) -> tuple[PartStatus, ...]:
    """Start what is missing of the fleet and return all of it once it answers.

    Clusters that left the documents are kept running, without changes to what is on them, until `down`. Raises
    LocalFleetError naming the part that did not start (MP505), did not answer within `wait` seconds (MP506) or needs a
    port that is in use (MP504), a namespace that cannot be made (MP503), a folder that was moved here (MP508); and
    MissingTool, LockHeld, Cancelled.
    """
    if sys.platform != "linux":
        hint = "use a Linux machine or container; everything but `modelplane local` runs here as well"
        raise LocalFleetError("a local fleet needs Linux and its network namespaces", code="MP516", hint=hint)
    folder = home(plan.directory)
    if clusters.UNUSABLE & set(str(folder)):
        hint = "give the folder a name without commas and quotation marks"
        raise LocalFleetError("KWOK cannot use this path", where=str(folder), code="MP517", hint=hint)
    toolbox = find()
    for warning in plan.warnings:
        progress(f"warning: {warning}")
    with remembered.locked(folder):
        try:
            return _Start(plan, folder, toolbox, progress, time.monotonic() + wait).run()
        except KeyboardInterrupt as error:
            hint = "`modelplane local up` goes on from here, `modelplane local down` ends what runs"
            raise Cancelled("stopped while the local fleet was starting", hint=hint) from error


def exists(directory: Path) -> bool:
    """Whether there is anything of a local fleet: its folder, or a process."""
    folder = home(directory)
    return folder.exists() or bool(processes.marked(folder))


def status(directory: Path) -> tuple[PartStatus, ...]:
    """Every part that was started, in a fixed order; empty when nothing is up.

    Raises LocalFleetError for a folder that cannot be used (MP502) or was moved (MP508).
    """
    folder = home(directory)
    state = remembered.load(folder)
    if state is None:
        return ()
    _check_folder(state, folder)
    return _statuses(state)


def down(
    directory: Path, *, held: Mapping[str, int], discard_state: bool = False, progress: Progress = lambda _: None
) -> bool:
    """End every process of the fleet and remove its folder; False when there was nothing.

    `held` says how many resources each stack of the fleet still has on these clusters. Raises LocalFleetError (MP509)
    while there are any, unless `discard_state` says that the caller lets go of them.
    """
    folder = home(directory)
    leftovers = processes.marked(folder)
    if not folder.exists() and not leftovers:
        return False
    if any(held.values()) and not discard_state:
        stacks = ", ".join(f"{stack} ({count})" for stack, count in sorted(held.items()) if count)
        hint = "`modelplane destroy` first, or `modelplane local down --discard-state` to forget them with the clusters"
        raise LocalFleetError(f"stacks still hold resources: {stacks}", where="local down", code="MP509", hint=hint)
    with remembered.locked(folder):
        ending = leftovers | _recorded(folder)
        progress(f"ending {len(ending)} processes")
        processes.end(sorted(ending), grace=2.0)
        # Helpers whose parent has just ended, and what started in between.
        processes.end(sorted(processes.marked(folder)), grace=2.0)
        shutil.rmtree(folder)
    with suppress(OSError):
        folder.parent.rmdir()
    return True


class _Start:
    """One run of `up`."""

    def __init__(self, plan: LocalPlan, folder: Path, toolbox: Toolbox, progress: Progress, deadline: float) -> None:
        self._plan = plan
        self._folder = folder
        self._toolbox = toolbox
        self._progress = progress
        self._deadline = deadline
        self._state = remembered.load(folder) or remembered.fresh(folder)
        self._saving = Lock()
        self._cancelled = Event()
        _check_folder(self._state, folder)

    def run(self) -> tuple[PartStatus, ...]:
        _end_orphans(self._state, self._folder)
        endpoint = (self._plan.host, self._plan.port)
        traffic.check_endpoint(self._state, endpoint)
        (self._folder / "logs").mkdir(mode=0o700, exist_ok=True)
        for charts in (self._toolbox.charts, STAND_INS):
            shutil.copytree(charts, self._folder / "charts", dirs_exist_ok=True)
        self._give_out()
        traffic.ensure_namespace(self._folder, self._state, self._save, self._progress)
        sites = {name: self._site(name) for name in sorted(self._state.clusters, key=lambda name: (name != HUB, name))}
        self._ensure_clusters(sites)
        for program in traffic.programs(self._folder, list(sites.values()), self._toolbox, endpoint):
            traffic.ensure(program, self._folder, self._state, self._save, self._deadline, self._progress)
        for _ in range(_MOST_RESTARTS):
            if all(part.state == "running" for part in _statuses(self._state) if part.part in COMPONENTS):
                break
            # On a busy machine a controller may give up on its API server before that is ready.
            self._ensure_clusters(sites)
        statuses = _statuses(self._state)
        for part in statuses:
            if part.state != "running":
                text = f"it ended again; the last lines of {part.log}:\n{processes.tail(Path(part.log))}"
                where = f"{part.cluster}/{part.part}"
                raise LocalFleetError(text, where=where, code="MP505", hint="`modelplane local up` tries again")
        return statuses

    def _give_out(self) -> None:
        """Give numbers and ports to clusters that are new."""
        known = {name: cluster.index for name, cluster in self._state.clusters.items()}
        indexes = give_out_indexes(known, tuple(cluster.name for cluster in self._plan.everything))
        for name, index in indexes.items():
            if name not in self._state.clusters:
                taken = {port for cluster in self._state.clusters.values() for port in cluster.ports.values()}
                chosen = network.choose_ports(len(clusters.PORTS), taken | {self._plan.port})
                ports = dict(zip(clusters.PORTS, chosen, strict=True))
                self._state.clusters[name] = ClusterState(index=index, ports=ports)
        self._save()

    def _site(self, name: str) -> Site:
        cluster = self._state.clusters[name]
        return Site(home=self._folder, name=name, ranges=Ranges(index=cluster.index), ports=cluster.ports)

    def _ensure_clusters(self, sites: Mapping[str, Site]) -> None:
        wanted = {cluster.name: cluster for cluster in self._plan.everything}
        with ThreadPoolExecutor(_PARALLEL) as pool:
            futures = [pool.submit(self._ensure_cluster, site, wanted.get(name)) for name, site in sites.items()]
            try:
                for future in futures:
                    future.result()
            except BaseException:
                self._cancelled.set()
                pool.shutdown(cancel_futures=True)
                raise

    def _ensure_cluster(self, site: Site, cluster: LocalCluster | None) -> None:
        began = time.monotonic()
        state = self._state.clusters[site.name]
        running = self._start(site, state)
        with ApiServer(site.name, site.api_port, site.pki) as server:
            self._wait_until_ready(server, site)
            try:
                if cluster:
                    self._furnish(server, site, cluster)
            except (Refused, HTTPException, OSError) as error:
                hint = "`modelplane local up` tries again"
                message = f"the API server does not take what belongs on the cluster: {error}"
                raise LocalFleetError(message, where=site.name, code="MP515", hint=hint) from error
        missing = [name for name in COMPONENTS if name not in running]
        if missing:
            nodes = sum(pool.nodes for pool in cluster.pools) if cluster else 0
            what = f"{nodes} GPU node{'' if nodes == 1 else 's'}, " if nodes else ""
            seconds = time.monotonic() - began
            self._progress(f"{site.name}: {what}API server at 127.0.0.1:{site.api_port} ({seconds:.1f} s)")

    def _start(self, site: Site, state: ClusterState) -> set[str]:
        """Bring up the processes of a cluster; returns those that ran before."""
        running = clusters.components(site) if state.created else {}
        if len(running) != len(COMPONENTS):
            missing = ", ".join(component for component in COMPONENTS if component not in running)
            again = " again" if state.created else ""
            self._progress(f"{site.name}: starting{again} {missing}")
            if state.created:
                clusters.restart(site, self._toolbox, self._deadline, self._cancelled)
            else:
                self._create(site)
                state.created = True
        (self._folder / site.name / "kubeconfig").touch(mode=0o600)
        (self._folder / site.name / "kubeconfig").write_text(clusters.kubeconfig(site))
        with self._saving:
            for component, identity in clusters.components(site).items():
                self._state.parts[f"{site.name}/{component}"] = Part(
                    pid=identity.pid,
                    started=identity.started,
                    address=f"127.0.0.1:{site.ports[COMPONENTS[component]]}",
                    log=str(site.log(component)),
                )
        self._save()
        return set(running)

    def _create(self, site: Site) -> None:
        """Make a cluster from nothing, whatever an interrupted attempt left behind."""
        processes.end(list(clusters.components(site).values()), grace=0)
        shutil.rmtree(site.folder, ignore_errors=True)
        (self._folder / site.name).mkdir(mode=0o700, exist_ok=True)
        clusters.create(site, self._toolbox, self._deadline, self._cancelled)

    def _wait_until_ready(self, server: ApiServer, site: Site) -> None:
        while not server.is_ready():
            if self._cancelled.is_set():
                return
            if time.monotonic() > self._deadline:
                log = site.log("kube-apiserver")
                text = f"the API server is not ready; the last lines of {log}:\n{processes.tail(log)}"
                raise LocalFleetError(text, where=site.name, code="MP506", hint="give it longer with --wait")
            time.sleep(_POLL_SECONDS)

    def _furnish(self, server: ApiServer, site: Site, cluster: LocalCluster) -> None:
        """Bring what is on the cluster to what the documents say."""
        state = self._state.clusters[site.name]
        if site.name == HUB:
            self._define(server, state)
        wanted = [*stages.stages(site.ranges), *objects.documents(cluster)]
        before = server.made("Node", objects.PRUNED["Node"])
        for document in wanted:
            server.apply(document, self._deadline)
        for kind, api_version in objects.PRUNED.items():
            keep = {document["metadata"]["name"] for document in wanted if document["kind"] == kind}
            gone = server.prune(kind, api_version, keep)
            if kind == "Node" and before:
                self._tell_nodes(site.name, "new", sorted(keep - before))
                self._tell_nodes(site.name, "gone", gone)

    def _tell_nodes(self, site: str, what: str, names: Sequence[str]) -> None:
        if names:
            self._progress(f"{site}: node{'' if len(names) == 1 else 's'} {what}: {', '.join(names)}")

    def _define(self, server: ApiServer, state: ClusterState) -> None:
        """Apply the definitions of Gateway API, unless that has been done; serving clusters get them with a chart."""
        definitions = self._toolbox.definitions
        digest = sha256("".join(file.read_text() for file in sorted(definitions.glob("*.yaml"))).encode()).hexdigest()
        if state.definitions != digest:
            server.apply_definitions(definitions, self._deadline)
            state.definitions = digest
            self._save()

    def _save(self) -> None:
        with self._saving:
            remembered.save(self._state, self._folder)


def _check_folder(state: State, folder: Path) -> None:
    """Refuse a folder that was copied or moved with its fleet directory: its certificates and paths are another's."""
    if state.folder != str(folder):
        message = f"this folder belongs to the local fleet that was started in {state.folder}"
        hint = "`modelplane local down` removes it here; then `modelplane local up` makes a new one"
        raise LocalFleetError(message, where=str(folder), code="MP508", hint=hint)


def _recorded(folder: Path) -> set[processes.Identity]:
    """The processes that the folder's state names, unless they belong to a folder it was copied from."""
    with suppress(LocalFleetError):
        state = remembered.load(folder)
        if state and (state.folder == str(folder) or not Path(state.folder).exists()):
            recorded = {part.identity for part in state.parts.values()}
            return recorded | processes.marked(Path(state.folder))
    return set()


def _end_orphans(state: State, folder: Path) -> None:
    """End what an interrupted command started and could not write down; children of known parts are no orphans."""
    known = {part.identity for part in state.parts.values()}
    pids = {identity.pid for identity in known}
    orphans = [found for found in processes.marked(folder) - known if processes.parent(found.pid) not in pids]
    processes.end(sorted(orphans), grace=2.0)


def _statuses(state: State) -> tuple[PartStatus, ...]:
    """Every part that there should be; one that was never started is as dead as one that ended."""
    groups: dict[str, tuple[str, ...]] = {HUB: (*COMPONENTS, "gateway")} if state.clusters else {}
    groups |= {name: tuple(COMPONENTS) for name in sorted(state.clusters) if name != HUB}
    groups[TRAFFIC] = traffic.SHARED
    nothing = Part(pid=0, started=0)
    found = [(group, name, state.parts.get(f"{group}/{name}", nothing)) for group in groups for name in groups[group]]
    return tuple(
        PartStatus(
            cluster=cluster,
            part=name,
            state="running" if part.identity.is_alive else "dead",
            pid=part.pid,
            address=part.address,
            log=part.log,
        )
        for cluster, name, part in found
    )
