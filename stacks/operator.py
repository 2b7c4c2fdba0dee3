"""A fleet's stacks for those who run stacks by themselves: Pulumi's Kubernetes Operator and Deployments. Pure.

Which stack waits for which is no more than programs ask for. A cluster that cannot be made keeps nobody waiting but its
own stacks: placement takes it for not ready and goes on. What takes several rounds in a pass takes several runs here.

Sources: pulumi-kubernetes-operator, docs/stacks.md (pulumi.com/v1 Stack); Pulumi's documentation of Deployments.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from api import names
from api.documents import FleetDocuments
from api.names import StackName
from stacks.environment import PASSPHRASE, PROJECT
from stacks.plan import fleet_stacks

API_VERSION = "pulumi.com/v1"
RESYNC_SECONDS = 60
"""How soon a stack is run again although no document changed: readiness, drift and the next round are seen then."""
LONGEST_RETRY_SECONDS = 300

Plain = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where the checkout lies that stacks are run from, and where in it the fleet's documents are."""

    repository: str
    branch: str
    fleet: str
    """Directory of the documents, below the checkout's root."""
    backend: str
    organization: str = "organization"
    """Of Pulumi Cloud; backends that are a bucket have one of this name."""
    namespace: str = "default"
    secret: str = "pulumi"  # noqa: S105 - the name of an object
    """Secret with the variables that stacks need: the passphrase, and what kubeconfigs and clouds are reached with."""
    service_account: str = "pulumi"


def needs(stack: StackName) -> list[StackName]:
    """The stacks that have to have come up before this one can."""
    fleet, cluster = stack.fleet, stack.cluster
    before = {
        "serving": [StackName(fleet, "cluster", cluster)],
        "workloads": [StackName(fleet, "serving", cluster), StackName(fleet, "placement")],
        "routing": [StackName(fleet, "gateway"), StackName(fleet, "placement")],
    }
    return before.get(stack.kind, [])


def operator_stacks(fleet: str, clusters: Iterable[str], source: Source, variables: Iterable[str]) -> list[Plain]:
    """A Stack for each stack; `variables` are keys of the Secret that its programs read."""
    return [_stack(stack, source, tuple(variables)) for stack in fleet_stacks(fleet, clusters)]


def deployment_settings(fleet: str, clusters: Iterable[str], source: Source) -> Mapping[str, Plain]:
    """Settings of Pulumi Deployments by stack; secrets are set beside them, where they are encrypted."""
    settings: Plain = {
        "sourceContext": {"git": {"repoUrl": source.repository, "branch": f"refs/heads/{source.branch}"}},
        "operationContext": {
            "options": {"skipIntermediateDeployments": True},
            "environmentVariables": {"MODELPLANE_FLEET": source.fleet},
        },
    }
    return {f"{source.organization}/{PROJECT}/{stack}": settings for stack in fleet_stacks(fleet, clusters)}


def variables_of(documents: FleetDocuments) -> list[str]:
    """Variables that programs read on whatever runs them: the passphrase, and what the Fleet names."""
    settings = documents.fleet.spec if documents.fleet else None
    secrets = settings.secrets if settings else ()
    named = {source.from_env for secret in secrets for source in secret.keys.values() if source.from_env}
    for credential in settings.credentials.values() if settings else ():
        named |= {name for _, cloud in credential for name in (cloud.env.values() if cloud else ())}
    return sorted({PASSPHRASE, *named})


def files_of(documents: FleetDocuments) -> list[str]:
    """Files that the Fleet names, which are on no other machine unless somebody puts them there."""
    secrets = documents.fleet.spec.secrets if documents.fleet else ()
    return sorted({source.from_file for secret in secrets for source in secret.keys.values() if source.from_file})


def object_name(stack: StackName) -> str:
    """The name of a stack's object: `demo.cluster.us` as a DNS label has no dots."""
    return str(stack).replace(".", "-")


def _stack(stack: StackName, source: Source, variables: tuple[str, ...]) -> Plain:
    spec: Plain = {
        "stack": f"{source.organization}/{PROJECT}/{stack}",
        "backend": source.backend,
        "projectRepo": source.repository,
        "branch": source.branch,
        "config": {"modelplane:fleet": source.fleet},
        "envRefs": {
            name: {"type": "Secret", "secret": {"name": source.secret, "key": name}} for name in sorted(variables)
        },
        "serviceAccountName": source.service_account,
        "refresh": True,
        "continueResyncOnCommitMatch": True,
        "resyncFrequencySeconds": RESYNC_SECONDS,
        "retryMaxBackoffDurationSeconds": LONGEST_RETRY_SECONDS,
        "destroyOnFinalize": False,
    }
    if before := needs(stack):
        spec["prerequisites"] = [{"name": object_name(each)} for each in before]
    labels = {names.LABEL_FLEET: stack.fleet}
    metadata = {"name": object_name(stack), "namespace": source.namespace, "labels": labels}
    return {"apiVersion": API_VERSION, "kind": "Stack", "metadata": metadata, "spec": spec}
