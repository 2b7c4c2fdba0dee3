"""Every name that is derived from another, and every label key: stable, length-safe, unique by a hash.

`child` is the rule: parts joined with `-`, cut, and five hex digits of the SHA-256 of the whole joined text. A name of
63 characters fits a label value and a Service. Two names that are usually short enough (`<replica>-pool` and
`<replica>-epp`) stay as they are and follow the rule only where they would not fit.
"""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass

from api.terms import ClaimRequest, Role

LABEL_DEPLOYMENT = "modelplane.ai/deployment"
LABEL_CLUSTER = "modelplane.ai/cluster"
LABEL_REPLICA_INDEX = "modelplane.ai/replica-index"
LABEL_POOL = "modelplane.ai/pool"
LABEL_GPU = "modelplane.ai/gpu"
LABEL_SERVING = "modelplane.ai/serving"
LABEL_WORKLOAD = "modelplane.ai/workload"
LABEL_LWS_ROLE = "modelplane.ai/lws-role"
LABEL_CLIQUE_ROLE = "modelplane.ai/clique-role"
LABEL_MODEL_CACHE = "modelplane.ai/modelcache"
LABEL_FLEET = "modelplane.ai/fleet"
LABEL_NAMESPACE = "modelplane.ai/namespace"
TAINT_DRAIN = "modelplane.ai/drain"
ANNOTATION_PICKER_CHECKSUM = "modelplane.ai/epp-config-checksum"
ANNOTATION_WAIT_FOR_CACHE = "modelplane.ai/wait-for-cache"
"""On a ModelDeployment: "false" lets its replicas start while their cache is still being staged, "true" does not."""
ANNOTATION_HOURLY_COST = "modelplane.ai/hourly-cost"
"""On an InferenceClass: what one node of it costs per hour, as a decimal number in a currency of the fleet's own."""
ANNOTATION_ATTEMPT = "modelplane.ai/attempt"
TAINT_GPU = "nvidia.com/gpu"

SYSTEM_NAMESPACE = "modelplane-system"
SYSTEM_POOL = "system"
HUB_GATEWAY = "modelplane"
"""The Gateway that clients meet, on the hub."""
WORKLOAD_GATEWAY = "inference-gateway"
"""The Gateway in front of the replicas, on each serving cluster."""

LONGEST_NAME = 63
LONGEST_GANG_NAME = 51
"""LeaderWorkerSet adds ordinals and hashes to its name and puts the result into labels."""
_LONGEST_CLIQUE_STEM = 18
_HASH_DIGITS = 5

CLUSTER_STACKS = ("cluster", "serving", "workloads")
FLEET_STACKS = ("placement", "gateway", "routing")


def child(*parts: str, limit: int = LONGEST_NAME) -> str:
    """Derive a name from its parts, always hashed, of at most `limit` characters."""
    joined = "-".join(parts)
    return _hashed(joined[: limit - _HASH_DIGITS - 1], joined)


def replica_name(deployment: str, cluster: str, index: int) -> str:
    """Name a replica and its endpoint; cluster and index are in the hash only."""
    return _hashed(deployment[: LONGEST_NAME - _HASH_DIGITS - 1], f"{deployment}-{cluster}-{index}")


def engine_workload(replica: str, engine: str) -> str:
    """Name the Deployment of an engine; never the replica's own name."""
    return child(replica, engine)


def gang_workload(replica: str, engine: str) -> str:
    """Name the LeaderWorkerSet of an engine, and so its headless Service, with room for what its controller adds."""
    return child(_lettered(replica), engine, limit=LONGEST_GANG_NAME)


def clique_set(replica: str, engine: str) -> str:
    """Name the Grove PodCliqueSet of an engine, of at most 24 characters."""
    joined = f"{_lettered(replica)}-{engine}"
    return _hashed(joined[:_LONGEST_CLIQUE_STEM], joined)


