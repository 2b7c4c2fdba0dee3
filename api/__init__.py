"""The kinds of a fleet directory as checked, frozen values, and what is derived from them: names, labels, addresses."""

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
