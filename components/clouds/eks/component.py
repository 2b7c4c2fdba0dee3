"""The control plane by the component of pulumi_eks, without all that it would bring besides.

In this authentication mode it writes the ConfigMap `aws-auth` from within the update, through the command `aws`, and is
done when the API server answers. Addons, node groups and Pod Identity stay plain resources.
"""

from typing import Any

import pulumi_eks as eks
from pulumi import ComponentResource, ResourceOptions

from components.clouds.eks import plan
from components.clouds.eks.network import Network
from components.clouds.site import CloudSite

OFF = {"enabled": False}


def touch() -> None:
    """Load every part of the SDK that is used."""
    for part in (eks.Cluster, eks.KubeconfigOptionsArgs, eks.AuthenticationMode.API_AND_CONFIG_MAP):
        str(part)


def register(
    parent: ComponentResource, name: str, site: CloudSite, net: Network, roles: Any, opts: ResourceOptions
) -> eks.Cluster:
    """Register the component. Its provider is given by name: a default one would be of another account and version."""
    account = parent.get_provider("aws:eks/cluster:Cluster")
    return eks.Cluster(
        f"{name}/cluster",
        name=plan.cluster_name(site.cluster),
        version=site.version,
        service_role=roles.cluster.made,
        instance_roles=[roles.nodes.made],
        authentication_mode=eks.AuthenticationMode.API_AND_CONFIG_MAP,
        vpc_id=net.vpc.id,
        public_subnet_ids=[subnet.id for subnet in net.public.values()],
        private_subnet_ids=[subnet.id for subnet in net.private.values()],
        endpoint_public_access=True,
        endpoint_private_access=True,
        skip_default_node_group=True,
        skip_default_security_groups=True,
        use_default_vpc_cni=True,
        kube_proxy_addon_options=OFF,
        coredns_addon_options=OFF,
        provider_credential_opts=eks.KubeconfigOptionsArgs(),
        opts=ResourceOptions.merge(opts, ResourceOptions(providers=[account] if account else None)),
    )
