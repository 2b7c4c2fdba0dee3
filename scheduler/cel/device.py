"""A declared device as the variable `device` of selectors, and as a key for remembering results."""

from api.classes import Attribute, Capacity, Device
from scheduler.cel.values import CelError, DeviceView, Malformed, Map, Value
from scheduler.quantity import parse_quantity
from scheduler.semver import parse_semver

Content = tuple[object, ...]
"""All of a device that a selector can see; equal contents give equal results."""

_NO_ENTRIES = Map()


def content(device: Device) -> Content:
    """Return what selectors can see of a device, as a hashable value; its name, count and claim are not part of it."""
    attributes = (
        (key, fact.version, fact.string, fact.boolean, fact.integer) for key, fact in device.attributes.items()
    )
    return (
        device.driver,
        frozenset(attributes),
        frozenset((key, amount.value) for key, amount in device.capacity.items()),
    )


def view(device: Device) -> DeviceView:
    """Make the variable `device`. A value that cannot be read is an error only for expressions that touch it."""
    return DeviceView(
        device.driver,
        _domains(device.driver, {key: _attribute(fact) for key, fact in device.attributes.items()}),
        _domains(device.driver, {key: _capacity(amount) for key, amount in device.capacity.items()}),
    )


def seen(device: DeviceView, group: str, domain: str, name: str) -> Value:
    """Return one fact of a device. Raises CelError where the device does not have it or it cannot be read."""
    facts: Map = getattr(device, group)
    domain_facts = facts.get(domain)
    if not isinstance(domain_facts, Map) or not domain_facts.has(name):
        raise CelError(f"no such key: {name}")
    return domain_facts.get(name)


def _domains(driver: str, facts: dict[str, Value]) -> Map:
    domains: dict[Value, Value] = {}
    for key, value in facts.items():
        domain, slash, name = key.partition("/")
        if not slash:
            domain, name = driver, key
        entries = domains.setdefault(domain, Map())
        if isinstance(entries, Map):
            entries.entries[name] = value
    return Map(domains, missing=_NO_ENTRIES)


def _attribute(fact: Attribute) -> Value:
    if fact.version is not None:
        try:
            return parse_semver(fact.version)
        except ValueError as problem:
            return Malformed(str(problem))
    for value in (fact.string, fact.boolean, fact.integer):
        if value is not None:
            return value
    return Malformed("the attribute has no value")


def _capacity(amount: Capacity) -> Value:
    try:
        return parse_quantity(amount.value)
    except ValueError as problem:
        return Malformed(str(problem))
