"""InferenceClass: a tested recipe for one kind of GPU node, its devices and how a cloud makes it."""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from api.base import API_VERSION, Fault, Kind, Model, Path, repeated
from api.grammar import (
    DECIMAL,
    DEVICE_KEY,
    Boolean,
    DnsLabel,
    DnsSubdomain,
    Integer,
    is_match,
    is_quantity,
    is_semver,
)
from api.names import ANNOTATION_HOURLY_COST
from api.recipes import Provisioning
from api.terms import named

GPU_DRIVER = "gpu.nvidia.com"
_NOMINAL_GIB = (24, 48, 80, 94, 141, 180, 192)


class Attribute(Model):
    """A typed fact about a device; exactly one of the four is set."""

    string: Annotated[str, Field(max_length=253)] | None = None
    """A text of at most 253 characters."""
    version: Annotated[str, Field(max_length=32)] | None = None
    """A semantic version without a leading v, as in 9.0.0."""
    boolean: Annotated[Boolean | None, Field(alias="bool")] = None
    """A truth value."""
    integer: Annotated[Annotated[Integer, Field(ge=-(2**63), le=2**63 - 1)] | None, Field(alias="int")] = None
    """A whole number of 64 bits."""

    def faults(self) -> Iterator[Fault]:
        """ICL-V7 and ICL-N5."""
        given = [value for value in (self.string, self.version, self.boolean, self.integer) if value is not None]
        if len(given) != 1:
            hint = "keep the one that has the device's own type"
            yield Fault("ICL-V7", (), "set one and only one of string, version, bool, int", hint)
        if self.version is not None and not is_semver(self.version):
            hint = "write major.minor.patch without a leading v, as in 9.0.0"
            yield Fault("ICL-N5", ("version",), f"{self.version!r} is not a semantic version", hint)


class Capacity(Model):
    """A quantity of a device: usable as the driver reports it, not nominal."""

    value: Annotated[str, Field(min_length=1, max_length=32)]
    """A Kubernetes quantity, as in 81559Mi; not negative."""

    def faults(self) -> Iterator[Fault]:
        """ICL-N4."""
        if not is_quantity(self.value):
            hint = "write a number and a suffix without a blank, as in 81559Mi or 80Gi"
            yield Fault("ICL-N4", ("value",), f"{self.value!r} is not a Kubernetes quantity", hint)


class Device(Model):
    """One kind of device that a node has. DRA devices are matched and claimed, Synthetic ones only matched."""

    name: DnsLabel
    """Name of the entry within the class, as in gpu or nic: a DNS label."""
    claim: Literal["DRA", "Synthetic"] = "DRA"
    """DRA: selectors match it and engines claim it. Synthetic: a fact about the node, matched and never claimed."""
    driver: DnsSubdomain
    """DRA driver of the device, as in gpu.nvidia.com; also the domain of attributes and capacities without one."""
    device_class_name: DnsSubdomain | None = None
    """DeviceClass on the cluster that the device is claimed through; needed for DRA, ignored for Synthetic."""
    count: Annotated[Integer, Field(ge=1, le=64)] = 1
    """How many of them one node has."""
    attributes: Annotated[dict[str, Attribute], Field(max_length=32)] = {}
    """Facts that selectors compare, by identifier or domain/identifier."""
    capacity: Annotated[dict[str, Capacity], Field(max_length=32)] = {}
    """Quantities that selectors compare, by identifier or domain/identifier."""

    def faults(self) -> Iterator[Fault]:
        """ICL-V6 and ICL-N6."""
        if self.claim == "DRA" and self.device_class_name is None:
            hint = f"add deviceClassName: {self.driver}, or claim: Synthetic for a fact that is not claimed"
            message = "a device claimed through DRA must name its DeviceClass"
            yield Fault("ICL-V6", ("deviceClassName",), message, hint)
        yield from _key_faults("attributes", self.attributes)
        yield from _key_faults("capacity", self.capacity)

    def cautions(self) -> Iterator[Fault]:
        """ICL-N8: memory that no driver reports."""
        memory = self.capacity.get("memory")
        if self.driver == GPU_DRIVER and memory and memory.value in {f"{size}Gi" for size in _NOMINAL_GIB}:
            message = f"{memory.value} looks nominal; the device on the node will report less and never bind"
            hint = "publish what the driver reports, as in 81559Mi for an H100 of 80 GB"
            yield Fault("ICL-N8", ("capacity", "memory", "value"), message, hint)


class InferenceClassSpec(Model):
    """What one node of the class has, and how it is made; no provisioning means bring your own."""

    description: str = ""
    """A note for people; nothing reads it."""
    provisioning: Provisioning | None = None
    """How a cloud makes such nodes; leave it out for nodes that somebody else makes."""
    devices: Annotated[tuple[Device, ...], Field(min_length=1, max_length=16)]
    """What one node has, one entry for each kind of device, 1 to 16, each name once."""

    def faults(self) -> Iterator[Fault]:
        """Device names are unique (schema)."""
        yield from repeated(named(self.devices), "schema", ("devices",), "name")

    def cautions(self) -> Iterator[Fault]:
        """ICL-N7 and ICL-N9."""
        claimable = [device for device in self.devices if device.claim == "DRA"]
        if not claimable:
            message = "nothing here can be claimed, so no engine can ever be placed on this class"
            yield Fault("ICL-N7", ("devices",), message, "give the GPU claim: DRA and its deviceClassName")
        if self.provisioning is None:
            return
        count = self.provisioning.block.accelerator.count
        gpus = sum(device.count for device in claimable if device.driver == GPU_DRIVER)
        if gpus and gpus != count:
            at: Path = ("provisioning", self.provisioning.provider.lower(), "accelerator", "count")
            message = f"{count} disagrees with the {gpus} GPUs of spec.devices"
            yield Fault("ICL-N9", at, message, "write what one node really has in both places")


class InferenceClass(Kind):
    """What one node of a kind offers: its devices, and how a cloud is asked for it."""

    namespaced: ClassVar[bool] = False

    api_version: Literal["modelplane.ai/v1alpha1"] = API_VERSION
    """Group and version of the kind."""
    kind: Literal["InferenceClass"] = "InferenceClass"
    """The kind of the document."""
    spec: InferenceClassSpec
    """What a node of the class has, and how it is made."""

    @property
    def hourly_cost(self) -> float | None:
        """What one node costs per hour; None where the class does not tell."""
        told = self.metadata.annotations.get(ANNOTATION_HOURLY_COST)
        return None if told is None else float(told)

    def faults(self) -> Iterator[Fault]:
        """ICL-X1."""
        told = self.metadata.annotations.get(ANNOTATION_HOURLY_COST)
        if told is not None and not is_match(DECIMAL, told):
            path = ("metadata", "annotations", ANNOTATION_HOURLY_COST)
            yield Fault("ICL-X1", path, f"{told!r} is not a price per hour", 'write a decimal number, as in "12.50"')


def _key_faults(field: str, entries: dict[str, Attribute] | dict[str, Capacity]) -> Iterator[Fault]:
    for key in entries:
        if not is_match(DEVICE_KEY, key):
            hint = "use a bare identifier of at most 32 characters, or domain/identifier"
            yield Fault("ICL-N6", (field, key), f"key {key!r} is not a device key", hint)
