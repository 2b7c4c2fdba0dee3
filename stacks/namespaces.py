"""Removing the namespaces a fleet made, once they hold nothing but what every namespace holds.

Helm takes away what a release consists of, and leaves what its hooks made: accounts and rights of a Job that prepared
something, what the Job wrote, webhooks. It goes with the namespace of the release.
"""

import time
from collections.abc import Iterable
from typing import Any

import httpx2
from lightkube.config import client_adapter

from api import names
from api.errors import TimedOut
from api.versions import CHARTS
from components.charts import NAMESPACES, RELEASE_PREFIX
from programs.kubernetes_access import TIMEOUT_SECONDS, single_config

HOOK = "helm.sh/hook"
INSTANCE = "app.kubernetes.io/instance"
WRITTEN = {("secrets", "control-plane", "envoy-gateway")}
"""What hooks write: the certificates of Envoy Gateway's own connections. Kind, label, value."""
CLUSTER_WIDE = (
    "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
)
DEFAULTS = {("configmaps", "kube-root-ca.crt"), ("serviceaccounts", "default")}
PASSING = {"endpoints", "endpointslices", "events", "leases", "pods", "replicasets", "resourceclaims"}
"""Kinds that go by themselves with what owns them, or pass."""
GONE_SECONDS = 60.0
POLL_SECONDS = 0.3
MOST = "20"
"""More objects of a kind than hooks and the defaults come to."""

Plain = dict[str, Any]


def remove_empty_namespaces(kubeconfig: str, fleet: str) -> list[str]:
    """Delete this fleet's namespaces that hold nothing more, and wait until they are gone; their names.

    Raises:
        TimedOut: a namespace is still there after a minute.
        httpx2.HTTPError: the API server does not answer.

    """
    params = client_adapter.ConnectionParams(timeout=httpx2.Timeout(TIMEOUT_SECONDS))
    with client_adapter.Client(single_config(kubeconfig), params) as client:
        labelled = _items(client, "/api/v1/namespaces", labelSelector=f"{names.LABEL_FLEET}={fleet}")
        own = [item["metadata"]["name"] for item in labelled]
        paths = listable(client) if own else []
        empty = [name for name in own if not any(_holds_more(client, path, name) for path in paths)]
        _remove_hooks(client, releases_in(empty))
        for name in empty:
            client.delete(f"/api/v1/namespaces/{name}").raise_for_status()
        _wait_until_gone(client, empty)
    return empty


def _wait_until_gone(client: httpx2.Client, gone: list[str]) -> None:
    deadline = time.monotonic() + GONE_SECONDS
    left = gone
    while left:
        left = [name for name in left if client.get(f"/api/v1/namespaces/{name}").status_code != httpx2.codes.NOT_FOUND]
        if left and time.monotonic() > deadline:
            raise TimedOut(f"namespaces still there after {GONE_SECONDS:.0f} s: {', '.join(left)}", code="MP341")
        if left:
            time.sleep(POLL_SECONDS)


def _get(client: httpx2.Client, path: str, **query: str) -> dict[str, Any]:
    answer = client.get(path, params=query)
    answer.raise_for_status()
    found: dict[str, Any] = answer.json()
    return found


def releases_in(namespaces: Iterable[str]) -> set[str]:
    """Names of the releases that Modelplane puts into these namespaces."""
    gone = set(namespaces)
    return {f"{RELEASE_PREFIX}{CHARTS[key].chart}" for key, namespace in NAMESPACES.items() if namespace in gone}


def is_left_by_hook(plural: str, item: Plain, releases: Iterable[str]) -> bool:
    """Whether a hook of one of these releases is, or has made, the object."""
    metadata = item["metadata"]
    labels = metadata.get("labels") or {}
    if any(plural == kind and labels.get(label) == value for kind, label, value in WRITTEN):
        return True
    return HOOK in (metadata.get("annotations") or {}) and labels.get(INSTANCE) in set(releases)


def _remove_hooks(client: httpx2.Client, releases: set[str]) -> None:
    """Delete cluster-wide objects of hooks of these releases."""
    selector = f"{INSTANCE} in ({','.join(sorted(releases))})"
    for path in CLUSTER_WIDE if releases else ():
        for item in _items(client, path, labelSelector=selector):
            if HOOK in (item["metadata"].get("annotations") or {}):
                client.delete(f"{path}/{item['metadata']['name']}").raise_for_status()


def _items(client: httpx2.Client, path: str, **query: str) -> list[Plain]:
    found: list[Plain] = _get(client, path, **query).get("items", [])
    return found


def listable(client: httpx2.Client) -> list[tuple[str, str]]:
    """(group and version path, plural) of every namespaced kind that can be listed."""
    groups = ["/api/v1"]
    groups += [f"/apis/{group['preferredVersion']['groupVersion']}" for group in _get(client, "/apis")["groups"]]
    return [
        (group, resource["name"])
        for group in groups
        for resource in _get(client, group)["resources"]
        if resource["namespaced"] and "list" in resource["verbs"] and resource["name"] not in PASSING
    ]


def _holds_more(client: httpx2.Client, path: tuple[str, str], namespace: str) -> bool:
    group, plural = path
    releases = releases_in([namespace])
    return any(
        (plural, item["metadata"]["name"]) not in DEFAULTS and not is_left_by_hook(plural, item, releases)
        for item in _items(client, f"{group}/namespaces/{namespace}/{plural}", limit=MOST)
    )
