"""Removing the namespaces a fleet made, once they hold nothing but what every namespace holds."""

import time
from typing import Any

import httpx2
from lightkube.config import client_adapter

from api import names
from api.errors import TimedOut
from programs.kubernetes_access import TIMEOUT_SECONDS, single_config

DEFAULTS = {("configmaps", "kube-root-ca.crt"), ("serviceaccounts", "default")}
PASSING = {"endpoints", "endpointslices", "events", "leases", "pods", "replicasets", "resourceclaims"}
"""Kinds that go by themselves with what owns them, or pass."""
GONE_SECONDS = 60.0
POLL_SECONDS = 0.3


def remove_empty_namespaces(kubeconfig: str, fleet: str) -> list[str]:
    """Delete this fleet's namespaces that hold nothing more, and wait until they are gone; their names.

    Raises:
        TimedOut: a namespace is still there after a minute.
        httpx2.HTTPError: the API server does not answer.

    """
    params = client_adapter.ConnectionParams(timeout=httpx2.Timeout(TIMEOUT_SECONDS))
    with client_adapter.Client(single_config(kubeconfig), params) as client:
        own = _items(client, "/api/v1/namespaces", labelSelector=f"{names.LABEL_FLEET}={fleet}")
        paths = _listable(client) if own else []
        empty = [name for name in own if not any(_holds_more(client, path, name) for path in paths)]
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


def _items(client: httpx2.Client, path: str, **query: str) -> list[str]:
    return [item["metadata"]["name"] for item in _get(client, path, **query).get("items", [])]


def _listable(client: httpx2.Client) -> list[tuple[str, str]]:
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
    found = _items(client, f"{group}/namespaces/{namespace}/{plural}", limit="3")
    return any((plural, name) not in DEFAULTS for name in found)
