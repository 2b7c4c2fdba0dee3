"""Kinds that Modelplane makes itself, and which kind a user writes instead."""

from api.base import API_VERSION

INTERNAL_VERSION = "infrastructure.modelplane.ai/v1alpha1"
_CLOUDS = ("GKE", "EKS", "AKS", "Nebius", "Vultr")
INSTEAD = {
    (API_VERSION, "ModelReplica"): "write a ModelDeployment; its replicas are placed and made for it",
    (INTERNAL_VERSION, "ServingStack"): (
        "write spec.stack in the InferenceCluster; versions belong in spec.servingStack.versions of the Fleet"
    ),
    **{
        (INTERNAL_VERSION, f"{cloud}Cluster"): f"write an InferenceCluster with spec.cluster.source: {cloud}"
        for cloud in _CLOUDS
    },
}
"""What to write in place of an internal kind."""


def instead(version: str, kind: str) -> str | None:
    """What to write in place of this kind; None where it is not one of the internal kinds."""
    if version == INTERNAL_VERSION:
        return INSTEAD.get((version, kind), "write the InferenceCluster or ModelDeployment that it is made from")
    return INSTEAD.get((version, kind))
