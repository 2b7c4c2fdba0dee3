"""Which devices a member's requests take on one node.

Every expression is compiled once in a process and run once for each distinct device content in a run; how a list of
requests fits a list of devices is remembered too, so that all pools of one class cost one look. Requests take the
first device, in published order, that has enough left and passes all selectors. Where that leads nowhere, or to no
claim, the other choices are tried if asked for (design, section 6), up to `STEPS_MAX` of them: a search that is cut
off counts as no fit, and `cut_off` tells.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from api.classes import Device
from api.terms import ClaimRequest, DeviceRequest
from scheduler.cel import Content, DeviceView, Match, compile_selector, content, view

Claims = tuple[ClaimRequest, ...]
"""What a pod has to claim; empty where it only matched devices that are never claimed."""

STEPS_MAX = 2_000
"""Choices tried for one list of requests on one list of devices; about a hundredth of a second."""


@dataclass(frozen=True)
class _Known:
    """A distinct device content: its number, and the device as selectors see it."""

    number: int
    view: DeviceView


class Matcher:
    """Fits requests to devices and remembers what it found; `evaluations` counts selectors run."""

    def __init__(self) -> None:
        self.evaluations = 0
        self._contents: dict[Content, _Known] = {}
        self._results: dict[tuple[str, int], Match] = {}
        self._fits: dict[tuple[int, int, bool], Claims | None] = {}
        self._cut_off: set[tuple[int, int]] = set()
        self._device_lists: dict[tuple[object, ...], int] = {}
        self._request_lists: dict[tuple[DeviceRequest, ...], int] = {}
        # By identity, because hashing a whole document again and again costs more than fitting it. The object is
        # kept beside its number, so that its identity stays taken.
        self._devices_seen: dict[int, tuple[Device, _Known]] = {}
        self._device_lists_seen: dict[int, tuple[tuple[Device, ...], int]] = {}
        self._request_lists_seen: dict[int, tuple[tuple[DeviceRequest, ...], int]] = {}

    def test(self, expression: str, device: Device) -> Match:
        """Run one selector against one device, or recall how it went."""
        known = self._known(device)
        result = self._results.get((expression, known.number))
        if result is None:
            self.evaluations += 1
            result = self._results[expression, known.number] = compile_selector(expression).match(known.view)
        return result

    def fit(
        self, requests: tuple[DeviceRequest, ...], devices: tuple[Device, ...], *, exhaustive: bool = False
    ) -> Claims | None:
        """Return what a member claims on a node with these devices, or None where its requests do not fit.

        With `exhaustive`, other choices of devices are tried where taking the first that passes does not fit, and
        where it fits without a claim although another choice has one.
        """
        key = (self.requests_number(requests), self.devices_number(devices), exhaustive)
        if key not in self._fits:
            found = self._best(requests, devices, key[:2]) if exhaustive else self._greedy(requests, devices)
            self._fits[key] = found
        return self._fits[key]

    def cut_off(self, requests: tuple[DeviceRequest, ...], devices: tuple[Device, ...]) -> bool:
        """Whether an exhaustive fit of these was given up after `STEPS_MAX` choices."""
        return (self.requests_number(requests), self.devices_number(devices)) in self._cut_off

    def choices(self, request: DeviceRequest, devices: Sequence[Device], left: Sequence[int]) -> Iterator[int]:
        """Go through the devices that pass a request and have enough left, in published order."""
        for position, device in enumerate(devices):
            if left[position] >= request.count and self.passes(request, device):
                yield position

    def passes(self, request: DeviceRequest, device: Device) -> bool:
        """Whether a device passes all selectors of a request."""
        return all(self.test(selector.cel, device).matched for selector in request.selectors)

    def devices_number(self, devices: tuple[Device, ...]) -> int:
        """Number a list of devices; lists that differ in nothing but descriptions have one number."""
        seen = self._device_lists_seen.get(id(devices))
        if seen is None:
            key = tuple(
                (device.name, self._known(device).number, device.count, device.claim, device.device_class_name)
                for device in devices
            )
            seen = (devices, self._device_lists.setdefault(key, len(self._device_lists)))
            self._device_lists_seen[id(devices)] = seen
        return seen[1]

    def requests_number(self, requests: tuple[DeviceRequest, ...]) -> int:
        """Number a list of requests; equal lists have one number."""
        seen = self._request_lists_seen.get(id(requests))
        if seen is None:
            seen = (requests, self._request_lists.setdefault(requests, len(self._request_lists)))
            self._request_lists_seen[id(requests)] = seen
        return seen[1]

    def _known(self, device: Device) -> _Known:
        seen = self._devices_seen.get(id(device))
        if seen is None:
            key = content(device)
            known = self._contents.get(key)
            if known is None:
                known = self._contents[key] = _Known(len(self._contents), view(device))
            seen = self._devices_seen[id(device)] = (device, known)
        return seen[1]

    def _greedy(self, requests: tuple[DeviceRequest, ...], devices: tuple[Device, ...]) -> Claims | None:
        left = list(counts(devices))
        chosen = []
        for request in requests:
            choice = next(self.choices(request, devices, left), None)
            if choice is None:
                return None
            left[choice] -= request.count
            chosen.append(devices[choice])
        return _claims(requests, chosen)

    def _best(
        self, requests: tuple[DeviceRequest, ...], devices: tuple[Device, ...], key: tuple[int, int]
    ) -> Claims | None:
        greedy = self.fit(requests, devices)
        if greedy:
            return greedy
        passing = [
            [position for position, device in enumerate(devices) if self.passes(request, device)]
            for request in requests
        ]
        kinds: dict[tuple[object, ...], int] = {}
        alike = [kinds.setdefault(self._alike(device), len(kinds)) for device in devices]
        for claiming in (True, False) if greedy is None else (True,):
            search = _Search(requests, devices, passing, alike, claiming=claiming)
            chosen = search.run()
            if chosen is not None:
                return _claims(requests, [devices[choice] for choice in chosen])
            if search.cut_off:
                self._cut_off.add(key)
        return greedy

    def _alike(self, device: Device) -> tuple[object, ...]:
        return (self._known(device).number, device.claim, device.device_class_name)


class _Search:
    """A search through all choices of devices for a list of requests, the first devices first."""

    def __init__(
        self,
        requests: Sequence[DeviceRequest],
        devices: Sequence[Device],
        passing: Sequence[Sequence[int]],
        alike: Sequence[int],
        *,
        claiming: bool,
    ) -> None:
        self.cut_off = False
        self._steps = 0
        self._counts = [request.count for request in requests]
        self._needed = [sum(self._counts[position:]) for position in range(len(self._counts))]
        self._passing = passing
        self._alike = alike
        self._claims = [is_claimable(device) for device in devices]
        self._claiming = claiming
        self._start = counts(devices)
        self._dead_ends: set[tuple[int, bool, tuple[tuple[int, int], ...]]] = set()

    def run(self) -> tuple[int, ...] | None:
        """Return a device for each request, one of them claimable if asked for; None where there is no such choice."""
        return self._choose(0, self._start, claimed=not self._claiming)

    def _choose(self, position: int, left: tuple[int, ...], *, claimed: bool) -> tuple[int, ...] | None:
        if position == len(self._counts):
            return () if claimed else None
        if self._steps >= STEPS_MAX:
            self.cut_off = True
            return None
        self._steps += 1
        # Devices that nothing tells apart may change places.
        state = (position, claimed, tuple(sorted(zip(self._alike, left, strict=True))))
        if state in self._dead_ends or self._needed[position] > sum(left):
            return None
        tried: set[tuple[int, int]] = set()
        count = self._counts[position]
        for choice in self._passing[position]:
            kind = (self._alike[choice], left[choice])
            if left[choice] < count or kind in tried:
                continue
            tried.add(kind)
            after = (*left[:choice], left[choice] - count, *left[choice + 1 :])
            rest = self._choose(position + 1, after, claimed=claimed or self._claims[choice])
            if rest is not None:
                return (choice, *rest)
        self._dead_ends.add(state)
        return None


def counts(devices: Sequence[Device]) -> tuple[int, ...]:
    """Return how many of each device one node has; less than none counts as none."""
    return tuple(max(0, device.count) for device in devices)


def is_claimable(device: Device) -> bool:
    """Whether a pod claims this device; others are only matched."""
    return device.claim == "DRA" and device.device_class_name is not None


def _claims(requests: Sequence[DeviceRequest], chosen: Sequence[Device]) -> Claims:
    return tuple(
        ClaimRequest(
            name=request.name,
            device_class_name=device.device_class_name,
            count=request.count,
            selectors=request.selectors,
        )
        for request, device in zip(requests, chosen, strict=True)
        if device.claim == "DRA" and device.device_class_name is not None
    )
