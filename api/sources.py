"""Where an InferenceCluster comes from: handed over ready-made, or made on one of five clouds."""

import re
from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from api.base import Fault, Model
from api.blocks import Choice
from api.grammar import Text32, Text253, is_match

OLDEST_KUBERNETES = (1, 34)
FIRST_KUBERNETES_WITH_STABLE_DRA = (1, 35)


class SecretRef(Model):
    """A kubeconfig in a Secret of `modelplane-system`."""

    name: Text253
    """Name of the Secret."""
    key: Text253 = "kubeconfig"
    """Key of the Secret under which the kubeconfig lies."""


class IdentitySecretRef(Model):
    """A cloud identity that takes the place of the credentials in a kubeconfig."""

    name: Text253
    """Name of the Secret in `modelplane-system`."""
    key: Text253 = "private_key"
    """Key of the Secret under which the credential lies."""
    type: Literal["GoogleApplicationCredentials", "AWSWebIdentityCredentials", "NebiusServiceAccountCredentials"] = (
        "GoogleApplicationCredentials"
    )
    """What the credential is, of the cloud that the cluster runs on. AWSWebIdentityCredentials is not used."""


class ExistingCache(Model):
    """Model cache storage of a cluster that was handed over."""

    storage_class_name: Text253 | None = None
    """A StorageClass there that makes ReadWriteMany volumes on demand; without it no cache can stage on the cluster."""


class ExistingCluster(Model):
    """A cluster that somebody else runs; only software on it is managed."""

    secret_ref: SecretRef
    """The Secret with the kubeconfig that Modelplane uses."""
    identity_secret_ref: IdentitySecretRef | None = None
    """A cloud identity for a kubeconfig that holds none; leave it out where the kubeconfig is enough."""
    cache: ExistingCache | None = None
    """Storage for model caches."""

    def cautions(self) -> Iterator[Fault]:
        """IC-X4."""
        if self.identity_secret_ref and self.identity_secret_ref.type == "AWSWebIdentityCredentials":
            message = "AWSWebIdentityCredentials is not used: such an identity says neither cluster nor region"
            hint = "let the kubeconfig run `aws eks get-token`, or `modelplane kube-token eks --cluster … --region …`"
            yield Fault("IC-X4", ("identitySecretRef", "type"), message, hint)


class Credentials(Model):
    """The credentials a cloud is called with."""

    type: Literal["ProviderConfig", "ClusterProviderConfig"] = "ClusterProviderConfig"
    """Kind of upstream's credential object; both lead to the same entry of Fleet.spec.credentials."""
    name: Text253 = "default"
    """Name of the entry of Fleet.spec.credentials."""


class CloudCluster(Model):
    """What the clouds' blocks have in common."""

    kubernetes_version: str
    """Kubernetes version of the cluster, 1.34 or newer; 1.35 is the first whose device claims are stable."""
    credentials: Credentials = Credentials()
    """Which credentials to call the cloud with; cannot change once the cluster is made."""

    def faults(self) -> Iterator[Fault]:
        """IC-N9."""
        version = self.kubernetes_version
        at = ("kubernetesVersion",)
        if not 1 <= len(version) <= 16 or (number := kubernetes_number(version)) is None:
            yield Fault("IC-N9", at, f"{version!r} is not a Kubernetes version", 'write one such as "1.36"')
        elif number < OLDEST_KUBERNETES:
            yield Fault("IC-N9", at, f"{version} is too old for device claims", 'take "1.35" or newer')

    def cautions(self) -> Iterator[Fault]:
        """Between the floor and the first version that asks for nothing extra."""
        number = kubernetes_number(self.kubernetes_version)
        if number and number < FIRST_KUBERNETES_WITH_STABLE_DRA:
            message = f"device claims are only stable from 1.35; {self.kubernetes_version} may not match every device"
            yield Fault("IC-N9", ("kubernetesVersion",), message, 'take "1.35" or newer where the cloud offers it')


class GKECluster(CloudCluster):
    """A cluster on Google Cloud."""

    region: Text32
    """Google Cloud region, as in us-central1; cannot change once the cluster is made."""
    kubernetes_version: str = "1.35"
    """Kubernetes version, 1.34 or newer; the REGULAR channel of GKE has to offer it."""


class EKSCluster(CloudCluster):
    """A cluster on AWS."""

    region: Text32
    """AWS region, as in us-west-2; cannot change once the cluster is made."""
    kubernetes_version: str = "1.36"
    """Kubernetes version that EKS offers, 1.34 or newer."""


