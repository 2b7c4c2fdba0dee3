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
    """Key of the taint, in the form of a label key."""
    value: str = ""
    """Value of the taint, in the form of a label value."""
    effect: Effect
    """NoSchedule keeps new replicas away; NoExecute moves running ones off besides."""


class Toleration(Model):
    """A taint that a deployment puts up with; no effect means both, no key with Exists means all."""

    key: str = ""
    """Key of the taint; empty with operator Exists stands for every key."""
    operator: Literal["Exists", "Equal"] = "Equal"
    """Equal compares key and value, Exists the key alone."""
    value: str | None = None
    """Value of the taint, for Equal only; absent is the empty value."""
    effect: Effect | None = None
    """Effect of the taint; absent means both."""

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
    """Labels by key, all of which have to be there with these values."""


class Selector(Model):
    """One test that a device must pass: a DRA CEL expression that returns a boolean."""

    cel: Annotated[str, Field(min_length=1, max_length=10240)]
    """CEL expression over `device` that is true for a device that fits, in the language of Kubernetes device claims."""


class DeviceRequest(Model):
    """Devices each pod of a member needs: how many, and the tests one device must pass."""

    name: DnsLabel
    """Name of the request, also in the claim that is made of it."""
    count: Annotated[Integer, Field(ge=1, le=64)] = 1
    """Devices for each pod, and so for each node."""
    selectors: Annotated[tuple[Selector, ...], Field(min_length=1, max_length=8)]
    """Tests that one device has to pass, all of them."""


class NodeSelector(Model):
    """The device requests that a node pool must all satisfy."""

    devices: Annotated[tuple[DeviceRequest, ...], Field(min_length=1, max_length=16)]
    """Requests that one node has to satisfy together, each name once."""

    def faults(self) -> Iterator[Fault]:
        """Request names are unique (schema)."""
        yield from repeated(((device.name,) for device in self.devices), "schema", ("devices",), "name")


class ClaimRequest(Model):
    """A device request resolved against a pool: the DeviceClass to claim through is known."""

    name: DnsLabel
    """Name of the request in the claim."""
    device_class_name: Text253
    """DeviceClass to claim through."""
    count: Annotated[Integer, Field(ge=1, le=64)] = 1
    """Devices to claim for each pod."""
    selectors: Annotated[tuple[Selector, ...], Field(max_length=8)] = ()
    """Tests that each claimed device has to pass."""


class Worker(Model):
    """The worker half of a gang: one pod a node, so `nodes` is the gang's size less one."""

    nodes: Annotated[Integer, Field(ge=1, le=63)]
    """Worker pods, one on each node: the gang's size less one."""


class CacheRef(Model):
    """A ModelCache of the same namespace."""

    name: Text
    """Name of the ModelCache."""


class Serving(Model):
    """How traffic reaches the engines of a replica."""

    mode: Mode = "Unified"
    """Unified: each engine does both phases. PrefillDecode: two engines, one for each phase."""


class SecretKeyRef(Model):
    """A Secret and the key in it; the default key is a kubeconfig's."""

    name: Text253
    """Name of the Secret in `modelplane-system`."""
    key: Text253 = "kubeconfig"
    """Key of the Secret under which the value lies."""


def selector_faults(selector: LabelSelector | None, rule: str, at: Path) -> Iterator[Fault]:
    """Labels in a selector that no object could carry."""
    if selector is not None:
        yield from label_faults(selector.match_labels, (rule, rule, rule), (*at, "matchLabels"))


def named(items: Iterable[object], attribute: str = "name") -> Iterator[tuple[object, ...]]:
    """The keys of a list that is unique by one attribute, for `repeated`."""
    return ((getattr(item, attribute),) for item in items)
