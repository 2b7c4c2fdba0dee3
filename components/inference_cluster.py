"""InferenceCluster: a cluster that Modelplane makes on a cloud, with GPU pools and storage for model caches."""

from collections.abc import Mapping
from dataclasses import dataclass

from pulumi import ComponentResource, Output, ResourceOptions

from components.clouds import cloud
from components.clouds.site import CloudSite


@dataclass(frozen=True, kw_only=True)
class InferenceClusterArgs:
    """The cluster that is wanted, from `components.clouds.site.site_of`."""

    site: CloudSite


class InferenceCluster(ComponentResource):
    """One cluster on a cloud. `kubeconfig` is a secret; it resolves once everything the cluster needs is there."""

    kubeconfig: Output[str]
    identity: Output[str] | None
    """Key of the account that consumers elsewhere reach the cluster with, where the cloud has one made; a secret."""
    storage_class: str | None
    """Name of the StorageClass for model caches, known before it is there; None where the cloud has none."""
    pools: Mapping[str, Output[bool]]
    """For each GPU pool whether it is there; what it is not holds up nothing else."""

    def __init__(self, name: str, args: InferenceClusterArgs, opts: ResourceOptions | None = None) -> None:
        facts = {"cluster": args.site.cluster, "source": args.site.source}
        super().__init__("modelplane:index:InferenceCluster", name, facts, opts)
        made = cloud(args.site.source).build(self, name, args.site)
        whole = Output.all(made.kubeconfig, *(resource.urn for resource in made.resources))
        self.kubeconfig = Output.secret(whole.apply(lambda found: str(found[0])))
        self.identity = made.identity
        self.storage_class = made.storage_class
        self.pools = {name: Output.from_input(pool).apply(bool) for name, pool in made.pools.items()}
        self.register_outputs({"kubeconfig": self.kubeconfig, "storageClass": self.storage_class})
