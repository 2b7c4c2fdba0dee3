"""What a cluster that was handed over shows of its fitness, and the conditions that follow, each with a way out.

Pure. None stands for what the cluster did not tell; nothing is concluded from that.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from api import names
from api.base import Condition
from api.sources import OLDEST_KUBERNETES, kubernetes_number
from components.rights import Rule
from programs.conditions import condition
from programs.identity import CLOUDS

OLDEST = ".".join(str(part) for part in OLDEST_KUBERNETES)
DRA_GROUP = "resource.k8s.io/v1"

ONE_NODE_PROVISIONERS = {
    "ebs.csi.aws.com",
    "pd.csi.storage.gke.io",
    "disk.csi.azure.com",
    "kubernetes.io/no-provisioner",
    "rancher.io/local-path",
}
"""Provisioners whose volumes only one node can write to; any other is taken for one that shares."""

MARKERS: Mapping[str, str] = {
    "cert-manager": "certificates.cert-manager.io",
    "envoy-gateway": "envoyproxies.gateway.envoyproxy.io",
    "ai-gateway-crds": "aigatewayroutes.aigateway.envoyproxy.io",
    "prometheus": "prometheuses.monitoring.coreos.com",
    "leader-worker-set": "leaderworkersets.leaderworkerset.x-k8s.io",
    "node-feature-discovery": "nodefeatures.nfd.k8s-sigs.io",
    "dra-driver": "computedomains.resource.nvidia.com",
    "grove": "podcliquesets.grove.io",
    "kai-scheduler": "queues.scheduling.run.ai",
    "traefik": "ingressroutes.traefik.io",
    "metallb": "ipaddresspools.metallb.io",
}
"""A definition of each chart: where it is and no release of ours is, somebody else has installed that."""


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What the documents ask of the cluster. `pools` are nodes by pool, `charts` what is to be installed there."""

    subject: str
    """Cluster as `modelplane rbac` takes it; the hub is called hub."""
    settings: str = "spec.servingStack.charts"
    """Where the Fleet switches the charts off."""
    pools: Mapping[str, int] | None = None
    charts: tuple[str, ...] = ()
    has_own_gateway: bool = True
    """Whether our gateway is installed there, and so needs an address from a load balancer."""
    has_devices: bool = True
    rules: tuple[Rule, ...] = ()
    """Rights that the kubeconfig's user needs."""
    storage_class: str | None = None
    identity: str = ""
    """Whether the document names a cloud identity besides the kubeconfig."""
    has_operator: bool = False
    """Whether NVIDIA's operator, which the cluster comes with, makes its GPUs usable."""


@dataclass(frozen=True, kw_only=True)
class Findings:
    """What the cluster told."""

    version: str | None = None
    groups: frozenset[str] | None = None
    """API groups with their versions that it serves."""
    balancers: bool | None = None
    """Whether anything there hands out addresses; None where it cannot be told."""
    addressless: tuple[str, ...] = ()
    """Services that wait for an address."""
    provisioners: Mapping[str, str] | None = None
    """Provisioners by storage class."""
    components: tuple[str, ...] | None = None
    """Charts whose software is there without a release of ours."""
    missing_rights: tuple[str, ...] | None = None
    validated: tuple[int, int] | None = None
    """GPU nodes that NVIDIA's operator has found good, and those it is to look at."""


def conditions(wanted: Wanted, found: Findings, nodes: Mapping[str, int] | None) -> tuple[Condition, ...]:
    """Conditions of a cluster that answered, without times; `nodes` are those that carry a pool's label."""
    told = (
        _version(found),
        _devices(wanted, found),
        _operator(wanted, found),
        _pools(wanted, nodes),
        _balancer(wanted, found),
        _storage(wanted, found),
        _components(wanted, found),
        _rights(wanted, found),
        _identity(wanted),
    )
    return (condition("Reachable", status=True, reason="Answers"), *(each for each in told if each))


def unreachable(reason: str, wanted: Wanted) -> tuple[Condition, ...]:
    """The condition of a cluster that does not answer, or refuses who asks; `reason` is the probe's."""
    word, _, text = reason.partition(":")
    fixes = {
        "BadCredentials": "put a kubeconfig with valid credentials into its Secret",
        "RightsMissing": f"`modelplane rbac {wanted.subject}` prints the role that the kubeconfig's user needs",
        "Unreachable": f"check the server's address in the kubeconfig, and that {wanted.subject} can be reached",
    }
    message = "; ".join(part for part in (text.strip(), fixes.get(word, "")) if part)
    return (condition("Reachable", status=False, reason=word, message=message),)


def _version(found: Findings) -> Condition | None:
    number = kubernetes_number(found.version) if found.version else None
    if number is None:
        return None
    if number < OLDEST_KUBERNETES:
        text = f"it runs Kubernetes {found.version}; upgrade it to {OLDEST} or newer"
        return condition("VersionSupported", status=False, reason="VersionTooOld", message=text)
    return condition("VersionSupported", status=True, reason="VersionSupported", message=f"Kubernetes {found.version}")


