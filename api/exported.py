"""Documents that were read out of a cluster: what the cluster wrote into them is left out before they are checked."""

from typing import Any

from api.base import Path

_OF_THE_SERVER = (
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "finalizers",
    "generateName",
    "generation",
    "managedFields",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
)
"""Fields of metadata that an API server or a controller writes."""
_MARKS = frozenset(("managedFields", "resourceVersion", "uid"))
"""Fields that only a document out of a cluster has."""


def wanted_only(document: Any) -> tuple[Any, tuple[Path, ...]]:
    """The document without what a cluster wrote, and the paths of what was left out.

    `spec.crossplane` is left out of exported documents only: in one that was written by hand it would be a setting
    without effect, and is refused as an unknown field.
    """
    left_out: list[Path] = [("status",)] if "status" in document else []
    kept = {key: value for key, value in document.items() if key != "status"}
    metadata = document.get("metadata")
    if isinstance(metadata, dict):
        left_out += [("metadata", name) for name in _OF_THE_SERVER if name in metadata]
        kept["metadata"] = {key: value for key, value in metadata.items() if key not in _OF_THE_SERVER}
        spec = document.get("spec")
        if metadata.keys() & _MARKS and isinstance(spec, dict) and "crossplane" in spec:
            left_out.append(("spec", "crossplane"))
            kept["spec"] = {key: value for key, value in spec.items() if key != "crossplane"}
    return (kept, tuple(left_out)) if left_out else (document, ())
