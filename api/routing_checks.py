"""Checks of services and hand-written endpoints against what they would reach."""

from collections.abc import Iterator, Mapping
from functools import cached_property

from api.base import Path
from api.errors import Problem
from api.names import LABEL_CLUSTER, LABEL_DEPLOYMENT, LABEL_REPLICA_INDEX
from api.problems import suggestion
from api.routing import COMPOSED_LABELS, MOST_BACKENDS, ModelEndpoint, ModelService
from api.selection import LabelIndex
from api.surroundings import Surroundings

_DEPLOYMENT, _ENDPOINT = "deployment ", "endpoint "


class Backends:
    """What services of each namespace may reach: endpoints of deployments to come, and hand-written ones."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around

    def reached(self, namespace: str, labels: Mapping[str, str]) -> frozenset[str]:
        """Deployments and endpoints that a selector takes, some or all of their endpoints."""
        index = self._by_namespace.get(namespace)
        if index is None:
            return frozenset()
        found = index.carrying({key: value for key, value in labels.items() if key not in _PLACED})
        if _PLACED.keys() & labels.keys():
            found = frozenset(name for name in found if name.startswith(_DEPLOYMENT))
            if LABEL_CLUSTER in labels and labels[LABEL_CLUSTER] not in self._around.documents.clusters:
                return frozenset()
        return found

    def count(self, namespace: str, names: frozenset[str]) -> int:
        """The endpoints of these when everything is ready."""
        deployments = self._around.documents.deployments
        asked = (name.removeprefix(_DEPLOYMENT) for name in names if name.startswith(_DEPLOYMENT))
        return sum(deployments[namespace, name].spec.replicas for name in asked) + sum(
            name.startswith(_ENDPOINT) for name in names
        )

    def nearest(self, namespace: str, labels: Mapping[str, str]) -> str:
        """What was probably meant by labels that nothing carries, as a hint."""
        index = self._by_namespace.get(namespace)
        unknown = index.unknown({key: value for key, value in labels.items() if key not in _PLACED}) if index else None
        if unknown is None or not unknown[2]:
            return f"label a ModelDeployment's template or a ModelEndpoint of {namespace} so, or correct the selector"
        return f"for {unknown[0]}, {suggestion(unknown[1], unknown[2][:20])}"

    @cached_property
    def _by_namespace(self) -> Mapping[str, LabelIndex]:
        things: dict[str, list[tuple[str, Mapping[str, str]]]] = {}
        for (namespace, name), deployment in self._around.documents.deployments.items():
            labels = deployment.spec.template.metadata.labels | {LABEL_DEPLOYMENT: name}
            things.setdefault(namespace, []).append((f"{_DEPLOYMENT}{name}", labels))
        for (namespace, name), endpoint in self._around.documents.endpoints.items():
            things.setdefault(namespace, []).append((f"{_ENDPOINT}{name}", endpoint.metadata.labels))
        return {namespace: LabelIndex(listed) for namespace, listed in things.items()}


_PLACED = dict.fromkeys((LABEL_CLUSTER, LABEL_REPLICA_INDEX))
"""Labels that only the placement gives values to."""


def service_problems(service: ModelService, backends: Backends, around: Surroundings) -> Iterator[Problem]:
    """MS-F1, MS-N3 and MS-X1."""
    if not around.is_valid("ModelDeployment", "ModelEndpoint", "InferenceCluster"):
        return
    earlier: dict[str, int] = {}
    for index, entry in enumerate(service.spec.endpoints):
        at: Path = ("spec", "endpoints", index, "selector", "matchLabels")
        labels = entry.selector.match_labels
        found = backends.reached(service.namespace, labels)
        if not found:
            message = f"nothing in namespace {service.namespace} matches; the entry gets no requests"
            yield around.problem(service, "MS-F1", at, message, backends.nearest(service.namespace, labels))
        shared = sorted(name for name in found if name in earlier and not _apart(service, earlier[name], index))
        if shared:
            message = f"{shared[0]} is matched by endpoints[{earlier[shared[0]]}] too, and belongs to that entry"
            yield around.problem(service, "MS-X1", at, message, "make the selectors of the entries exclude each other")
        for name in found:
            earlier.setdefault(name, index)
    if (count := backends.count(service.namespace, frozenset(earlier))) > MOST_BACKENDS:
        message = f"{count} endpoints when all replicas are ready, and a service takes {MOST_BACKENDS}"
        hint = "split it into several services, or lower the replicas"
        yield around.problem(service, "MS-N3", ("spec", "endpoints"), message, hint)


def endpoint_problems(endpoint: ModelEndpoint, around: Surroundings) -> Iterator[Problem]:
    """ME-N4."""
    for label in COMPOSED_LABELS:
        if label in endpoint.metadata.labels:
            hint = "take a label of your own; this one marks endpoints that Modelplane makes"
            path: Path = ("metadata", "labels", label)
            yield around.problem(endpoint, "ME-N4", path, "reserved for composed endpoints", hint)


def _apart(service: ModelService, first: int, second: int) -> bool:
    """Whether two entries want different values of a label, so that no endpoint is in both."""
    one, other = (service.spec.endpoints[index].selector.match_labels for index in (first, second))
    return any(key in other and other[key] != value for key, value in one.items())
