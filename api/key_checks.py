"""Keys of Secrets and ConfigMaps that documents name: IC-X1, MC-F1, MD-X7, FL-X10 where nothing brings one."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from api.base import Kind, Path
from api.deployments import ModelDeployment
from api.documents import FleetDocuments, Key
from api.errors import Problem
from api.model_checks import members
from api.names import SYSTEM_NAMESPACE
from api.surroundings import Surroundings

Source = Literal["Secret", "ConfigMap"]


@dataclass(frozen=True)
class _Wanted:
    """One reference: who makes it, where, and to what. Of a registry's Secret no key is looked at."""

    document: Kind
    rule: str
    path: Path
    place: Key
    key: str
    source: Source = "Secret"


def missing_keys(around: Surroundings) -> Iterator[Problem]:
    """Find keys that no document and no entry of Fleet.spec.secrets brings."""
    documents = around.documents
    if documents.fleet is None and not around.is_valid("Fleet"):
        return
    brought = {"Secret": _secrets(documents), "ConfigMap": _config_maps(documents)}
    for wanted in _all_wanted(documents):
        namespace, name = wanted.place
        keys = brought[wanted.source].get(wanted.place)
        unread = keys is None and name in around.names(wanted.source, namespace)
        if unread or (keys is not None and (wanted.key in keys or (keys and not wanted.key))):
            continue
        which = f"{wanted.source} {namespace}/{name}"
        what = f"{which} has no key {wanted.key}" if keys else f"no {which}"
        where, hint = _ways_in(wanted)
        yield around.problem(wanted.document, wanted.rule, wanted.path, f"{what} {where}", hint)


def _secrets(documents: FleetDocuments) -> Mapping[Key, set[str]]:
    found: dict[Key, set[str]] = {key: set(secret.values()) for key, secret in documents.secrets.items()}
    for source in documents.fleet.spec.secrets if documents.fleet else ():
        found.setdefault((source.namespace, source.name), set()).update(source.keys)
    return found


def _config_maps(documents: FleetDocuments) -> Mapping[Key, set[str]]:
    return {key: set(found.data) for key, found in documents.config_maps.items()}


def _ways_in(wanted: _Wanted) -> tuple[str, str]:
    """Where was looked, and what to do about it."""
    if wanted.source == "ConfigMap":
        where, hint = "among the documents", "add a ConfigMap document with it"
    else:
        where = "among the documents and Fleet.spec.secrets"
        hint = "bring it with Fleet.spec.secrets, or with a Secret document for local use"
    if wanted.rule == "MD-X7":
        hint = f"{hint}; otherwise it has to be on every cluster that the deployment may go to"
    return where, hint


def _all_wanted(documents: FleetDocuments) -> Iterator[_Wanted]:
    for cluster in documents.clusters.values():
        if existing := cluster.spec.cluster.existing:
            at: Path = ("spec", "cluster", "existing")
            place = SYSTEM_NAMESPACE, existing.secret_ref.name
            yield _Wanted(cluster, "IC-X1", (*at, "secretRef"), place, existing.secret_ref.key)
            if identity_ref := existing.identity_secret_ref:
                place = SYSTEM_NAMESPACE, identity_ref.name
                yield _Wanted(cluster, "IC-X1", (*at, "identitySecretRef"), place, identity_ref.key)
    for cache in documents.caches.values():
        if cache.spec.hugging_face and (auth := cache.spec.hugging_face.auth_secret):
            path: Path = ("spec", "huggingFace", "authSecret")
            yield _Wanted(cache, "MC-F1", path, (cache.namespace, auth.name), auth.key)
    if documents.fleet and (hub := documents.fleet.spec.gateway.kubeconfig_secret_ref):
        path = ("spec", "gateway", "kubeconfigSecretRef")
        yield _Wanted(documents.fleet, "FL-X10", path, (SYSTEM_NAMESPACE, hub.name), hub.key)
    for deployment in documents.deployments.values():
        yield from _of_engines(deployment)


def _of_engines(deployment: ModelDeployment) -> Iterator[_Wanted]:
    for at, _, member in members(deployment):
        pod = member.template.spec
        for index, entry in enumerate(pod.engine.env):
            if (named := entry.named_object) is None or named.reference.optional:
                continue
            path = (*at, "template", "spec", "containers", 0, "env", index, "valueFrom", named.field)
            place = deployment.namespace, named.reference.name
            yield _Wanted(deployment, "MD-X7", path, place, named.reference.key, named.kind)
        for index, secret in enumerate(pod.image_pull_secrets):
            path = (*at, "template", "spec", "imagePullSecrets", index)
            yield _Wanted(deployment, "MD-X7", path, (deployment.namespace, secret.name), "")
