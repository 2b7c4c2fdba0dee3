"""A double of the plugin of pulumi_eks: it makes what its component makes, as far as that is asked for here.

The component's own implementation is in the plugin alone. An argument that would bring more than a control plane, or
leaves a default in place that does, is refused.
"""

import sys
from typing import Any

import pulumi
import pulumi_aws as aws
import pulumi_eks
from pulumi import Output, ResourceOptions
from pulumi.provider import ConstructResult, Provider
from pulumi.provider.server import main

VERSION = "99.0.0"
SCHEMA = '{"name": "eks", "version": "99.0.0"}'
OFF = {"enabled": False}
ASKED: dict[str, Any] = {
    "authenticationMode": pulumi_eks.AuthenticationMode.API_AND_CONFIG_MAP.value,
    "endpointPublicAccess": True,
    "endpointPrivateAccess": True,
    "skipDefaultNodeGroup": True,
    "skipDefaultSecurityGroups": True,
    "useDefaultVpcCni": True,
    "kubeProxyAddonOptions": OFF,
    "corednsAddonOptions": OFF,
    "providerCredentialOpts": {},
}
GIVEN = {"name", "version", "serviceRole", "instanceRoles", "vpcId", "publicSubnetIds", "privateSubnetIds"}


class Component(pulumi.ComponentResource):
    """The component with its one resource that matters above it."""

    def __init__(self, name: str, inputs: pulumi.Inputs, options: ResourceOptions | None) -> None:
        super().__init__("eks:index:Cluster", name, {}, options)
        subnets = Output.all(inputs["publicSubnetIds"], inputs["privateSubnetIds"])
        self.cluster = aws.eks.Cluster(
            f"{name}-eksCluster",
            name=inputs["name"],
            version=inputs["version"],
            role_arn=Output.from_input(inputs["serviceRole"]).apply(lambda role: role.arn),
            access_config={
                "authentication_mode": inputs["authenticationMode"],
                "bootstrap_cluster_creator_admin_permissions": True,
            },
            vpc_config={
                "subnet_ids": subnets.apply(lambda tiers: [*tiers[0], *tiers[1]]),
                "endpoint_public_access": True,
                "endpoint_private_access": True,
            },
            opts=ResourceOptions(parent=self),
        )
        self.register_outputs({"eksCluster": self.cluster})


class Eks(Provider):
    """What the engine asks to construct."""

    def __init__(self) -> None:
        super().__init__(VERSION, SCHEMA)

    def construct(
        self, name: str, resource_type: str, inputs: pulumi.Inputs, options: ResourceOptions | None = None
    ) -> ConstructResult:
        """The component, or an error that says which argument is wrong."""
        if resource_type != "eks:index:Cluster" or inputs.keys() != ASKED.keys() | GIVEN:
            raise ValueError(f"{resource_type}: {sorted(inputs.keys() ^ (ASKED.keys() | GIVEN))}")

        def checked(found: dict[str, Any]) -> str:
            if found != ASKED:
                raise ValueError(f"{resource_type}: {found}")
            return name

        made = Component(name, inputs, options)
        named = Output.all(**{key: inputs[key] for key in ASKED}).apply(checked)
        return ConstructResult(made.urn, {"eksCluster": made.cluster, "checked": named})


if __name__ == "__main__":
    main(Eks(), sys.argv[1:])
