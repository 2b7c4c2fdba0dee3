"""Why hardware does not fit, in words: the failing request, the test, and the value seen on the best device."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from api.classes import Device
from api.terms import DeviceRequest
from scheduler.cel import Read, compile_selector, view
from scheduler.matcher import Matcher, counts
from scheduler.quantity import is_quantity, parse_quantity
from scheduler.snapshot import Pool

_EXPRESSION_SHOWN = 100


@dataclass(frozen=True)
class _Attempt:
    """How a list of requests fares on one pool: the requests that find no device, each with what was left then."""

    pool: Pool
    unmet: tuple[tuple[DeviceRequest, tuple[int, ...]], ...]


def misfit(requests: tuple[DeviceRequest, ...], pools: Sequence[Pool], matcher: Matcher) -> str:
    """Say which requests find no device on the pool where most of them do, and which tests the best device fails.

    Of pools that do equally well, the one with the best device for the first failing request is named. Each failing
    test comes with the values it reads as the device declares them.
    """
    attempts = [_attempt(requests, pool, matcher) for pool in pools if pool.devices]
    if not attempts:
        return "has no pool with declared devices"
    fewest = min(len(attempt.unmet) for attempt in attempts)
    if fewest == 0:
        return "no pool fits all members of the engine"
    nearest = [attempt for attempt in attempts if len(attempt.unmet) == fewest]
    best = max(
        nearest, key=lambda attempt: _best_device(attempt.unmet[0][0], attempt.unmet[0][1], attempt.pool, matcher)[0]
    )
    return "; ".join(_unmet(request, left, best.pool, matcher) for request, left in best.unmet)


def _attempt(requests: tuple[DeviceRequest, ...], pool: Pool, matcher: Matcher) -> _Attempt:
    left = list(counts(pool.devices))
    unmet = []
    for request in requests:
        choice = next(matcher.choices(request, pool.devices, left), None)
        if choice is None:
            unmet.append((request, tuple(left)))
        else:
            left[choice] -= request.count
    return _Attempt(pool, tuple(unmet))


def _unmet(request: DeviceRequest, left: Sequence[int], pool: Pool, matcher: Matcher) -> str:
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
    seen = list(_values(compile_selector(expression).reads, device))
    problem = matcher.test(expression, device).problem
    if not seen:
        return problem or f"driver is {device.driver}"
    return ", ".join(seen)


def _values(reads: Sequence[Read], device: Device) -> Iterator[str]:
    for read in reads:
        value = declared(device, read)
        yield f"{read.name} is {value}" if value is not None else f"it has no {read.name} in {read.domain}"


def _shown(expression: str) -> str:
    text = " ".join(expression.split())
    return text if len(text) <= _EXPRESSION_SHOWN else f"{text[: _EXPRESSION_SHOWN - 1]}…"
