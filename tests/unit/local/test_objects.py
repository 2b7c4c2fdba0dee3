from pathlib import Path
from typing import Any

from builders import a_device, a_synthetic_device

from api.classes import Device
from local import objects
from local.plan import LocalCluster, LocalPool


def a_local_cluster(*devices: dict[str, Any], nodes: int = 1, accelerator: str = "") -> LocalCluster:
    parsed = tuple(Device.model_validate(device) for device in devices)
    pool = LocalPool(name="h100", nodes=nodes, devices=parsed, accelerator=accelerator)
    return LocalCluster(name="east", kubeconfig=Path("kubeconfig"), pools=(pool,))


def test_a_pool_becomes_labelled_and_tainted_nodes_beside_a_plain_one() -> None:
    nodes = objects.nodes(a_local_cluster(a_device(), nodes=2, accelerator="nvidia-h100"))
    assert [node["metadata"]["name"] for node in nodes] == ["system-0", "h100-0", "h100-1"]
    labels = nodes[1]["metadata"]["labels"]
    assert labels["modelplane.ai/pool"] == "h100"
    assert labels["modelplane.ai/gpu"] == "nvidia-h100"
    assert labels["kubernetes.io/os"] == "linux"
    assert nodes[1]["spec"]["taints"] == [{"key": "nvidia.com/gpu", "value": "true", "effect": "NoSchedule"}]
    assert nodes[0]["spec"] == {}
    assert "modelplane.ai/gpu" not in objects.nodes(a_local_cluster(a_device()))[1]["metadata"]["labels"]


def test_devices_are_published_under_bare_names_and_synthetic_ones_are_not() -> None:
    facts = {"architecture": {"string": "Hopper"}, "ecc": {"bool": True}, "index": {"int": 0}}
    device = a_device(count=2, attributes=facts)
    assert objects.resource_slices(a_local_cluster(device, a_synthetic_device())) == [
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceSlice",
            "metadata": {"name": "h100-0-gpu.nvidia.com-0", "labels": {objects.MANAGED_BY: objects.MANAGER}},
            "spec": {
                "driver": "gpu.nvidia.com",
                "nodeName": "h100-0",
                "pool": {"name": "h100-0", "generation": 1, "resourceSliceCount": 1},
                "devices": [
                    {"name": f"gpu-{n}", "attributes": facts, "capacity": {"memory": {"value": "81559Mi"}}}
                    for n in range(2)
                ],
            },
        }
    ]


def test_each_node_has_a_slice_of_its_own_per_driver() -> None:
    other = a_device("nic", driver="nic.example", deviceClassName="nic.example")
    slices = objects.resource_slices(a_local_cluster(a_device(), other, nodes=2))
    assert [(s["spec"]["nodeName"], s["spec"]["driver"]) for s in slices] == [
        ("h100-0", "gpu.nvidia.com"),
        ("h100-0", "nic.example"),
        ("h100-1", "gpu.nvidia.com"),
        ("h100-1", "nic.example"),
    ]


def test_more_devices_than_a_slice_may_hold_are_spread_over_several() -> None:
    entries = [a_device(f"gpu{n}", count=64) for n in range(5)]
    slices = objects.resource_slices(a_local_cluster(*entries))
    assert [len(s["spec"]["devices"]) for s in slices] == [128, 128, 64]
    assert {s["spec"]["pool"]["resourceSliceCount"] for s in slices} == {3}
    names = [device["name"] for s in slices for device in s["spec"]["devices"]]
    assert len(set(names)) == 320


def test_a_device_class_takes_its_drivers_devices() -> None:
    classes = objects.device_classes(a_local_cluster(a_device(), a_synthetic_device()))
    assert [(c["metadata"]["name"], c["spec"]["selectors"]) for c in classes] == [
        ("gpu.nvidia.com", [{"cel": {"expression": '(device.driver == "gpu.nvidia.com")'}}])
    ]


def test_two_classes_of_one_driver_take_their_own_devices_only() -> None:
    cluster = a_local_cluster(a_device(), a_device("mig", deviceClassName="mig.nvidia.com"))
    expressions = {
        c["metadata"]["name"]: c["spec"]["selectors"][0]["cel"]["expression"] for c in objects.device_classes(cluster)
    }
    assert expressions["mig.nvidia.com"].endswith('device.attributes["local.modelplane.ai"].class == "mig.nvidia.com")')
    devices = objects.resource_slices(cluster)[0]["spec"]["devices"]
    assert {device["attributes"]["local.modelplane.ai/class"]["string"] for device in devices} == {
        "gpu.nvidia.com",
        "mig.nvidia.com",
    }


def test_a_long_device_name_is_replaced_by_a_short_one() -> None:
    device = objects.resource_slices(a_local_cluster(a_device("g" * 63, count=1)))[0]["spec"]["devices"][0]
    assert device["name"] == "entry0-0"


def test_the_hub_has_a_gateway_class_and_a_plain_node() -> None:
    hub = LocalCluster(name="hub", kubeconfig=Path("kubeconfig"))
    assert [document["kind"] for document in objects.documents(hub)] == ["GatewayClass", "Node"]
