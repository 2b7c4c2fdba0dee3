"""Every object of a fleet as `get` and `describe` show it: documents, and what the stacks make of them. Pure.

An object that the stacks know has its status; a document that they do not know yet has none. Values of Secrets are in
no object.
"""

from collections.abc import Iterator
from typing import Any

from api import names
from api.base import Kind
from api.documents import FleetDocuments
from api.providers import ProviderConfig
from stacks.status import FleetOutputs, Plain, objects


def inventory(documents: FleetDocuments, outputs: FleetOutputs) -> list[Plain]:
    """All objects, those that stacks know first, the others in the order of their kinds and names."""
    known = objects(documents, outputs)
    there = {identity(shown) for shown in known}
    written = (_written(document) for document in documents.all() if not isinstance(document, ProviderConfig))
    return [*known, *(shown for shown in written if identity(shown) not in there)]


def identity(shown: Plain) -> tuple[str, str, str]:
    """Kind, namespace and name; the namespace of a kind of the whole fleet is empty."""
    metadata = shown["metadata"]
    return shown["kind"], metadata.get("namespace", ""), metadata["name"]


def related(shown: Plain, everything: list[Plain]) -> Iterator[Plain]:
    """Objects that belong to this one: a deployment's and a cluster's replicas, and a replica's endpoint."""
    kind, namespace, name = identity(shown)
    for other in everything:
        other_kind, other_namespace, other_name = identity(other)
        if kind == "ModelDeployment" and other_kind == "ModelReplica" and other_namespace == namespace:
            labels = other["metadata"].get("labels") or {}
            if labels.get(names.LABEL_DEPLOYMENT) == name:
                yield other
        elif kind == "InferenceCluster" and other_kind == "ModelReplica":
            if other["spec"].get("clusterName") == name:
                yield other
        elif kind == "ModelReplica" and (other_kind, other_namespace, other_name) == ("ModelEndpoint", namespace, name):
            yield other


def _written(document: Kind) -> Plain:
    """A document in the form it was written in, its values of Secrets as pydantic hides them."""
    plain: Plain = document.model_dump(by_alias=True, exclude_unset=True, mode="json")
    head: dict[str, Any] = {"apiVersion": document.api_version, "kind": document.kind}
    metadata = {"name": document.name, **({"namespace": document.namespace} if document.namespaced else {})}
    rest = {key: value for key, value in plain.items() if key not in ("apiVersion", "kind", "metadata")}
    return {**head, "metadata": {**plain["metadata"], **metadata}, **rest}
