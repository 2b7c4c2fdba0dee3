"""Small parts that several kinds share: taints, selectors, device requests, references to Secrets."""

from collections.abc import Iterable, Iterator
from typing import Annotated, Literal

from pydantic import Field

from api.base import Fault, Model, Path, label_faults, repeated
from api.grammar import DnsLabel, Integer, Text, Text253

Role = Literal["Standalone", "Leader", "Worker"]
Phase = Literal["Prefill", "Decode"]
Mode = Literal["Unified", "PrefillDecode"]
Stack = Literal["Standard", "Dynamo"]
Effect = Literal["NoSchedule", "NoExecute"]
Source = Literal["GKE", "EKS", "AKS", "Nebius", "Vultr", "Existing"]
Cloud = Literal["GKE", "EKS", "AKS", "Nebius", "Vultr"]


class Taint(Model):
    """Keeps deployments that do not tolerate it off a cluster."""

    key: Text
    value: str = ""
    effect: Effect


class Toleration(Model):
    """A taint that a deployment puts up with; no effect means both, no key with Exists means all."""

    key: str = ""
    operator: Literal["Exists", "Equal"] = "Equal"
    value: str | None = None
    effect: Effect | None = None

    def faults(self) -> Iterator[Fault]:
        """MD-V9 and MD-V10."""
        if self.operator == "Equal" and not self.key:
            hint = "name the taint's key, or use operator: Exists to match every key"
            yield Fault("MD-V9", ("key",), "Equal needs a key", hint)
        if self.operator == "Exists" and self.value is not None:
            yield Fault("MD-V10", ("value",), "Exists takes no value", "remove value, or use operator: Equal")


class LabelSelector(Model):
    """Labels that an object must carry, all of them."""

    match_labels: dict[str, str] = {}


class Selector(Model):
    """One test that a device must pass: a DRA CEL expression that returns a boolean."""

    cel: Annotated[str, Field(min_length=1, max_length=10240)]


class DeviceRequest(Model):
    """Devices each pod of a member needs: how many, and the tests one device must pass."""

    name: DnsLabel
    count: Annotated[Integer, Field(ge=1, le=64)] = 1
    selectors: Annotated[tuple[Selector, ...], Field(min_length=1, max_length=8)]


class NodeSelector(Model):
    """The device requests that a node pool must all satisfy."""

    devices: Annotated[tuple[DeviceRequest, ...], Field(min_length=1, max_length=16)]

    def faults(self) -> Iterator[Fault]:
        """Request names are unique (schema)."""
        yield from repeated(((device.name,) for device in self.devices), "schema", ("devices",), "name")


class ClaimRequest(Model):
    """A device request resolved against a pool: the DeviceClass to claim through is known."""

    name: DnsLabel
    device_class_name: Text253
    count: Annotated[Integer, Field(ge=1, le=64)] = 1
    selectors: Annotated[tuple[Selector, ...], Field(max_length=8)] = ()


class Worker(Model):
    """The worker half of a gang: one pod a node, so `nodes` is the gang's size less one."""

    nodes: Annotated[Integer, Field(ge=1, le=63)]


class CacheRef(Model):
    """A ModelCache of the same namespace."""

    name: Text


class Serving(Model):
    """How traffic reaches the engines of a replica."""

    mode: Mode = "Unified"


class SecretKeyRef(Model):
    """A Secret and the key in it; the default key is a kubeconfig's."""

    name: Text253
    key: Text253 = "kubeconfig"


def selector_faults(selector: LabelSelector | None, rule: str, at: Path) -> Iterator[Fault]:
    """Labels in a selector that no object could carry."""
    if selector is not None:
        yield from label_faults(selector.match_labels, rule, (*at, "matchLabels"))


def named(items: Iterable[object], attribute: str = "name") -> Iterator[tuple[object, ...]]:
    """The keys of a list that is unique by one attribute, for `repeated`."""
    return ((getattr(item, attribute),) for item in items)
