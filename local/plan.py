"""What a local fleet consists of, as a pure function of the fleet's documents.

Only clusters of source Existing are simulated; the clouds' clusters of a fleet are left out. Addresses follow from a
small number per cluster that is given out once and remembered (`state`), so that adding a cluster moves no other.
"""

import ipaddress
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from api.classes import Device, InferenceClass
from api.clusters import InferenceCluster
from api.documents import FleetDocuments
from api.errors import LocalFleetError
from api.fleets import Fleet

HUB = "hub"
"""The name of the hub's part of the local fleet; no cluster can have it."""

DEFAULT_ADDRESS = "127.0.0.1:8080"
"""Where the hub answers when the Fleet names no `gateway.address`."""

LOCAL_RANGE = "10.64.0.0/10"
"""Every address of it is local inside the private network namespace, and nowhere else."""

MOST_CLUSTERS = 31
"""Two /16 ranges a cluster, the hub included, fit into the local range besides the gateways'."""


@dataclass(frozen=True, kw_only=True)
class Ranges:
    """The addresses of one cluster; `index` is 0 for the hub."""

    index: int

    @property
    def gateway(self) -> str:
        """Where the cluster's gateway listens, in the private network namespace."""
        return f"10.64.{self.index}.1"

    @property
    def node(self) -> str:
        """The address every simulated node reports; nothing listens there."""
        return f"10.64.{self.index}.2"

    @property
    def pod_prefix(self) -> str:
        """The first two numbers of all pod addresses."""
        return f"10.{65 + 2 * self.index}"

    @property
    def pods(self) -> str:
        """The range of pod addresses."""
        return f"{self.pod_prefix}.0.0/16"

    @property
    def services(self) -> str:
        """The range of ClusterIPs."""
        return f"10.{66 + 2 * self.index}.0.0/16"


@dataclass(frozen=True, kw_only=True)
class LocalPool:
    """One pool of equal nodes with the devices of its class."""

    name: str
    nodes: int
    accelerator: str = ""
    devices: tuple[Device, ...] = ()


@dataclass(frozen=True, kw_only=True)
class LocalCluster:
    """One cluster to simulate; the hub has no pools."""

    name: str
    kubeconfig: Path
    pools: tuple[LocalPool, ...] = ()


@dataclass(frozen=True, kw_only=True)
class LocalPlan:
    """All of a local fleet: its hub, its clusters in the order of their names, and where the hub answers."""

    directory: Path
    hub: LocalCluster
    clusters: tuple[LocalCluster, ...]
    host: str
    port: int
    warnings: tuple[str, ...] = ()

    @property
    def url(self) -> str:
        """Where clients reach the hub."""
        return f"http://[{self.host}]:{self.port}" if ":" in self.host else f"http://{self.host}:{self.port}"

    @property
    def everything(self) -> tuple[LocalCluster, ...]:
        """The hub and the clusters."""
        return (self.hub, *self.clusters)


def home(directory: Path) -> Path:
    """The one folder that a local fleet writes to."""
    return directory.resolve() / ".modelplane" / "local"


def fleet_directory(home: Path) -> Path:
    """The fleet that a local fleet's folder belongs to."""
    return home.parent.parent


def make_plan(documents: FleetDocuments) -> LocalPlan:
    """The local fleet for a fleet's documents.

    Raises LocalFleetError where the documents describe something that cannot be simulated: MP510 for a cluster called
    like the hub, MP511 for too many clusters, MP512 for a `gateway.address` that is not this machine's loopback, MP513
    for a pool whose class is missing.
    """
    existing = [
        cluster for _, cluster in sorted(documents.clusters.items()) if cluster.spec.cluster.source == "Existing"
    ]
    if any(cluster.name == HUB for cluster in existing):
        message = f"a cluster called {HUB!r} cannot be simulated, the name is the hub's"
        raise LocalFleetError(message, code="MP510", hint="give the InferenceCluster another name")
    if len(existing) >= MOST_CLUSTERS:
        message = f"{len(existing)} clusters and a hub do not fit into {LOCAL_RANGE}"
        raise LocalFleetError(message, code="MP511", hint=f"simulate at most {MOST_CLUSTERS - 1} clusters")
    gateway = documents.fleet.spec.gateway if documents.fleet else None
    host, port = _endpoint((gateway.address if gateway else None) or DEFAULT_ADDRESS)
    directory = documents.directory.resolve()
    hub = LocalCluster(name=HUB, kubeconfig=home(directory) / HUB / "kubeconfig")
    clusters = tuple(_cluster(directory, cluster, documents.classes) for cluster in existing)
    return LocalPlan(
        directory=directory,
        hub=hub,
        clusters=clusters,
        host=host,
        port=port,
        warnings=tuple(_misplaced(documents, hub, tuple(zip(existing, clusters, strict=True)))),
    )


