"""The rights Modelplane needs on a cluster and on the hub, as RBAC rules: as few as the fleet's documents ask for.

Charts hand out rights of their own, and Kubernetes lets nobody hand out what he does not have: where a chart is to be
installed the installer needs everything. Where all charts are found, what is left is what the product makes itself.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Plain = dict[str, Any]

READ = ("get", "list", "watch")
WRITE = ("create", "delete", "get", "list", "patch", "update", "watch")
EVERYTHING = "*"


@dataclass(frozen=True, kw_only=True)
class Rule:
    """Verbs on kinds of one API group; the first verb stands for the rule when rights are asked about."""

    group: str
    resources: tuple[str, ...]
    verbs: tuple[str, ...]

    def plain(self) -> Plain:
        """The rule as RBAC writes it."""
        return {"apiGroups": [self.group], "resources": list(self.resources), "verbs": list(self.verbs)}


INSTALLER = Rule(group=EVERYTHING, resources=(EVERYTHING,), verbs=(EVERYTHING,))
"""What installing charts takes."""
_DEFINITIONS = Rule(group="apiextensions.k8s.io", resources=("customresourcedefinitions",), verbs=WRITE)
_READ_DEFINITIONS = Rule(group="apiextensions.k8s.io", resources=("customresourcedefinitions",), verbs=READ)


def cluster_rules(*, charts: bool, definitions: bool, is_dynamo: bool) -> tuple[Rule, ...]:
    """Rules for a serving cluster; `charts` and `definitions` tell whether any are installed there."""
    return (INSTALLER,) if charts else tuple(_cluster(definitions=definitions, is_dynamo=is_dynamo))


def hub_rules(*, charts: bool, definitions: bool, metallb: bool) -> tuple[Rule, ...]:
    """Rules for the hub."""
    return (INSTALLER,) if charts else tuple(_hub(definitions=definitions, metallb=metallb))


def role(name: str, rules: tuple[Rule, ...]) -> Plain:
    """The ClusterRole with these rules."""
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name},
        "rules": [rule.plain() for rule in rules],
    }


def review(rule: Rule, resource: str) -> Plain:
    """The question whether the one who asks may do that."""
    kind, _, part = resource.partition("/")
    attributes = {"group": rule.group, "resource": kind, "subresource": part, "verb": rule.verbs[0]}
    return {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {key: value for key, value in attributes.items() if value}},
    }


def _cluster(*, definitions: bool, is_dynamo: bool) -> Iterator[Rule]:
    yield Rule(group="", resources=("nodes",), verbs=("list", "get", "watch"))
    yield Rule(group="", resources=("namespaces", "services", "secrets", "serviceaccounts", "configmaps"), verbs=WRITE)
    yield Rule(group="", resources=("persistentvolumeclaims",), verbs=WRITE)
    yield Rule(group="", resources=("pods", "events"), verbs=("list", "get", "watch"))
    yield Rule(group="apps", resources=("deployments",), verbs=WRITE)
    yield Rule(group="batch", resources=("jobs",), verbs=WRITE)
    yield Rule(group="discovery.k8s.io", resources=("endpointslices",), verbs=("list", "get", "watch"))
    yield Rule(group="gateway.networking.k8s.io", resources=("gateways", "httproutes"), verbs=WRITE)
    yield Rule(group="inference.networking.k8s.io", resources=("inferencepools",), verbs=WRITE)
    yield Rule(group="resource.k8s.io", resources=("resourceclaimtemplates",), verbs=WRITE)
    yield Rule(
        group="resource.k8s.io",
        resources=("resourceslices", "deviceclasses", "resourceclaims"),
        verbs=("list", "get", "watch"),
    )
    yield Rule(group="storage.k8s.io", resources=("storageclasses",), verbs=("list", "get", "watch"))
    yield Rule(
        group="rbac.authorization.k8s.io", resources=("roles", "rolebindings"), verbs=(*WRITE, "bind", "escalate")
    )
    if is_dynamo:
        yield Rule(group="scheduling.run.ai", resources=("queues",), verbs=WRITE)
        yield Rule(group="grove.io", resources=("podcliquesets",), verbs=WRITE)
    else:
        yield Rule(group="leaderworkerset.x-k8s.io", resources=("leaderworkersets",), verbs=WRITE)
    yield _DEFINITIONS if definitions else _READ_DEFINITIONS


def _hub(*, definitions: bool, metallb: bool) -> Iterator[Rule]:
    yield Rule(group="", resources=("namespaces", "services"), verbs=WRITE)
    yield Rule(group="discovery.k8s.io", resources=("endpointslices",), verbs=WRITE)
    routing = ("gateways", "httproutes", "backendtlspolicies", "referencegrants")
    yield Rule(group="gateway.networking.k8s.io", resources=routing, verbs=WRITE)
    if metallb:
        yield Rule(group="metallb.io", resources=("ipaddresspools", "l2advertisements"), verbs=WRITE)
    yield _DEFINITIONS if definitions else _READ_DEFINITIONS
