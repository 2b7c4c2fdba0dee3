"""`match` against the real allocator: each selector and device as a claim that only this device can satisfy."""

import time
from typing import Any

import pytest
from cluster.scheduler.real import SECONDS, Document, Real
from unit.scheduler.test_selectors import H100, MATCHES, REFUSED

from api.classes import Device
from local.objects import device_classes, nodes, resource_slices
from local.plan import LocalCluster, LocalPool
from scheduler.cel import compile_error, match

pytestmark = pytest.mark.cluster

NAMESPACE = "matching"
A_NODE = 60

BARE = Device.model_validate({"name": "bare", "driver": "gpu.nvidia.com", "deviceClassName": "gpu.nvidia.com"})
OTHER = Device.model_validate(
    {
        "name": "other",
        "driver": "npu.example.com",
        "deviceClassName": "npu.example.com",
        "attributes": {
            "model": {"string": "N1"},
            "driverVersion": {"version": "1.2.3-rc.1"},
            "gpu.nvidia.com/architecture": {"string": "Hopper"},
            "numa": {"int": 0},
            "ready": {"bool": False},
        },
        "capacity": {
            "memory": {"value": "24Gi"},
            "cores": {"value": "1500m"},
            "gpu.nvidia.com/memory": {"value": "1Gi"},
        },
    }
)
DEVICES = {"h100": H100, "bare": BARE, "other": OTHER}

G, N = "gpu.nvidia.com", "npu.example.com"
ON_ALL = [
    "true",
    f'device.driver == "{G}"',
    'device.driver.endsWith(".example.com")',
    f'device.capacity["{G}"].memory.compareTo(quantity("70Gi")) >= 0',
    f'device.capacity["{G}"].memory.compareTo(quantity("1Gi")) == 0',
    f'device.capacity["{N}"].memory.isGreaterThan(quantity("20Gi"))',
    f'device.capacity["{N}"].cores.isInteger()',
    f'device.capacity["{N}"].cores.asApproximateFloat() > 1.4',
    f'"memory" in device.capacity["{G}"]',
    f'"memory" in device.capacity["{G}"] && device.capacity["{G}"].memory.isLessThan(quantity("2Gi"))',
    f'device.attributes["{G}"].architecture == "Hopper"',
    f'device.attributes["{G}"].architecture != "Hopper"',
    f'!(device.attributes["{G}"].architecture == "Ampere")',
    f'has(device.attributes["{G}"].architecture)',
    f'!has(device.attributes["{G}"].architecture)',
    f'device.attributes["{G}"].?architecture.orValue("none") == "none"',
    f'"{N}" in device.attributes',
    f'device.attributes["{N}"].driverVersion.isLessThan(semver("1.2.3"))',
    f'device.attributes["{N}"].driverVersion.compareTo(semver("1.2.3-rc.2")) < 0',
    f'device.attributes["{N}"].driverVersion == semver("1.2.3-rc.1")',
    f'device.attributes["{N}"].numa == 0 || device.driver == "{G}"',
    f'device.driver == "{G}" && device.attributes["{G}"].ecc',
    f'device.attributes["{N}"].ready',
    f'!device.attributes["{N}"].ready',
    'device.attributes.exists(d, d == "x")',
    'device.attributes.all(d, d != "x")',
    f'device.attributes["{G}"].exists(name, name == "index")',
    f'device.attributes["{N}"].model.matches("^N[0-9]$")',
    f'device.attributes["{N}"].model in ["N1", "N2"]',
    f'device.attributes["{N}"].model.size() == 2',
    f'size(device.capacity["{N}"]) == 2',
]
"""Selectors that are tried on every device."""

PAIRS = [
    *((expression, name) for expression in ON_ALL for name in DEVICES),
    *((expression, "h100") for expression in (*MATCHES, *REFUSED) if len(expression) < 10_000),
]

LEFT_OUT = "a function of Kubernetes' environment that is refused by name here"
BOUNDED = "nesting is bounded here"
NO_NUMBER = "a suffix without a number is no quantity here, as the rules of the dialect say; there it is 0"

OTHERWISE = {
    "!" * 100 + "true": BOUNDED,
    "1 + " * 100 + "1 > 0": BOUNDED,
    "device.driver.find('x') == 'x'": LEFT_OUT,
    "[?optional.of(1)] == [1]": LEFT_OUT,
    'isQuantity("Mi")': NO_NUMBER,
}
"""Selectors on which the two differ, with the reason: none of them matches here."""


@pytest.fixture(scope="module")
def answers(real: Real) -> dict[tuple[str, str], str]:
    """What the cluster makes of each pair: `refused` by its API server, `allocated`, or `not`."""
    pools = tuple(
        LocalPool(name=f"match-{name}-{part}", nodes=1, devices=(device.model_copy(update={"count": A_NODE}),))
        for name, device in DEVICES.items()
        for part in range(1 + len(PAIRS) // A_NODE)
    )
    extra = LocalCluster(name="east", kubeconfig=real.kubeconfig, pools=pools)
    for document in (*device_classes(extra), *nodes(extra), *resource_slices(extra)):
        real.server.apply(document, time.monotonic() + SECONDS)
    real.make_namespace(NAMESPACE)
    found: dict[tuple[str, str], str] = {}
    pods: dict[str, tuple[str, str]] = {}
    for number, (expression, name) in enumerate(PAIRS):
        pod = f"pair-{number}"
        if real.takes(NAMESPACE, _asking(pod, expression, DEVICES[name], f"match-{name}-{number // A_NODE}")):
            pods[pod] = expression, name
        else:
            found[expression, name] = "refused"
    said = real.decided(NAMESPACE, len(pods))
    return found | {pair: "allocated" if said[pod] == "Scheduled" else "not" for pod, pair in pods.items()}


def _asking(name: str, expression: str, device: Device, pool: str) -> list[Document]:
    exactly: dict[str, Any] = {"deviceClassName": device.device_class_name, "count": 1}
    exactly["selectors"] = [{"cel": {"expression": expression}}]
    claim = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name},
        "spec": {"devices": {"requests": [{"name": "device", "exactly": exactly}]}},
    }
    container = {"name": "c", "image": "registry.example/c:1", "resources": {"claims": [{"name": "devices"}]}}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {
            "nodeSelector": {"modelplane.ai/pool": pool},
            "tolerations": [{"operator": "Exists"}],
            "resourceClaims": [{"name": "devices", "resourceClaimName": name}],
            "containers": [container],
        },
    }
    return [claim, pod]


def ours(expression: str, name: str) -> str:
    if compile_error(expression) is not None:
        return "refused"
    return "allocated" if match(expression, DEVICES[name]).matched else "not"


def test_at_least_sixty_pairs_are_compared() -> None:
    assert len(PAIRS) > 200


def test_both_decide_alike(answers: dict[tuple[str, str], str]) -> None:
    differing = {pair: (ours(*pair), said) for pair, said in answers.items() if ours(*pair) != said}
    assert {pair: both for pair, both in differing.items() if pair[0] not in OTHERWISE} == {}
    assert {expression for expression, _ in differing} == set(OTHERWISE)
    assert "allocated" not in {here for here, _ in differing.values()}
    assert sum(said == "allocated" for said in answers.values()) > 80
