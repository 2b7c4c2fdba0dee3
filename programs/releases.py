"""What Helm keeps about releases on a cluster, read and set right outside Pulumi.

Helm notes an operation as pending before it begins, and refuses every later one while the note is there. A killed run
leaves it behind. Whoever holds the stack's lock may take it away: an install is then made again over what it had put
there, an upgrade over the revision before it.
"""

import base64
import gzip
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

import httpx2
import pulumi
import yaml
from lightkube.config import client_adapter

from api.errors import ModelplaneError
from components.charts import HelmRelease
from programs.kubernetes_access import TIMEOUT_SECONDS, single_config

PENDING = ("pending-install", "pending-upgrade", "pending-rollback")
_SELECTOR = f"owner=helm,status in ({','.join(PENDING)})"

_DOCUMENT_END = re.compile(r"^---[ \t]*$", re.MULTILINE)

Plain = Mapping[str, Any]
Resources = Callable[[str], Mapping[str, Plain]]
"""What an API server calls its kinds and whether they lie in namespaces: by the path of a group, then by kind."""


def unlock(kubeconfig: str, releases: Iterable[HelmRelease]) -> None:
    """Take away what killed runs noted as pending of these releases; a cluster that does not answer is left alone."""
    wanted = {(release.namespace, release.name) for release in releases}
    if not wanted:
        return
    try:
        for note in forget_pending(kubeconfig, wanted):
            pulumi.log.info(note)
    except (httpx2.HTTPError, OSError, ValueError, ModelplaneError):
        return  # the provider meets the same, and says so


def forget_pending(kubeconfig: str, releases: Iterable[tuple[str, str]]) -> list[str]:
    """Delete the notes of pending operations on releases, given by namespace and name; a sentence for each.

    Raises:
        httpx2.HTTPError: the cluster does not answer, or refuses.

    """
    wanted = set(releases)
    notes = []
    with connected(kubeconfig) as client:
        for secret in _items(client, "/api/v1/secrets", labelSelector=_SELECTOR):
            metadata = secret["metadata"]
            labels = metadata["labels"]
            if (metadata["namespace"], labels.get("name")) not in wanted:
                continue
            path = f"/api/v1/namespaces/{metadata['namespace']}/secrets/{metadata['name']}"
            answer = client.delete(path)
            if answer.status_code != httpx2.codes.NOT_FOUND:
                answer.raise_for_status()
            what = labels["status"].removeprefix("pending-")
            notes.append(f"release {labels['name']}: a killed run left its {what} unfinished, it is done again")
    return notes


def remaining(kubeconfig: str, namespace: str, name: str) -> bool:
    """Whether Helm knows the release, once what is noted as pending of it is taken away.

    Raises:
        httpx2.HTTPError: the cluster does not answer, or refuses.

    """
    forget_pending(kubeconfig, [(namespace, name)])
    with connected(kubeconfig) as client:
        return bool(_revisions(client, namespace, name))


def first_failing_object(kubeconfig: str, namespace: str, name: str) -> str:
    """The first object of a release's newest revision that is missing or not ready, and why; empty where none is.

    Raises:
        httpx2.HTTPError: the cluster does not answer, or refuses.

    """
    with connected(kubeconfig) as client:
        found_resources = resources(client)
        for manifest, _ in newest_objects(client, namespace, name):
            found = _fault(client, manifest, namespace, found_resources)
            if found:
                metadata = manifest["metadata"]
                where = "/".join(part for part in (metadata.get("namespace"), metadata["name"]) if part)
                return f"{manifest['kind']} {where}: {found}"
    return ""


@contextmanager
def connected(kubeconfig: str) -> Iterator[httpx2.Client]:
    """A client of the API server behind a kubeconfig, for what has no model.

    Raises:
        BadKubeconfig: the kubeconfig cannot be used.

    """
    params = client_adapter.ConnectionParams(timeout=httpx2.Timeout(TIMEOUT_SECONDS))
    with client_adapter.Client(single_config(kubeconfig), params) as client:
        yield client


def _items(client: httpx2.Client, path: str, **query: str) -> list[dict[str, Any]]:
    answer = client.get(path, params=query)
    answer.raise_for_status()
    found: list[dict[str, Any]] = answer.json().get("items") or []
    return found


