"""CustomResourceDefinitions that are applied directly, and not by a chart: which there are, and how they are applied.

They come from the projects' release files or from the mirror; none is kept here.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from api.terms import Stack
from api.versions import GATEWAY_API, INFERENCE_EXTENSION, MODEL_EXPRESS, ManifestSource
from components.kubernetes_objects import WAIT_FOR

Plain = dict[str, Any]

DEFINITIONS: Mapping[str, tuple[str, ...]] = {
    GATEWAY_API.name: tuple(
        f"{plural}.gateway.networking.k8s.io"
        for plural in (
            "backendtlspolicies",
            "gatewayclasses",
            "gateways",
            "grpcroutes",
            "httproutes",
            "listenersets",
            "referencegrants",
            "tlsroutes",
        )
    ),
    INFERENCE_EXTENSION.name: (
        "inferencepools.inference.networking.k8s.io",
        "inferenceobjectives.inference.networking.x-k8s.io",
        "inferencepools.inference.networking.x-k8s.io",
    ),
    MODEL_EXPRESS.name: (
        "modelcacheentries.modelexpress.nvidia.com",
        "modelmetadatas.modelexpress.nvidia.com",
    ),
}
"""Names of the definitions by the source that brings them. Other documents of its file are left out."""


def serving_definitions(stack: Stack) -> tuple[ManifestSource, ...]:
    """Sources of the definitions of a serving cluster; those of the Gateway API come with Envoy Gateway's chart."""
    return (INFERENCE_EXTENSION, MODEL_EXPRESS) if stack == "Dynamo" else (INFERENCE_EXTENSION,)


def cleaned(documents: Iterator[Any] | list[Any], names: tuple[str, ...]) -> dict[str, Plain]:
    """The definitions with these names out of a file's documents, without what the API server owns in them."""
    found: dict[str, Plain] = {}
    for document in documents:
        if not isinstance(document, dict) or document.get("kind") != "CustomResourceDefinition":
            continue
        name = (document.get("metadata") or {}).get("name")
        if name in names:
            kept = {key: value for key, value in document["metadata"].items() if key != "creationTimestamp"}
            body = {key: value for key, value in document.items() if key != "status"}
            found[name] = {**body, "metadata": kept}
    return found


def applied(definition: Plain, labels: dict[str, str]) -> Plain:
    """A definition as it is applied: recognisably this fleet's, and there only once it is established."""
    metadata = definition["metadata"]
    return {
        **definition,
        "metadata": {
            **metadata,
            "labels": {**metadata.get("labels", {}), **labels},
            "annotations": {**metadata.get("annotations", {}), WAIT_FOR: "condition=Established"},
        },
    }
