"""Which pools a member's device requests fit, on the devices of one node.

Every expression is compiled once in a process and run once for each distinct device content; the fit of a list of
requests to a list of devices is remembered too, so that pools of one class cost one look. Requests take the first
device, in published order, that has enough left and passes all selectors. Where that leads nowhere, the other choices
are tried if asked for (design, section 6).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from api.classes import Device
from api.terms import ClaimRequest, DeviceRequest
from scheduler.cel import Content, DeviceView, Match, compile_selector, content, view

Claims = tuple[ClaimRequest, ...]
"""What a pod has to claim; empty where it only matched devices that are never claimed."""


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

        With `exhaustive`, all choices of devices are tried where taking the first that passes leads nowhere.
        """
        key = (self._requests_number(requests), self.devices_number(devices), exhaustive)
        if key not in self._fits:
            chosen = self._chosen(requests, devices, exhaustive=exhaustive)
            self._fits[key] = None if chosen is None else _claims(requests, [devices[choice] for choice in chosen])
        return self._fits[key]

    def choices(self, request: DeviceRequest, devices: Sequence[Device], left: Sequence[int]) -> Iterator[int]:
        """Go through the devices that pass a request and have enough left, in published order."""
        for position, device in enumerate(devices):
            if left[position] >= request.count and self.passes(request, device):
                yield position

    def passes(self, request: DeviceRequest, device: Device) -> bool:
        """Whether a device passes all selectors of a request."""
        return all(self.test(selector.cel, device).matched for selector in request.selectors)

    def devices_number(self, devices: tuple[Device, ...]) -> int:
        """Number a list of devices; lists that neither selectors nor claims can tell apart have one number."""
        seen = self._device_lists_seen.get(id(devices))
        if seen is None:
            key = tuple(
                (self._known(device).number, device.count, device.claim, device.device_class_name) for device in devices
            )
            seen = (devices, self._device_lists.setdefault(key, len(self._device_lists)))
            self._device_lists_seen[id(devices)] = seen
        return seen[1]

    def _requests_number(self, requests: tuple[DeviceRequest, ...]) -> int:
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

    def _chosen(
        self, requests: tuple[DeviceRequest, ...], devices: tuple[Device, ...], *, exhaustive: bool
    ) -> tuple[int, ...] | None:
        """Choose a device for each request. The first path tried is the greedy one; without `exhaustive`, the only."""
        dead_ends: set[tuple[int, tuple[int, ...]]] = set()

        def choose(position: int, left: tuple[int, ...]) -> tuple[int, ...] | None:
            if position == len(requests):
                return ()
            if (position, left) in dead_ends:
                return None
            for choice in self.choices(requests[position], devices, left):
                taken = left[choice] - requests[position].count
                rest = choose(position + 1, (*left[:choice], taken, *left[choice + 1 :]))
                if rest is not None:
                    return (choice, *rest)
                if not exhaustive:
                    break
            dead_ends.add((position, left))
            return None

        return choose(0, counts(devices))


def counts(devices: Sequence[Device]) -> tuple[int, ...]:
    """Return how many of each device one node has; less than none counts as none."""
    return tuple(max(0, device.count) for device in devices)


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