class AKSCluster(CloudCluster):
    """A cluster on Azure."""

    location: Text32
    """Azure region, as in westeurope; cannot change once the cluster is made."""
    kubernetes_version: str = "1.34"
    """Kubernetes version that AKS offers, 1.34 or newer."""


class NebiusCluster(CloudCluster):
    """A cluster on Nebius; the block may be empty, the region follows from the project."""

    kubernetes_version: str = "1.34"
    """Kubernetes version that Nebius offers, 1.34 or newer."""


class VultrCluster(CloudCluster):
    """A cluster on Vultr."""

    region: Text32
    """Vultr region, as in ewr; cannot change once the cluster is made."""
    kubernetes_version: str = "v1.36.1+3"
    """The whole version as Vultr offers it, with v and build number, as in v1.36.1+3."""

    def faults(self) -> Iterator[Fault]:
        """IC-N9, in Vultr's form."""
        if is_match(r"v[0-9]+\.[0-9]+\.[0-9]+\+[0-9]+", self.kubernetes_version):
            yield from super().faults()
        else:
            message = f"{self.kubernetes_version!r} is not a version of Vultr's"
            yield Fault("IC-N9", ("kubernetesVersion",), message, "write the whole version, as in v1.36.1+3")


class AnySource(Choice):
    """What the sources have in common: rules IC-V1 to IC-V6 and IC-N1."""

    _field: ClassVar[str] = "source"
    _foreign_rule: ClassVar[str] = "IC-N1"
    _rules: ClassVar[dict[str, str]] = {
        "Existing": "IC-V1",
        "GKE": "IC-V2",
        "EKS": "IC-V3",
        "AKS": "IC-V4",
        "Nebius": "IC-V5",
        "Vultr": "IC-V6",
    }

    @property
    def cloud(self) -> CloudCluster | None:
        """The cloud's own block; None for a cluster that was handed over."""
        block = getattr(self, self.block_name())
        return block if isinstance(block, CloudCluster) else None

    @property
    def region(self) -> str:
        """Region or location as the cloud calls it; empty where the source has none."""
        return str(getattr(self.cloud, "region", "") or getattr(self.cloud, "location", ""))

    @property
    def credentials(self) -> str:
        """Name of the credentials; empty for a cluster that was handed over."""
        return self.cloud.credentials.name if self.cloud else ""


class CloudSource(AnySource):
    """A cluster that Modelplane makes."""

    @property
    def existing(self) -> ExistingCluster | None:
        """Nothing: a cluster is made or handed over."""
        return None


class ExistingSource(AnySource):
    """A cluster that was handed over."""

    source: Literal["Existing"]
    """Where the cluster comes from; cannot change once the cluster is made."""
    existing: ExistingCluster
    """How to reach the cluster, and what is there."""


class GKESource(CloudSource):
    """A cluster to be made on Google Cloud."""

    source: Literal["GKE"]
    """Where the cluster comes from; cannot change once the cluster is made."""
    gke: GKECluster
    """Settings of the GKE cluster."""


class EKSSource(CloudSource):
    """A cluster to be made on AWS."""

    source: Literal["EKS"]
    """Where the cluster comes from; cannot change once the cluster is made."""
    eks: EKSCluster
    """Settings of the EKS cluster."""


class AKSSource(CloudSource):
    """A cluster to be made on Azure."""

    source: Literal["AKS"]
    """Where the cluster comes from; cannot change once the cluster is made."""
    aks: AKSCluster
    """Settings of the AKS cluster."""


class NebiusSource(CloudSource):
    """A cluster to be made on Nebius."""

    source: Literal["Nebius"]
    """Where the cluster comes from; cannot change once the cluster is made."""
    nebius: NebiusCluster
    """Settings of the Nebius cluster; an empty block means all defaults."""


class VultrSource(CloudSource):
    """A cluster to be made on Vultr."""

    source: Literal["Vultr"]
    """Where the cluster comes from; cannot change once the cluster is made."""
    vultr: VultrCluster
    """Settings of the Vultr cluster."""


ClusterSource = Annotated[
    ExistingSource | GKESource | EKSSource | AKSSource | NebiusSource | VultrSource, Field(discriminator="source")
]
"""Where a cluster comes from, with that source's block."""


def kubernetes_number(version: str) -> tuple[int, int] | None:
    """Major and minor of a version such as `1.36`, `v1.36.1+3` or `1.35.2-gke.100`; None where it is none."""
    found = re.fullmatch(r"v?([0-9]+)\.([0-9]+)(?:[.+-][0-9A-Za-z.+-]*)?", version)
    return (int(found[1]), int(found[2])) if found else None