def _revisions(client: httpx2.Client, namespace: str, name: str) -> list[Plain]:
    selector = f"owner=helm,name={name},status notin ({','.join(PENDING)})"
    secrets = _items(client, f"/api/v1/namespaces/{namespace}/secrets", labelSelector=selector)
    return sorted(secrets, key=lambda secret: int(secret["metadata"]["labels"]["version"]))


def newest_objects(client: httpx2.Client, namespace: str, name: str, status: str = "") -> list[tuple[Plain, str]]:
    """Objects of a release's newest revision in the order in which Helm makes them, each as data and as its text.

    None where there is no such revision, or it has another status than the one that is asked for.

    Raises:
        httpx2.HTTPError: the cluster does not answer, or refuses.

    """
    revisions = _revisions(client, namespace, name)
    if not revisions or (status and revisions[-1]["metadata"]["labels"]["status"] != status):
        return []
    packed = base64.b64decode(base64.b64decode(revisions[-1]["data"]["release"]))
    release = json.loads(gzip.decompress(packed))
    texts = _DOCUMENT_END.split(release.get("manifest") or "")
    found = [(yaml.safe_load(text), text) for text in texts]
    return [(document, text) for document, text in found if isinstance(document, dict) and document.get("kind")]


def resources(client: httpx2.Client) -> Resources:
    """A function that gives kinds of objects by group and version, as the API server tells them; asked once each.

    It raises httpx2.HTTPError where the API server does not answer, or refuses: kinds that could not be asked for are
    not kinds that are not there.
    """
    return cache(lambda group: kinds(live_object(client, group)))


def kinds(listed: Plain | None) -> Mapping[str, Plain]:
    """Kinds of objects by name, out of what an API server lists for a group and version; subresources are none."""
    known = (listed or {}).get("resources") or []
    return {found["kind"]: found for found in reversed(known) if "/" not in found["name"]}


def live_object(client: httpx2.Client, path: str) -> dict[str, Any] | None:
    """What an API server has at a path, None where it has nothing.

    Raises:
        httpx2.HTTPError: the cluster does not answer, or refuses.

    """
    answer = client.get(path)
    if answer.status_code == httpx2.codes.NOT_FOUND:
        return None
    answer.raise_for_status()
    found: dict[str, Any] = answer.json()
    return found


def path_of(manifest: Plain, namespace: str, found: Resources) -> str | None:
    """Where an API server has an object, in `namespace` unless it names one; None where its kind is not known."""
    version, metadata = str(manifest["apiVersion"]), manifest["metadata"]
    group = f"/apis/{version}" if "/" in version else f"/api/{version}"
    resource = found(group).get(manifest["kind"])
    if resource is None:
        return None
    space = f"/namespaces/{metadata.get('namespace', namespace)}" if resource["namespaced"] else ""
    return f"{group}{space}/{resource['name']}/{metadata['name']}"


def _fault(client: httpx2.Client, manifest: Plain, namespace: str, found: Resources) -> str:
    """What is wrong with one object; empty where it is there and ready."""
    path = path_of(manifest, namespace, found)
    if path is None:
        return f"the cluster knows no {manifest['kind']} of {manifest['apiVersion']}"
    live = live_object(client, path)
    return "it was not made" if live is None else _unready(manifest["kind"], live)


def _unready(kind: str, live: Plain) -> str:
    spec, status = live.get("spec") or {}, live.get("status") or {}
    if kind in {"Deployment", "StatefulSet"}:
        return _short(status.get("readyReplicas") or 0, spec.get("replicas", 1))
    if kind == "DaemonSet":
        return _short(status.get("numberReady") or 0, status.get("desiredNumberScheduled") or 0)
    if kind == "PersistentVolumeClaim" and status.get("phase") != "Bound":
        return "it is not bound to a volume"
    waits = kind == "Service" and spec.get("type") == "LoadBalancer"
    if waits and not (status.get("loadBalancer") or {}).get("ingress"):
        return "no load balancer gave it an address"
    return ""


def _short(ready: int, wanted: int) -> str:
    return f"{ready} of {wanted} pods ready" if ready < wanted else ""
