"""What classes promise of a pool's devices against what its nodes publish in their ResourceSlices.

Placement goes by the class; claims are allocated from what is published. Where the two differ a replica may be placed
that never gets its devices.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from api.classes import Attribute, Device
from programs.outputs import ObservedDevices, PoolFacts
from scheduler.quantity import parse_quantity

Difference = tuple[str, str, str]
"""What differs, the promised value and the reported one."""
NOTHING = "none"


def broken_promises(cluster: str, pools: Iterable[PoolFacts]) -> tuple[str, ...]:
    """Tell each difference between a class and its pool's devices once, in the order of pools and devices.

    Only pools whose nodes published something are compared, and only what the class names: a driver may publish more.
    Published devices are held against the promised device of their driver that they are most like.
    """
    told = [
        f"{what}: class {pool.class_name} promises {promised}, {cluster}/{pool.name} reports {reported}"
        for pool in pools
        if pool.observed
        for what, promised, reported in _of_pool(pool)
    ]
    return tuple(dict.fromkeys(told))


def _of_pool(pool: PoolFacts) -> list[Difference]:
    promised = [device for device in pool.devices if device.claim == "DRA"]
    likest: dict[int, list[ObservedDevices]] = {}
    for published in pool.observed:
        alike = [number for number, device in enumerate(promised) if device.driver == published.driver]
        if alike:
            nearest = min(alike, key=lambda number: len(_of_device(promised[number], published)))
            likest.setdefault(nearest, []).append(published)
    found: list[Difference] = []
    for number, device in enumerate(promised):
        published_ones = likest.get(number, [])
        found += [difference for published in published_ones for difference in _of_device(device, published)]
        found += _of_count(device, published_ones)
    return found


def _of_count(device: Device, published: Sequence[ObservedDevices]) -> list[Difference]:
    """Devices a node are too few; told only where all are alike, since unlike ones may be on one node or on several."""
    what, promised = f"{device.driver} devices a node", str(device.count)
    if not published:
        return [(what, promised, NOTHING)]
    if len(published) == 1 and published[0].count < device.count:
        return [(what, promised, str(published[0].count))]
    return []


def _of_device(device: Device, published: ObservedDevices) -> list[Difference]:
    attributes = _qualified(published.driver, published.attributes)
    capacity = _qualified(published.driver, published.capacity)
    found: list[Difference] = []
    for key, attribute in device.attributes.items():
        value, reported = _value(attribute), attributes.get(_full(device.driver, key))
        if type(value) is not type(reported) or value != reported:
            found.append((key, _text(value), _text(reported)))
    for key, amount in device.capacity.items():
        reported = capacity.get(_full(device.driver, key))
        if reported is None or not _same_amount(amount.value, reported):
            found.append((key, amount.value, _text(reported)))
    return found


def _value(attribute: Attribute) -> Any:
    values = (attribute.version, attribute.string, attribute.boolean, attribute.integer)
    return next((value for value in values if value is not None), None)


def _qualified(driver: str, facts: Mapping[str, Any]) -> dict[str, Any]:
    return {_full(driver, key): value for key, value in facts.items()}


def _full(driver: str, key: str) -> str:
    return key if "/" in key else f"{driver}/{key}"


def _same_amount(promised: str, reported: str) -> bool:
    try:
        return parse_quantity(promised) == parse_quantity(reported)
    except ValueError:
        return promised == reported


def _text(value: Any) -> str:
    if value is None:
        return NOTHING
    return str(value).lower() if isinstance(value, bool) else str(value)
