"""Why hardware does not fit, in words: the failing request, the test, and the value seen on the best device."""

from collections.abc import Iterator, Sequence

from api.classes import Device
from api.terms import DeviceRequest
from scheduler.cel import Read, compile_selector, view
from scheduler.matcher import Matcher, counts
from scheduler.quantity import is_quantity, parse_quantity
from scheduler.snapshot import Pool

_EXPRESSION_SHOWN = 100


Unmet = tuple[tuple[DeviceRequest, tuple[int, ...]], ...]
"""Requests that find no device on a node, each with what was left of the devices then."""


class Explainer:
    """Says why device requests fit no pool; what it found out about a pool's hardware is remembered."""

    def __init__(self, matcher: Matcher) -> None:
        self._matcher = matcher
        self._unmet: dict[tuple[int, int], Unmet] = {}
        self._ranks: dict[tuple[int, int], tuple[int, int, int]] = {}
        self._texts: dict[tuple[int, int, str], str] = {}

    def misfit(self, requests: tuple[DeviceRequest, ...], pools: Sequence[Pool]) -> str:
        """Say which requests find no device on the pool where most of them do, and which tests the best device fails.

        Of pools that do equally well, the one with the best device for the first failing request is named. Each
        failing test comes with the values it reads as the device declares them.
        """
        asked = self._matcher.requests_number(requests)
        attempts = [(pool, (asked, self._matcher.devices_number(pool.devices))) for pool in pools if pool.devices]
        if not attempts:
            return "has no pool with declared devices"
        unmet = [self._unmet_on(requests, pool, key) for pool, key in attempts]
        fewest = min(len(each) for each in unmet)
        if fewest == 0:
            return "no pool fits all members of the engine"
        nearest = [attempt for attempt, each in zip(attempts, unmet, strict=True) if len(each) == fewest]
        pool, key = max(nearest, key=lambda attempt: self._ranks[attempt[1]])
        named = (*key, pool.name)
        if named not in self._texts:
            parts = (_unmet_text(request, left, pool, self._matcher) for request, left in self._unmet[key])
            self._texts[named] = "; ".join(parts)
        return self._texts[named]

    def _unmet_on(self, requests: tuple[DeviceRequest, ...], pool: Pool, key: tuple[int, int]) -> Unmet:
        if key not in self._unmet:
            left = list(counts(pool.devices))
            unmet = []
            for request in requests:
                choice = next(self._matcher.choices(request, pool.devices, left), None)
                if choice is None:
                    unmet.append((request, tuple(left)))
                else:
                    left[choice] -= request.count
            self._unmet[key] = tuple(unmet)
            if unmet:
                self._ranks[key], _ = _best_device(*unmet[0], pool, self._matcher)
        return self._unmet[key]


def _unmet_text(request: DeviceRequest, left: Sequence[int], pool: Pool, matcher: Matcher) -> str:
    _, position = _best_device(request, left, pool, matcher)
    device = pool.devices[position]
    where = f"device {device.name} of pool {pool.name}"
    failing = [each.cel for each in request.selectors if not matcher.test(each.cel, device).matched]
    if not failing:
        return f"request {request.name} needs {request.count}, {where} has {left[position]} left a node"
    if problem := view(device).problem:
        return f"request {request.name}: {where} cannot be matched ({problem})"
    tests = " and ".join(f"{_shown(cel)} ({_observed(cel, device, matcher)})" for cel in dict.fromkeys(failing))
    return f"request {request.name}: {where} fails {tests}"


def _best_device(
    request: DeviceRequest, left: Sequence[int], pool: Pool, matcher: Matcher
) -> tuple[tuple[int, int, int], int]:
    """Return the rank and the position of the device that comes nearest to a request, the first of equals."""
    ranks = [_rank(request, device, count, matcher) for device, count in zip(pool.devices, left, strict=True)]
    best = max(ranks)
    return best, ranks.index(best)


def _rank(request: DeviceRequest, device: Device, left: int, matcher: Matcher) -> tuple[int, int, int]:
    """Rank a device for a request: tests passed, then how many are left, then how much it has of what is read."""
    passed = sum(matcher.test(selector.cel, device).matched for selector in request.selectors)
    reads = [read for selector in request.selectors for read in compile_selector(selector.cel).reads]
    amounts = (declared(device, read) for read in reads if read.group == "capacity")
    amount = next((text for text in amounts if text is not None and is_quantity(text)), None)
    return passed, min(left, request.count), parse_quantity(amount).nanos if amount else -1


def declared(device: Device, read: Read) -> str | None:
    """Return a fact of a device as its class writes it, or None where it has none."""
    keys = [f"{read.domain}/{read.name}", *([read.name] if read.domain == device.driver else [])]
    if read.group == "capacity":
        return next((device.capacity[key].value for key in keys if key in device.capacity), None)
    fact = next((device.attributes[key] for key in keys if key in device.attributes), None)
    if fact is None:
        return None
    given = (fact.version, fact.string, fact.boolean, fact.integer)
    value = next((value for value in given if value is not None), "unset")
    return str(value).lower() if isinstance(value, bool) else str(value)


def _observed(expression: str, device: Device, matcher: Matcher) -> str:
    reads = compile_selector(expression).reads
    seen = ", ".join(_values(reads, device))
    problem = matcher.test(expression, device).problem
    if not seen:
        return problem or f"driver is {device.driver}"
    # A fact that is not there is why there is no answer; with all of them there it is something else.
    is_complete = all(declared(device, read) is not None for read in reads)
    return f"{seen}; {problem}" if problem and is_complete else seen


def _values(reads: Sequence[Read], device: Device) -> Iterator[str]:
    for read in reads:
        value = declared(device, read)
        yield f"{read.name} is {value}" if value is not None else f"it has no {read.name} in {read.domain}"


def _shown(expression: str) -> str:
    text = " ".join(expression.split())
    return text if len(text) <= _EXPRESSION_SHOWN else f"{text[: _EXPRESSION_SHOWN - 1]}…"