def claim_template(replica: str, engine: str, role: Role, requests: Iterable[ClaimRequest]) -> str:
    """Name a member's ResourceClaimTemplate: `child(replica, engine, role, "devices", <content>)`.

    <content> is the first eight hex digits of the SHA-256 of the requests as compact JSON with sorted keys, in their
    order and with defaults spelled out. Templates are immutable, so other requests make another template.
    """
    content = [request.model_dump(by_alias=True, exclude_none=True, mode="json") for request in requests]
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return child(replica, engine, role.lower(), "devices", _sha256(text)[:8])


def serving_service(replica: str) -> str:
    """Name the Service of a replica on clusters without inference pools."""
    return child(_lettered(replica), "serving")


def endpoint_service(endpoint: str) -> str:
    """Name the Service that stands for a ModelEndpoint on the hub; Service names begin with a letter."""
    return child("endpoint", endpoint)


def replica_prefix(namespace: str, replica: str) -> str:
    """Path under which a replica answers on its cluster's gateway, with both slashes."""
    return f"/{namespace}/{replica}/"


def inference_pool(replica: str) -> str:
    """Name the InferencePool of a replica."""
    return _suffixed(replica, "pool")


def endpoint_picker(replica: str) -> str:
    """Name the endpoint picker of a replica and the objects around it."""
    return _suffixed(_lettered(replica), "epp")


def cache_claim(namespace: str, cache: str) -> str:
    """Name the volume claim of a cache."""
    return child("modelcache", namespace, cache)


def cache_job(namespace: str, cache: str) -> str:
    """Name the hydration Job of a cache."""
    return child("modelcache", namespace, cache, "hydrate")


def cache_token(namespace: str, cache: str) -> str:
    """Name the Secret with a cache's token."""
    return child("modelcache", namespace, cache, "auth")


def cluster_identifier(fleet: str, cluster: str) -> str:
    """Identify a cluster to the Kubernetes provider, so that a rotated kubeconfig replaces nothing."""
    return f"{fleet}/{cluster}"


@dataclass(frozen=True)
class StackName:
    """The parts of a stack's name; `cluster` is None for the stacks that a fleet has once."""

    fleet: str
    kind: str
    cluster: str | None = None

    def __str__(self) -> str:
        """`<fleet>.<kind>[.<cluster>]`."""
        return ".".join(part for part in (self.fleet, self.kind, self.cluster) if part is not None)


def stack_name(fleet: str, kind: str, cluster: str | None = None) -> str:
    """Name a stack; raises ValueError where the kind is unknown, or a cluster is missing or too much."""
    if kind not in CLUSTER_STACKS + FLEET_STACKS:
        raise ValueError(f"no kind of stack is called {kind}; known: {', '.join(CLUSTER_STACKS + FLEET_STACKS)}")
    if (kind in CLUSTER_STACKS) != bool(cluster):
        raise ValueError(f"a {kind} stack {'needs' if kind in CLUSTER_STACKS else 'has no'} cluster")
    return str(StackName(fleet, kind, cluster))


def parse_stack_name(name: str) -> StackName:
    """Take a stack's name apart, also a qualified one (`organization/project/stack`).

    Raises ValueError for a name that `stack_name` would not make.
    """
    fleet, _, rest = name.rpartition("/")[2].partition(".")
    kind, _, cluster = rest.partition(".")
    if not fleet or "." in cluster:
        raise ValueError(f"{name} is not of the form <fleet>.<kind>[.<cluster>]")
    stack_name(fleet, kind, cluster or None)
    return StackName(fleet, kind, cluster or None)


def _lettered(replica: str) -> str:
    """The stem of a name that a Service has too: unlike other names, those of Services begin with a letter."""
    return f"r-{replica}" if replica[0].isdigit() else replica


def _suffixed(name: str, suffix: str) -> str:
    plain = f"{name}-{suffix}"
    return plain if len(plain) <= LONGEST_NAME else child(name, suffix)


def _hashed(stem: str, whole: str) -> str:
    return f"{stem.rstrip('-')}-{_sha256(whole)[:_HASH_DIGITS]}"


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
