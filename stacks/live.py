"""Looking at live objects to learn when to refresh. Nothing here decides what is desired."""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import httpx2
from lightkube import ApiError, Client
from lightkube.generic_resource import create_namespaced_resource
from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.batch_v1 import Job

from components.readiness import readiness_of
from programs.kubernetes_access import BadKubeconfig, connect
from stacks.interrupt import Stop

HTTPRoute = create_namespaced_resource("gateway.networking.k8s.io", "v1", "HTTPRoute", "httproutes")
_KINDS: dict[str, Any] = {
    "": Deployment,
    "Deployment": Deployment,
    "Picker": Deployment,
    "Job": Job,
    "LeaderWorkerSet": create_namespaced_resource(
        "leaderworkerset.x-k8s.io", "v1", "LeaderWorkerSet", "leaderworkersets"
    ),
    "PodCliqueSet": create_namespaced_resource("grove.io", "v1alpha1", "PodCliqueSet", "podcliquesets"),
}
POLL_SECONDS = 0.7
SETTLE_SECONDS = 3.0
"""How long after something became ready more is waited for before a refresh."""

Unreadable = (ApiError, BadKubeconfig, httpx2.HTTPError, OSError, ValueError)


@dataclass(frozen=True)
class Waiting:
    """One replica or cache whose objects have to become ready, as `<Kind>/<name>`; without a kind, a Deployment."""

    key: str
    namespace: str
    workloads: tuple[str, ...]


def wait_for_change(
    clusters: Mapping[str, tuple[str, Iterable[Waiting]]],
    deadline: float,
    *,
    stop: Stop | None = None,
    now: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] | None = None,
) -> dict[str, set[str]]:
    """Wait until replicas become ready, at most until `deadline` (monotonic seconds) or until the run is to stop.

    Takes (kubeconfig, replicas waited for) per cluster and returns the keys that became ready, per cluster: at once
    when all are, a few seconds after the last one otherwise. A cluster that does not answer is waited for no longer.
    """
    stop = stop or Stop()
    sleep = sleep or stop.sleep
    clients = {
        name: client for name, (kubeconfig, _) in clusters.items() if (client := _connected(kubeconfig)) is not None
    }
    open_ends = {name: {waiting.key: waiting for waiting in clusters[name][1]} for name in clients}
    ready: dict[str, set[str]] = {name: set() for name in clients}
    last_change = now()
    try:
        while any(open_ends.values()) and now() < deadline and not stop.requested:
            for name, waited in open_ends.items():
                found = _ready_now(clients[name], waited.values())
                if found is None:
                    waited.clear()
                    continue
                if found:
                    last_change = now()
                ready[name] |= found
                for key in found:
                    del waited[key]
            if any(ready.values()) and now() - last_change > SETTLE_SECONDS:
                break
            if any(open_ends.values()):
                sleep(min(POLL_SECONDS, max(0.0, deadline - now())))
    finally:
        for client in clients.values():
            client.close()
    return {name: keys for name, keys in ready.items() if keys}


def routes_accepted(
    kubeconfig: str, routes: Iterable[tuple[str, str]], seconds: float, *, stop: Stop | None = None
) -> bool:
    """Whether a gateway accepts all routes (namespace, name) within `seconds`, and before the run is to stop."""
    stop = stop or Stop()
    deadline = time.monotonic() + seconds
    open_ends = set(routes)
    with connect(kubeconfig) as client:
        while open_ends and time.monotonic() < deadline and not stop.requested:
            try:
                open_ends = {route for route in open_ends if not _accepted(client, route)}
            except Unreadable:
                return False
            if open_ends:
                stop.sleep(POLL_SECONDS)
    return not open_ends


def _accepted(client: Client, route: tuple[str, str]) -> bool:
    namespace, name = route
    found = client.get(HTTPRoute, name, namespace=namespace)
    return is_accepted(found.status if isinstance(found.status, dict) else {})


def is_accepted(status: Mapping[str, Any]) -> bool:
    """Whether a gateway accepts the route of this status."""
    parents = status.get("parents") or []
    return any(
        condition.get("type") == "Accepted" and condition.get("status") == "True"
        for parent in parents
        for condition in parent.get("conditions") or []
    )


def resource_of(kind: str) -> Any:
    """What the client calls a kind of objects that are looked at."""
    return HTTPRoute if kind == "HTTPRoute" else _KINDS[kind]


def _connected(kubeconfig: str) -> Client | None:
    try:
        return connect(kubeconfig)
    except BadKubeconfig:
        return None


def _ready_now(client: Client, waited: Iterable[Waiting]) -> set[str] | None:
    try:
        return {
            waiting.key
            for waiting in list(waited)
            if all(_is_ready(client, waiting.namespace, workload) for workload in waiting.workloads)
        }
    except Unreadable:
        return None


def _is_ready(client: Client, namespace: str, workload: str) -> bool:
    kind, _, name = workload.rpartition("/")
    try:
        found: Any = client.get(_KINDS[kind], name, namespace=namespace)
    except ApiError as error:
        if error.status.code == 404:
            return False
        raise
    plain = found if isinstance(found, dict) else found.to_dict()
    parts = [plain.get(part) or {} for part in ("spec", "metadata", "status")]
    if kind == "Job":
        ended = {"Complete", "Failed"}
        return any(each["type"] in ended and each["status"] == "True" for each in parts[2].get("conditions") or ())
    return readiness_of(kind or "Deployment", *parts).ready
