"""From a plain manifest to a Pulumi resource: one function, one table of kinds."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import pulumi
import pulumi_kubernetes as kubernetes
from pulumi import Input, Output, ResourceOptions

Manifest = Mapping[str, Any]

SKIP_AWAIT = "pulumi.com/skipAwait"
"""A model may load for an hour: readiness is reported from the live object, not awaited by the update."""

OFFLINE_KUBECONFIG = '{"apiVersion": "v1", "kind": "Config", "current-context": "offline"}'
"""A kubeconfig that leads nowhere: the provider takes its cluster for unreachable before it makes any call, and
previews from the state alone. Kubeconfig is a provider's input that replaces nothing, as `provider` sets it up."""

TAKE_BACK = {"pulumi.com/patchForce": "true"}
"""Fields that we set are ours: what others wrote into them is taken back. Fields that we do not set are theirs."""

NEW_FOR = {("v1", "Service"): ["spec.ports[*].port"]}
"""Fields whose change makes an object anew, the old one first. An API server tells a Service's ports apart by their
numbers: where somebody has changed one, ours would come besides it, and two without a name are refused."""

WAIT_FOR = "pulumi.com/waitFor"
TIMEOUT = "pulumi.com/timeoutSeconds"

_ARGUMENTS = {"addressType": "address_type", "roleRef": "role_ref", "stringData": "string_data"}
"""Fields of objects whose argument is called differently."""


@cache
def classes() -> Mapping[tuple[str, str], Callable[..., pulumi.CustomResource]]:
    """The SDK's class of each kind that has one here.

    The SDK loads its parts when they are first asked for, which takes seconds, and not safely from several threads.
    Commands that only look need none of them; whoever runs programs side by side asks for them before.
    """
    _ = (  # named by annotations of these classes, and looked up when one is made
        kubernetes.helm.v3.Release,
        kubernetes.meta.v1.ObjectMetaArgs,
        kubernetes.scheduling.v1alpha3.WorkloadPodGroupSchedulingPolicyArgs,
    )
    return {
        ("v1", "ConfigMap"): kubernetes.core.v1.ConfigMap,
        ("v1", "Namespace"): kubernetes.core.v1.Namespace,
        ("v1", "PersistentVolumeClaim"): kubernetes.core.v1.PersistentVolumeClaim,
        ("v1", "ResourceQuota"): kubernetes.core.v1.ResourceQuota,
        ("v1", "Secret"): kubernetes.core.v1.Secret,
        ("v1", "Service"): kubernetes.core.v1.Service,
        ("v1", "ServiceAccount"): kubernetes.core.v1.ServiceAccount,
        ("apps/v1", "Deployment"): kubernetes.apps.v1.Deployment,
        ("batch/v1", "Job"): kubernetes.batch.v1.Job,
        ("discovery.k8s.io/v1", "EndpointSlice"): kubernetes.discovery.v1.EndpointSlice,
        ("rbac.authorization.k8s.io/v1", "Role"): kubernetes.rbac.v1.Role,
        ("rbac.authorization.k8s.io/v1", "RoleBinding"): kubernetes.rbac.v1.RoleBinding,
        ("resource.k8s.io/v1", "ResourceClaimTemplate"): kubernetes.resource.v1.ResourceClaimTemplate,
    }


class LiveObject(pulumi.CustomResource):
    """An object of a custom kind whose live `status` is an output; the SDK's own class leaves it out."""

    def __init__(self, name: str, manifest: Manifest, opts: ResourceOptions) -> None:
        token = f"kubernetes:{manifest['apiVersion']}:{manifest['kind']}"
        super().__init__(token, name, {**manifest, "status": None}, opts)

    @property
    def status(self) -> Output[Any]:
        """The object's status as the API server gave it last; None while it has none."""
        found: Output[Any] = pulumi.get(self, "status")
        return found


def register(manifest: Manifest, name: str, opts: ResourceOptions) -> pulumi.CustomResource:
    """Register one Kubernetes object; kinds without a class of their own are custom resources."""
    metadata = manifest["metadata"]
    manifest = {**manifest, "metadata": {**metadata, "annotations": {**metadata.get("annotations", {}), **TAKE_BACK}}}
    api_version, kind = manifest["apiVersion"], manifest["kind"]
    body = {_ARGUMENTS.get(key, key): value for key, value in manifest.items() if key not in {"apiVersion", "kind"}}
    if fields := NEW_FOR.get((api_version, kind)):
        anew = ResourceOptions(replace_on_changes=fields, delete_before_replace=True)
        opts = ResourceOptions.merge(opts, anew)
    typed = classes().get((api_version, kind))
    if typed is None:
        return LiveObject(name, manifest, opts)
    return typed(name, **body, opts=opts)


def provider(name: str, kubeconfig: Input[str], cluster_identifier: str, opts: ResourceOptions) -> kubernetes.Provider:
    """The provider for one cluster. The identifier is constant, so that a rotated kubeconfig replaces nothing.

    Secrets and ConfigMaps change in place: replaced ones would be missing for a moment, and pods that start in it fail.
    """
    return kubernetes.Provider(
        name,
        kubeconfig=Output.secret(kubeconfig),
        cluster_identifier=cluster_identifier,
        enable_server_side_apply=True,
        enable_config_map_mutable=True,
        enable_secret_mutable=True,
        opts=ResourceOptions.merge(opts, ResourceOptions(additional_secret_outputs=["kubeconfig"])),
    )


def namespace_manifest(name: str, fleet: str, fleet_label: str) -> dict[str, Any]:
    """A namespace that is recognisably this fleet's."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {fleet_label: fleet}}}
