"""What a simulated cluster holds from the start: nodes, their devices, and the class of its gateway.

Plain documents from plain data. Devices are published as a driver would (resource.k8s.io/v1): one ResourceSlice per
node and driver, or several of at most 128 devices, with attributes and capacity under their bare names.
"""

import re
from collections.abc import Iterator
from typing import Any

from api.classes import Device
from local.plan import HUB, LocalCluster, LocalPool

Document = dict[str, Any]

MANAGED_BY = "app.kubernetes.io/managed-by"
MANAGER = "modelplane-local"
"""Label value and field manager of everything the local fleet puts into a cluster."""

CLASS_ATTRIBUTE_DOMAIN = "local.modelplane.ai"
"""Where one driver's devices belong to several DeviceClasses, `<domain>/class` says to which."""

PRUNED = {"Node": "v1", "ResourceSlice": "resource.k8s.io/v1", "DeviceClass": "resource.k8s.io/v1"}
"""The kinds of which a cluster keeps no more than its documents describe, with their API versions."""

DEVICES_A_SLICE = 128
"""The API's limit (resource.k8s.io/v1, ResourceSliceMaxDevices)."""

_DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


def documents(cluster: LocalCluster) -> list[Document]:
    """Everything of the cluster but its Stages, in an order in which it can be applied."""
    gateway = [gateway_class()] if cluster.name == HUB else []
    return [*gateway, *device_classes(cluster), *nodes(cluster), *resource_slices(cluster)]


def gateway_class() -> Document:
    """The class that the hub's Traefik answers to (routing.md §2.2); serving clusters get theirs with their stack."""
    return {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "GatewayClass",
        "metadata": {"name": "traefik", "labels": {MANAGED_BY: MANAGER}},
        "spec": {"controllerName": "traefik.io/gateway-controller"},
    }


def nodes(cluster: LocalCluster) -> list[Document]:
    """The nodes of every pool, and one without GPUs for everything else that runs on a cluster."""
    system = _node("system-0", {"modelplane.ai/pool": "system"}, taints=[])
    return [system, *(_gpu_node(pool, index) for pool in cluster.pools for index in range(pool.nodes))]


def device_classes(cluster: LocalCluster) -> list[Document]:
    """A DeviceClass per name that the cluster's device classes use."""
    ambiguous = _ambiguous_drivers(cluster)
    terms: dict[str, set[str]] = {}
    for device in _claimable(cluster):
        term = f'device.driver == "{device.driver}"'
        if device.driver in ambiguous:
            term += f' && device.attributes["{CLASS_ATTRIBUTE_DOMAIN}"].class == "{device.device_class_name}"'
        terms.setdefault(device.device_class_name or device.driver, set()).add(term)
    return [
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "DeviceClass",
            "metadata": {"name": name, "labels": {MANAGED_BY: MANAGER}},
            "spec": {"selectors": [{"cel": {"expression": " || ".join(f"({term})" for term in sorted(any_of))}}]},
        }
        for name, any_of in sorted(terms.items())
    ]


def resource_slices(cluster: LocalCluster) -> list[Document]:
    """The devices of every node; Synthetic ones are facts for Modelplane's scheduler and appear in no slice."""
    ambiguous = _ambiguous_drivers(cluster)
    return [
        document
        for pool in cluster.pools
        for index in range(pool.nodes)
        for driver in sorted({device.driver for device in pool.devices if device.claim == "DRA"})
        for document in _slices(f"{pool.name}-{index}", driver, pool, named=driver in ambiguous)
    ]


def _gpu_node(pool: LocalPool, index: int) -> Document:
    labels = {"modelplane.ai/pool": pool.name}
    if pool.accelerator:
        labels["modelplane.ai/gpu"] = pool.accelerator
    taint = {"key": "nvidia.com/gpu", "value": "true", "effect": "NoSchedule"}
    return _node(f"{pool.name}-{index}", labels, taints=[taint])


def _node(name: str, labels: dict[str, str], *, taints: list[dict[str, str]]) -> Document:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "annotations": {"kwok.x-k8s.io/node": "fake"},
            "labels": {
                MANAGED_BY: MANAGER,
                "kubernetes.io/arch": "amd64",
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                **labels,
            },
        },
        "spec": {"taints": taints} if taints else {},
    }


def _claimable(cluster: LocalCluster) -> Iterator[Device]:
    return (device for pool in cluster.pools for device in pool.devices if device.claim == "DRA")


def _ambiguous_drivers(cluster: LocalCluster) -> set[str]:
    """Drivers whose devices are claimed through more than one DeviceClass on this cluster."""
    classes: dict[str, set[str | None]] = {}
    for device in _claimable(cluster):
        classes.setdefault(device.driver, set()).add(device.device_class_name)
    return {driver for driver, names in classes.items() if len(names) > 1}


def _slices(node: str, driver: str, pool: LocalPool, *, named: bool) -> Iterator[Document]:
    devices = [
        _device(device, entry, number, named=named)
        for entry, device in enumerate(pool.devices)
        if device.claim == "DRA" and device.driver == driver
        for number in range(device.count)
    ]
    parts = [devices[start : start + DEVICES_A_SLICE] for start in range(0, len(devices), DEVICES_A_SLICE)]
    for number, part in enumerate(parts):
        yield {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceSlice",
            "metadata": {"name": f"{node}-{driver}-{number}", "labels": {MANAGED_BY: MANAGER}},
            "spec": {
                "driver": driver,
                "nodeName": node,
                "pool": {"name": node, "generation": 1, "resourceSliceCount": len(parts)},
                "devices": part,
            },
        }


def _device(device: Device, entry: int, number: int, *, named: bool) -> Document:
    name = f"{device.name}-{number}"
    attributes = {
        key: attribute.model_dump(by_alias=True, exclude_none=True) for key, attribute in device.attributes.items()
    }
    if named:
        attributes[f"{CLASS_ATTRIBUTE_DOMAIN}/class"] = {"string": device.device_class_name}
    document: Document = {"name": name if _DNS_LABEL.fullmatch(name) else f"entry{entry}-{number}"}
    if attributes:
        document["attributes"] = attributes
    if device.capacity:
        document["capacity"] = {key: {"value": capacity.value} for key, capacity in device.capacity.items()}
    return document
