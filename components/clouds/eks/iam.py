"""Roles of an EKS cluster. Pods get theirs by EKS Pod Identity: there is no OIDC provider."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi_aws as aws
from pulumi import ComponentResource, Output, Resource, ResourceOptions

from components.clouds.eks import plan


@dataclass(frozen=True, kw_only=True)
class Role:
    """A role, and what has to be attached before it is of use."""

    made: aws.iam.Role
    policies: Sequence[Resource]

    @property
    def arn(self) -> Output[str]:
        """Its ARN."""
        arn: Output[str] = self.made.arn
        return arn


def role(parent: ComponentResource, name: str, key: str, service: str, policies: Iterable[str]) -> Role:
    """A role for one service with policies of AWS's own."""
    made = _role(parent, name, key, service)
    attached = [
        _attach(parent, f"{name}/iam-role-{key}-{short}", made, arn)
        for short, arn in plan.policy_arns(policies).items()
    ]
    return Role(made=made, policies=attached)


def autoscaler_role(parent: ComponentResource, name: str) -> Role:
    """The role of the cluster autoscaler, with a policy of its own."""
    made = _role(parent, name, "cluster-autoscaler", "pods.eks")
    policy = aws.iam.Policy(
        f"{name}/iam-policy-cluster-autoscaler",
        name_prefix="modelplane-cluster-autoscaler-",
        policy=plan.autoscaler_policy(),
        opts=ResourceOptions(parent=parent),
    )
    attached = _attach(parent, f"{name}/iam-role-cluster-autoscaler-policy", made, policy.arn)
    return Role(made=made, policies=[attached])


def pod_identity(
    parent: ComponentResource, name: str, account: str, cluster: Output[str], granted: Role
) -> aws.eks.PodIdentityAssociation:
    """Give a role to a service account of `kube-system` of the cluster of that name."""
    return aws.eks.PodIdentityAssociation(
        f"{name}/pod-identity-{account}",
        cluster_name=cluster,
        namespace=plan.ADDON_NAMESPACE,
        service_account=account,
        role_arn=granted.arn,
        opts=ResourceOptions(parent=parent, depends_on=list(granted.policies)),
    )


def _role(parent: ComponentResource, name: str, key: str, service: str) -> aws.iam.Role:
    return aws.iam.Role(
        f"{name}/iam-role-{key}",
        name_prefix=f"modelplane-{key}-",
        assume_role_policy=plan.trust(service),
        opts=ResourceOptions(parent=parent),
    )


def _attach(parent: ComponentResource, name: str, made: aws.iam.Role, arn: Output[str] | str) -> Any:
    return aws.iam.RolePolicyAttachment(name, role=made.name, policy_arn=arn, opts=ResourceOptions(parent=parent))
