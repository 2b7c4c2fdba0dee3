"""ModelDeployment: what a team writes to have a model served, with a replica's shape and their number."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from api.base import API_VERSION, Fault, Kind, Metadata, Model, label_faults, reserved_faults
from api.engines import engine_cautions, engine_faults, member_faults
from api.grammar import DNS_LABEL_OF_ANY_LENGTH, DnsLabel, Integer
from api.pods import LabelValue, PodTemplate
from api.terms import CacheRef, LabelSelector, NodeSelector, Phase, Role, Serving, Toleration, Worker, selector_faults

LONGEST_NAME = 63


class Member(Model):
    """One kind of pod of an engine and the devices each of those pods needs."""

    role: Role = "Standalone"
    """Standalone, or Leader or Worker of a gang; both halves of a gang name theirs."""
    node_selector: NodeSelector | None = None
    """Devices that each pod of the member needs; a member without takes none."""
    worker: Worker | None = None
    """Size of a gang; for Workers only, and one node where absent."""
    template: PodTemplate
    """Pod template of the member."""

    @property
    def nodes(self) -> int:
        """Pods, and so nodes, of one copy: a Worker without `worker` counts as one."""
        return self.worker.nodes if self.worker else 1


class Engine(Model):
    """A serving unit: one Standalone pod, or a gang of Leader and Workers; `copies` of it in every replica."""

    name: DnsLabel
    """Name of the engine within the deployment; part of the names of its workloads."""
    copies: Annotated[Integer, Field(ge=1, le=64)] = 1
    """Copies of the engine in every replica, all of them on one cluster; fixed."""
    phase: Phase | None = None
    """The phase it serves; with mode PrefillDecode one engine has each, otherwise none has one."""
    members: Annotated[tuple[Member, ...], Field(min_length=1, max_length=2)]
    """One Standalone, or one Leader and one Worker in any order."""

    def faults(self) -> Iterator[Fault]:
        """MD-V11, MD-V12 and MD-V13."""
        yield from member_faults(self.members)
        if all(member.node_selector is None for member in self.members):
            hint = "add nodeSelector.devices with at least one request"
            message = "some member must ask for devices through nodeSelector"
            yield Fault("MD-V12", ("members",), message, hint)


class DeploymentShape(Model):
    """The shape of one replica, and where it may go."""

    cluster_selector: LabelSelector | None = None
    """Clusters that replicas may go to; all where absent. It gates new placements only."""
    model_cache_ref: CacheRef | None = None
    """ModelCache of the same namespace whose weights every engine pod mounts at /mnt/models."""
    serving: Serving | None = None
    """How requests reach the engines; Unified where absent."""
    tolerations: tuple[Toleration, ...] = ()
    """Taints of clusters that the deployment puts up with."""
    engines: Annotated[tuple[Engine, ...], Field(min_length=1, max_length=8)]
    """Engines of one replica, each name once; they run on one cluster."""

    def faults(self) -> Iterator[Fault]:
        """MD-V5 to V8, MD-N5, MD-N7 and MD-N11."""
        yield from selector_faults(self.cluster_selector, "MD-N5", ("clusterSelector",))
        yield from engine_faults(self.serving, self.engines)

    def cautions(self) -> Iterator[Fault]:
        """MD-N8 and MD-X4."""
        yield from engine_cautions(self.serving, self.engines)
        for index, engine in enumerate(self.engines):
            if self.model_cache_ref is None and any(member.role == "Worker" for member in engine.members):
                message = "a gang without a model cache downloads the model once per pod"
                yield Fault("MD-N8", ("engines", index), message, "stage the weights with a ModelCache")


class TemplateMetadata(Model):
    """Labels for the replicas and endpoints of a deployment."""

    labels: Annotated[dict[str, LabelValue], Field(max_length=32)] = {}
    """Labels for replicas and endpoints, for services to select; keys under modelplane.ai/ are refused."""

    def faults(self) -> Iterator[Fault]:
        """MD-V1 to MD-V4."""
        yield from reserved_faults(self.labels, "MD-V1", ("labels",))
        yield from label_faults(self.labels, ("MD-V2", "MD-V3", "MD-V4"), ("labels",))


class DeploymentTemplate(Model):
    """Everything of a replica but the number of them."""

    metadata: TemplateMetadata = TemplateMetadata()
    """Labels of what is made from the template."""
    spec: DeploymentShape
    """Shape of one replica."""


class ModelDeploymentSpec(Model):
    """Replicas and their template. 0 replicas parks a deployment; the upper limit is Fleet.spec.limits.replicas."""

    replicas: Annotated[Integer, Field(ge=0)]
    """Whole serving instances across the fleet; 0 parks the deployment, Fleet.spec.limits.replicas is the most."""
    template: DeploymentTemplate
    """What each replica is."""


class DeploymentMetadata(Metadata):
    """Metadata of a deployment; names that are derived from its name are cut by api.names."""

    name: Annotated[str, Field(pattern=DNS_LABEL_OF_ANY_LENGTH)]
    """Name of the deployment, unique within its namespace; part of the names of replicas and URLs."""

    def faults(self) -> Iterator[Fault]:
        """MD-N6: the name becomes a label value."""
        yield from super().faults()
        if len(self.name) > LONGEST_NAME:
            message = f"at most {LONGEST_NAME} characters, this has {len(self.name)}"
            yield Fault("MD-N6", ("name",), message, "shorten it: it becomes the value of a label")


class ModelDeployment(Kind):
    """A model, the shape of one replica of it, and how many replicas there are to be."""

    api_version: Literal["modelplane.ai/v1alpha1"] = API_VERSION
    """Group and version of the kind."""
    kind: Literal["ModelDeployment"] = "ModelDeployment"
    """The kind of the document."""
    metadata: DeploymentMetadata
    """Name, namespace and labels."""
    spec: ModelDeploymentSpec
    """The model to serve."""
