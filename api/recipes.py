"""How a cloud makes the nodes of an InferenceClass: one recipe for each cloud."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from api.base import Model
from api.blocks import Choice
from api.grammar import Integer, Text, Text63

DiskSize = Annotated[Integer, Field(ge=10)]


class Accelerator(Model):
    """The GPUs of one node: GKE attaches them by it, elsewhere the machine's type decides; the scheduler reads none."""

    type: Text63
    """Model of the GPU, as in nvidia-l4; value of the node label modelplane.ai/gpu."""
    count: Annotated[Integer, Field(ge=1, le=16)]
    """GPUs of one node."""


class GKENodes(Model):
    """How GKE makes such a node."""

    machine_type: Text
    """Machine type of Compute Engine, as in g2-standard-8."""
    disk_size_gb: DiskSize = 100
    """Size of the boot disk in GB."""
    accelerator: Accelerator
    """The GPUs that GKE attaches."""


class EKSNodes(Model):
    """How EKS makes such a node."""

    instance_type: Text
    """EC2 instance type, as in p5en.48xlarge; it fixes the GPUs."""
    disk_size_gb: DiskSize = 100
    """Size of the root volume in GB."""
    accelerator: Accelerator
    """What the instance type brings, for people and node labels."""


class AKSNodes(Model):
    """How AKS makes such a node."""

    vm_size: Text
    """Azure VM size, as in Standard_ND96isr_H100_v5; it fixes the GPUs."""
    disk_size_gb: DiskSize = 100
    """Size of the OS disk in GB."""
    accelerator: Accelerator
    """What the VM size brings, for people and node labels."""


class NebiusNodes(Model):
    """How Nebius makes such a node."""

    platform: Text63
    """Nebius platform, as in gpu-h100-sxm."""
    preset: Text63
    """Share of a machine of that platform, as in 8gpu-128vcpu-1600gb."""
    disk_size_gb: DiskSize = 100
    """Size of the boot disk in GB."""
    drivers_preset: Text63 = "cuda13.0"
    """NVIDIA driver bundle that nodes come with, as Nebius names it."""
    accelerator: Accelerator
    """What platform and preset bring, for people and node labels."""


class VultrNodes(Model):
    """How Vultr makes such a node; the plan fixes the disk."""

    plan: Text63
    """Vultr plan; it fixes GPUs and disk."""
    accelerator: Accelerator
    """What the plan brings, for people and node labels."""


Nodes = GKENodes | EKSNodes | AKSNodes | NebiusNodes | VultrNodes


class Recipe(Choice):
    """What the recipes have in common: rules ICL-V1 to ICL-V5 and ICL-N1."""

    _field: ClassVar[str] = "provider"
    _foreign_rule: ClassVar[str] = "ICL-N1"
    _rules: ClassVar[dict[str, str]] = {
        "GKE": "ICL-V1",
        "EKS": "ICL-V2",
        "AKS": "ICL-V3",
        "Nebius": "ICL-V4",
        "Vultr": "ICL-V5",
    }

    @property
    def block(self) -> Nodes:
        """The provider's own block."""
        nodes: Nodes = getattr(self, self.block_name())
        return nodes


class GKERecipe(Recipe):
    """Nodes that GKE makes."""

    provider: Literal["GKE"]
    """The cloud that makes the nodes."""
    gke: GKENodes
    """What to ask GKE for."""


class EKSRecipe(Recipe):
    """Nodes that EKS makes."""

    provider: Literal["EKS"]
    """The cloud that makes the nodes."""
    eks: EKSNodes
    """What to ask EKS for."""


class AKSRecipe(Recipe):
    """Nodes that AKS makes."""

    provider: Literal["AKS"]
    """The cloud that makes the nodes."""
    aks: AKSNodes
    """What to ask AKS for."""


class NebiusRecipe(Recipe):
    """Nodes that Nebius makes."""

    provider: Literal["Nebius"]
    """The cloud that makes the nodes."""
    nebius: NebiusNodes
    """What to ask Nebius for."""


class VultrRecipe(Recipe):
    """Nodes that Vultr makes."""

    provider: Literal["Vultr"]
    """The cloud that makes the nodes."""
    vultr: VultrNodes
    """What to ask Vultr for."""


Provisioning = Annotated[
    GKERecipe | EKSRecipe | AKSRecipe | NebiusRecipe | VultrRecipe, Field(discriminator="provider")
]
"""The cloud that makes the nodes, with its block."""