def give_out_indexes(names: Mapping[str, int], wanted: tuple[str, ...]) -> dict[str, int]:
    """Numbers for the clusters `wanted`: those they already have in `names`, else the lowest free; the hub's is 0.

    Raises LocalFleetError (MP511) when none is free, because clusters that left the documents keep theirs.
    """
    given = {HUB: 0, **names}
    for name in wanted:
        if name in given:
            continue
        free = set(range(MOST_CLUSTERS)) - set(given.values())
        if not free:
            message = f"{LOCAL_RANGE} has no addresses left for cluster {name}"
            raise LocalFleetError(message, code="MP511", hint="`modelplane local down` frees those of former clusters")
        given[name] = min(free)
    return given


def _endpoint(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":") if ":" in address.rsplit("]", 1)[-1] else (address, "", "80")
    host = host.strip("[]")
    try:
        number = ipaddress.ip_address("127.0.0.1" if host == "localhost" else host)
        if number.is_loopback and 0 < int(port) < 65536:
            return str(number), int(port)
    except ValueError:
        pass
    message = (
        f"spec.gateway.address: the hub of a local fleet cannot answer on {address}, it is not this machine's loopback"
    )
    raise LocalFleetError(
        message, where="Fleet", code="MP512", hint=f"write a loopback address, as in {DEFAULT_ADDRESS}"
    )


def _cluster(directory: Path, cluster: InferenceCluster, classes: Mapping[str, InferenceClass]) -> LocalCluster:
    pools = []
    for pool in cluster.spec.node_pools or ():
        known = classes.get(pool.class_name)
        if known is None:
            message = f"pool {pool.name} names the InferenceClass {pool.class_name}, which is not there"
            raise LocalFleetError(
                message, where=cluster.subject, code="MP513", hint="add the class, its devices are needed"
            )
        provisioning = known.spec.provisioning
        accelerator = provisioning.block.accelerator.type if provisioning else ""
        pools.append(
            LocalPool(name=pool.name, nodes=pool.node_count, accelerator=accelerator, devices=known.spec.devices)
        )
    kubeconfig = home(directory) / cluster.name / "kubeconfig"
    return LocalCluster(name=cluster.name, kubeconfig=kubeconfig, pools=tuple(pools))


def _misplaced(
    documents: FleetDocuments, hub: LocalCluster, clusters: tuple[tuple[InferenceCluster, LocalCluster], ...]
) -> Iterator[str]:
    """A sentence for each kubeconfig that the Fleet reads from elsewhere than where it will be written."""
    if documents.fleet is None:
        return
    base = (documents.file(documents.fleet) or documents.directory / "fleet.yaml").parent
    blocks = [(cluster.spec.cluster.existing, local) for cluster, local in clusters]
    references = [(block.secret_ref.name, block.secret_ref.key, local) for block, local in blocks if block]
    gateway = documents.fleet.spec.gateway
    if gateway and gateway.kubeconfig_secret_ref:
        references.append((gateway.kubeconfig_secret_ref.name, gateway.kubeconfig_secret_ref.key, hub))
    for name, key, local in references:
        source = _from_file(documents.fleet, name, key)
        if source is not None and (base / source).resolve() != local.kubeconfig:
            expected = local.kubeconfig.relative_to(documents.directory.resolve())
            yield f"{local.name}: Secret {name} reads {source}, the local fleet writes {expected}"


def _from_file(fleet: Fleet, name: str, key: str) -> str | None:
    for secret in fleet.spec.secrets:
        if secret.name == name and key in secret.keys:
            return secret.keys[key].from_file
    return None
