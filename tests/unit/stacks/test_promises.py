"""Differences between what a class promises and what nodes publish, and how `status` tells them (D19)."""

from datetime import UTC, datetime
from typing import Any

import pytest
from builders import a_device, a_fleet, a_synthetic_device
from states import cluster_outputs, documents_of, pool_facts, serving_outputs, some_facts

from cli.tables import status_tables
from programs.outputs import ObservedDevices, PoolFacts
from stacks.promises import broken_promises
from stacks.status import FleetOutputs, condition_of, objects

NOW = datetime(2026, 3, 4, 12, 1, tzinfo=UTC)
GPU = "gpu.nvidia.com"
MODEL = {"model": {"string": "H100"}, "cc": {"version": "9.0.0"}, "index": {"int": 1}, "ecc": {"bool": True}}
SEEN = {"model": "H100", "cc": "9.0.0", "index": 1, "ecc": True}
BIG = a_device(memory="80Gi")
NIC = a_device("nic", count=1, driver="nic.example.com", memory="1Gi")


def published(count: int = 8, *, driver: str = GPU, nodes: int = 1, memory: str = "80Gi", **facts: Any) -> Any:
    return ObservedDevices(driver=driver, count=count, nodes=nodes, attributes=facts, capacity={"memory": memory})


def a_pool(*observed: ObservedDevices, devices: Any = (BIG,)) -> PoolFacts:
    return pool_facts().model_copy(update={"devices": some_facts(*devices), "observed": observed})


POOLS: dict[str, tuple[PoolFacts, tuple[str, ...]]] = {
    "as promised": (a_pool(published()), ()),
    "the same amount in another form": (a_pool(published(memory="81920Mi")), ()),
    "nothing published yet": (a_pool(), ()),
    "more than promised is published": (a_pool(published(serial="x"), published(1, driver="nic.example.com")), ()),
    "less memory": (
        a_pool(published(memory="81559Mi")),
        ("memory: class h100x8 promises 80Gi, us/gpu reports 81559Mi",),
    ),
    "one node of two is smaller": (
        a_pool(published(), published(memory="40Gi")),
        ("memory: class h100x8 promises 80Gi, us/gpu reports 40Gi",),
    ),
    "two nodes differ alike": (
        a_pool(published(memory="40Gi", serial="a"), published(memory="40Gi", serial="b")),
        ("memory: class h100x8 promises 80Gi, us/gpu reports 40Gi",),
    ),
    "attributes of every type": (
        a_pool(
            published(model="H200", cc="9.0.1", index=True, ecc=False),
            devices=[a_device(memory="80Gi", attributes=MODEL)],
        ),
        (
            "model: class h100x8 promises H100, us/gpu reports H200",
            "cc: class h100x8 promises 9.0.0, us/gpu reports 9.0.1",
            "index: class h100x8 promises 1, us/gpu reports true",
            "ecc: class h100x8 promises true, us/gpu reports false",
        ),
    ),
    "attributes as promised": (a_pool(published(**SEEN), devices=[a_device(memory="80Gi", attributes=MODEL)]), ()),
    "names with and without the domain": (
        a_pool(
            published(**{f"{GPU}/model": "H100"}),
            devices=[a_device(memory="80Gi", attributes={"model": {"string": "H100"}})],
        ),
        (),
    ),
    "an attribute that is not published": (
        a_pool(published(), devices=[a_device(memory="80Gi", attributes={"x/y": {"int": 3}})]),
        ("x/y: class h100x8 promises 3, us/gpu reports none",),
    ),
    "fewer devices": (
        a_pool(published(7)),
        (f"{GPU} devices a node: class h100x8 promises 8, us/gpu reports 7",),
    ),
    "a driver that publishes nothing": (
        a_pool(published(), devices=[BIG, NIC]),
        ("nic.example.com devices a node: class h100x8 promises 1, us/gpu reports none",),
    ),
    "synthetic facts are published by nobody": (
        a_pool(published(), devices=[BIG, a_synthetic_device()]),
        (),
    ),
    "two devices of one driver": (
        a_pool(
            published(4, memory="40Gi"),
            published(4),
            devices=[a_device("big", count=4, memory="80Gi"), a_device("small", count=4, memory="40Gi")],
        ),
        (),
    ),
}


@pytest.mark.parametrize(("pool", "want"), POOLS.values(), ids=POOLS)
def test_differences_between_class_and_pool(pool: PoolFacts, want: tuple[str, ...]) -> None:
    assert broken_promises("us", [pool]) == want


def shown_with(*observed: ObservedDevices) -> dict[str, Any]:
    outputs = FleetOutputs(
        clusters={"us": cluster_outputs(pools=[a_pool(*observed)])}, serving={"us": serving_outputs()}
    )
    (shown,) = objects(documents_of(a_fleet()), outputs)
    return shown


def test_status_warns_of_devices_that_are_not_as_promised_and_the_cluster_stays_ready() -> None:
    shown = shown_with(published(memory="81559Mi"))
    assert condition_of(shown, "DevicesAsPromised")["reason"] == "DevicesDiffer"
    assert condition_of(shown, "Ready")["status"] == "True"
    *_, warning = status_tables([shown], NOW).splitlines()
    assert warning.strip() == "warning: memory: class h100x8 promises 80Gi, us/gpu reports 81559Mi"


def test_status_says_nothing_where_devices_are_as_promised_or_not_there_yet() -> None:
    fine, unknown = shown_with(published()), shown_with()
    assert condition_of(fine, "DevicesAsPromised")["status"] == "True"
    assert condition_of(unknown, "DevicesAsPromised") == {}
    assert "warning" not in status_tables([fine, unknown], NOW)
