"""Asking a cluster about its fitness. Each look stands for itself: what fails tells nothing, and never raises."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from http import HTTPStatus
from typing import Any, TypeVar

import httpx2

from api.versions import CHARTS
from components.charts import RELEASE_PREFIX
from components.rights import INSTALLER, Rule, review
from programs.findings import MARKERS, Findings
from programs.releases import connected

Told = TypeVar("Told")
Plain = Mapping[str, Any]

NAMES_ONLY = {"accept": "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"}
LOCAL_PROVIDERS = ("kind://", "kwok://", "minikube://")
"""Beginnings of provider ids of nodes where no cloud stands behind them to hand out addresses."""
VALIDATOR = "/apis/apps/v1/namespaces/gpu-operator/daemonsets/nvidia-operator-validator"
"""What NVIDIA's operator tells a node by that is ready for GPU work (reference: clouds, section 7)."""


def examine(kubeconfig: str, rules: Iterable[Rule]) -> Findings:
    """What the cluster tells of itself, and which of the rules the kubeconfig's user does not have. Never raises."""
    try:
        with connected(kubeconfig) as client:
            return _examine(client, tuple(rules))
    except Exception:  # noqa: BLE001 - a look at a cluster must not end a run; what it would have told is not known
        return Findings()


def _examine(client: httpx2.Client, rules: tuple[Rule, ...]) -> Findings:
    balancers, addressless = _told(lambda: _balancers(client)) or (None, ())
    return Findings(
        version=_told(lambda: str(_get(client, "/version")["gitVersion"])),
        groups=_told(lambda: _groups(client)),
        balancers=balancers,
        addressless=addressless,
        provisioners=_told(lambda: _provisioners(client)),
        components=_told(lambda: _components(client)),
        missing_rights=_told(lambda: _missing(client, rules)),
        validated=_told(lambda: _validated(client)),
    )


def _told(look: Callable[[], Told]) -> Told | None:
    with suppress(httpx2.HTTPError, OSError, ValueError, LookupError, TypeError):
        return look()
    return None


def _get(client: httpx2.Client, path: str, headers: Mapping[str, str] | None = None, **query: str) -> Any:
    answer = client.get(path, params=query, headers=headers)
    answer.raise_for_status()
    return answer.json()


def _items(client: httpx2.Client, path: str, headers: Mapping[str, str] | None = None, **query: str) -> list[Any]:
    return _get(client, path, headers, **query).get("items") or []


def _groups(client: httpx2.Client) -> frozenset[str]:
    groups = _get(client, "/apis")["groups"]
    return frozenset(version["groupVersion"] for group in groups for version in group["versions"])


def _balancers(client: httpx2.Client) -> tuple[bool, tuple[str, ...]]:
    """Whether something hands out addresses, and the Services that wait for one."""
    services = [item for item in _items(client, "/api/v1/services") if item["spec"].get("type") == "LoadBalancer"]
    waiting = [item for item in services if not (item["status"].get("loadBalancer") or {}).get("ingress")]
    named = tuple(f"{item['metadata']['namespace']}/{item['metadata']['name']}" for item in waiting)
    if services:
        return len(waiting) < len(services), named
    nodes = _items(client, "/api/v1/nodes", limit="20")
    providers = [item["spec"].get("providerID") or "" for item in nodes]
    return any("://" in provider and not provider.startswith(LOCAL_PROVIDERS) for provider in providers), ()


def _provisioners(client: httpx2.Client) -> dict[str, str]:
    items = _items(client, "/apis/storage.k8s.io/v1/storageclasses")
    return {item["metadata"]["name"]: item["provisioner"] for item in items}


def _components(client: httpx2.Client) -> tuple[str, ...]:
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    definitions = {item["metadata"]["name"] for item in _items(client, path, NAMES_ONLY)}
    secrets = _items(client, "/api/v1/secrets", NAMES_ONLY, labelSelector="owner=helm")
    ours = {item["metadata"]["labels"].get("name") for item in secrets}
    return tuple(
        chart
        for chart, marker in MARKERS.items()
        if marker in definitions and f"{RELEASE_PREFIX}{CHARTS[chart].chart}" not in ours
    )


def _validated(client: httpx2.Client) -> tuple[int, int]:
    """What the operator's validator says of its nodes; a validator that is not there yet has looked at none."""
    answer = client.get(VALIDATOR)
    if answer.status_code == HTTPStatus.NOT_FOUND:
        return 0, 0
    answer.raise_for_status()
    status = answer.json().get("status") or {}
    return status.get("numberReady", 0), status.get("desiredNumberScheduled", 0)


def _missing(client: httpx2.Client, rules: tuple[Rule, ...]) -> tuple[str, ...]:
    """Rights that are refused, one for each kind, as `create deployments.apps`."""
    if _may(client, INSTALLER, INSTALLER.resources[0]):
        return ()
    return tuple(
        _named(rule, resource) for rule in rules for resource in rule.resources if not _may(client, rule, resource)
    )


def _may(client: httpx2.Client, rule: Rule, resource: str) -> bool:
    answer = client.post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", json=review(rule, resource))
    answer.raise_for_status()
    return bool(answer.json()["status"].get("allowed"))


def _named(rule: Rule, resource: str) -> str:
    if rule == INSTALLER:
        return "do everything, which installing charts takes"
    return f"{rule.verbs[0]} {resource}{f'.{rule.group}' if rule.group else ''}"