def _devices(wanted: Wanted, found: Findings) -> Condition | None:
    if not wanted.has_devices or found.groups is None:
        return None
    if DRA_GROUP in found.groups:
        return condition("DeviceClaimsServed", status=True, reason="DeviceClaimsServed")
    text = (
        f"its API server does not serve {DRA_GROUP}; enable dynamic resource allocation (Kubernetes {OLDEST} or newer)"
    )
    return condition("DeviceClaimsServed", status=False, reason="DeviceClaimsNotServed", message=text)


def _operator(wanted: Wanted, found: Findings) -> Condition | None:
    """On Vultr drivers come with the operator: before it has found a node good, nothing there can use a GPU."""
    if not wanted.has_operator or found.validated is None:
        return None
    good, nodes = found.validated
    text = f"NVIDIA's operator has found {good} of {nodes} GPU nodes good"
    if nodes and good == nodes:
        return condition("GpuStackReady", status=True, reason="NodesValidated", message=text)
    text += "; it takes minutes on a new node, its pods in namespace gpu-operator tell what it waits for"
    return condition("GpuStackReady", status=False, reason="NodesNotValidated", message=text)


def _pools(wanted: Wanted, nodes: Mapping[str, int] | None) -> Condition | None:
    if nodes is None or not wanted.pools:
        return None
    bare = [pool for pool, count in wanted.pools.items() if count and not nodes.get(pool)]
    short = {pool: count for pool, count in wanted.pools.items() if 0 < nodes.get(pool, 0) < count}
    if bare:
        labels = " and ".join(f"{names.LABEL_POOL}={pool}" for pool in bare)
        text = f"no node is labelled {labels}; kubectl label node NODE {names.LABEL_POOL}={bare[0]}"
        return condition("PoolsLabelled", status=False, reason="PoolUnlabelled", message=text)
    if short:
        counts = ", ".join(f"{pool} has {nodes.get(pool, 0)} of {count} nodes" for pool, count in short.items())
        text = f"{counts}; add and label nodes, or lower nodeCount"
        return condition("PoolsLabelled", status=False, reason="PoolShort", message=text)
    return condition("PoolsLabelled", status=True, reason="NodesLabelled")


def _balancer(wanted: Wanted, found: Findings) -> Condition | None:
    if not wanted.has_own_gateway or found.balancers is None:
        return None
    if found.balancers:
        return condition("LoadBalancerPresent", status=True, reason="LoadBalancerPresent")
    waits = f" ({', '.join(found.addressless)} waits for one)" if found.addressless else ""
    text = (
        f"nothing there gives Services of type LoadBalancer an address{waits}; install one, such as MetalLB with a pool"
    )
    return condition("LoadBalancerPresent", status=False, reason="NoLoadBalancer", message=text)


def _storage(wanted: Wanted, found: Findings) -> Condition | None:
    name = wanted.storage_class
    if name is None or found.provisioners is None:
        return None
    provisioner = found.provisioners.get(name)
    if provisioner is None:
        known = ", ".join(sorted(found.provisioners)) or "none"
        text = f"there is no StorageClass {name} (there are: {known}); make it, or name another in existing.cache"
        return condition("StorageReady", status=False, reason="StorageClassMissing", message=text)
    if provisioner in ONE_NODE_PROVISIONERS:
        text = f"volumes of {name} ({provisioner}) belong to one node; name a class that many nodes can write to"
        return condition("StorageReady", status=False, reason="StorageClassNotShared", message=text)
    return condition("StorageReady", status=True, reason="StorageClassFound")


def _components(wanted: Wanted, found: Findings) -> Condition | None:
    if found.components is None:
        return None
    theirs = [chart for chart in found.components if chart in wanted.charts]
    if not theirs:
        return condition("ComponentsOwned", status=True, reason="NothingInTheWay")
    text = (
        f"somebody else has installed {', '.join(theirs)}; where that is to stay, write "
        f"{wanted.settings}.{theirs[0]}: {{enabled: false}}"
    )
    return condition("ComponentsOwned", status=False, reason="ComponentsFound", message=text)


def _identity(wanted: Wanted) -> Condition | None:
    if not wanted.identity:
        return None
    if wanted.identity in CLOUDS:
        return condition("IdentityUsed", status=True, reason="IdentityUsed")
    text = (
        f"existing.identitySecretRef of type {wanted.identity} is not used: the kubeconfig has to bring its "
        "credentials, best by an exec stanza"
    )
    return condition("IdentityUsed", status=False, reason="IdentityNotUsed", message=text)


def _rights(wanted: Wanted, found: Findings) -> Condition | None:
    if found.missing_rights is None:
        return None
    if not found.missing_rights:
        return condition("RightsSufficient", status=True, reason="RightsSufficient")
    first = ", ".join(found.missing_rights[:3]) + (", …" if len(found.missing_rights) > 3 else "")
    text = f"the kubeconfig's user may not {first}; `modelplane rbac {wanted.subject}` prints the role it needs"
    return condition("RightsSufficient", status=False, reason="RightsMissing", message=text)
