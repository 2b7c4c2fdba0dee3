"""A declared device as the variable `device` of selectors, and as a key for remembering results."""

from collections.abc import Callable, Mapping
from typing import TypeVar

from api.classes import Attribute, Device
from scheduler.cel.values import DeviceView, Map, Value
from scheduler.quantity import parse_quantity
from scheduler.semver import parse_semver

Content = tuple[object, ...]
"""All of a device that a selector can see; equal contents give equal results."""

_NO_ENTRIES = Map()

Fact = TypeVar("Fact")


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
    """Make the variable `device`; one with a value that cannot be read has a `problem`, and matches nothing."""
    problems: list[str] = []
    return DeviceView(
        device.driver,
        _domains(device.driver, device.attributes, _attribute, problems),
        _domains(device.driver, device.capacity, lambda amount: parse_quantity(amount.value), problems),
        "; ".join(problems),
    )


def _domains(driver: str, facts: Mapping[str, Fact], read: Callable[[Fact], Value], problems: list[str]) -> Map:
    domains: dict[Value, Value] = {}
    for key, fact in facts.items():
        domain, slash, name = key.partition("/")
        if not slash:
            domain, name = driver, key
        entries = domains.setdefault(domain, Map())
        try:
            value = read(fact)
        except ValueError as problem:
            problems.append(f"{key}: {problem}")
        else:
            if isinstance(entries, Map):
                entries.entries[name] = value
    return Map(domains, missing=_NO_ENTRIES)


def _attribute(fact: Attribute) -> Value:
    if fact.version is not None:
        return parse_semver(fact.version)
    for value in (fact.string, fact.boolean, fact.integer):
        if value is not None:
            return value
    raise ValueError("the attribute has no value")
