"""The kinds of a fleet directory as checked, frozen values, and what is derived from them: names, labels, addresses.

Models are loaded when they are asked for: what needs an error or a name alone does not pay for them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from api.caches import ModelCache
    from api.classes import InferenceClass
    from api.clusters import InferenceCluster
    from api.config_maps import ConfigMap
    from api.deployments import ModelDeployment
    from api.fleets import Fleet, Secret
    from api.replicas import ModelReplica
    from api.routing import InferenceGateway, ModelEndpoint, ModelService

__all__ = [
    "ConfigMap",
    "Fleet",
    "InferenceClass",
    "InferenceCluster",
    "InferenceGateway",
    "ModelCache",
    "ModelDeployment",
    "ModelEndpoint",
    "ModelReplica",
    "ModelService",
    "Secret",
]

_MODULES = {
    "ConfigMap": "config_maps",
    "Fleet": "fleets",
    "InferenceClass": "classes",
    "InferenceCluster": "clusters",
    "InferenceGateway": "routing",
    "ModelCache": "caches",
    "ModelDeployment": "deployments",
    "ModelEndpoint": "routing",
    "ModelReplica": "replicas",
    "ModelService": "routing",
    "Secret": "fleets",
}


def __getattr__(name: str) -> Any:
    """Load a model (PEP 562)."""
    if name not in _MODULES:
        raise AttributeError(f"module 'api' has no attribute {name!r}")
    return getattr(import_module(f"api.{_MODULES[name]}"), name)
