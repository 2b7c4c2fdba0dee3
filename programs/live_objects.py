"""Where a live object is not as it was declared, and who set it so. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any

from scheduler.quantity import parse_quantity

Plain = Mapping[str, Any]

COPIES = "spec.replicas"
HELMS_OWN = ("helm", "pulumi")
"""How those who apply a chart's objects begin their names as field managers."""
_LIVE_ONLY = frozenset({"status", "creationTimestamp"})
_OWN_MANAGER = "__fieldManager"
"""Where the provider notes under which name it owns fields."""


def changed_by_others(manifest: Plain, live: Plain) -> Iterator[tuple[str, str]]:
    """Paths of what a chart declares that somebody else than Helm has set otherwise, and who; empty if not noted.

    What controllers fill in, and what the API server writes in another way, is nobody's change.
    """
    for path in _differences(manifest, live, ()):
        manager = manager_of(live, path, HELMS_OWN)
        # A scale to none leaves the number without any owner.
        if manager or (path == COPIES and not manager_of(live, path)):
            yield path, manager


def manager_of(live: Plain, path: str, own: tuple[str, ...] = ()) -> str:
    """Who other than us owns a field, the last one to have taken it; `own` is how names begin that are ours, too."""
    owners = [
        entry
        for entry in (live.get("metadata") or {}).get("managedFields") or ()
        if entry.get("manager") != live.get(_OWN_MANAGER)
        and not str(entry.get("manager", "")).startswith(own or ("\0",))
        and _owns(entry.get("fieldsV1") or {}, path)
    ]
    latest = sorted(owners, key=lambda entry: str(entry.get("time", "")))[-1:]
    return str(latest[0].get("manager", "")) if latest else ""


def _owns(fields: Plain, path: str) -> bool:
    """Whether a set of fields has the path, as far as it leads to no item of a list; names may have dots in them."""
    return _has(fields, path.partition("[")[0])


def _has(fields: Plain, path: str) -> bool:
    for field, inner in fields.items():
        name = field.removeprefix("f:")
        if name == field or not isinstance(inner, Mapping):
            continue
        if path == name or (path.startswith(f"{name}.") and _has(inner, path[len(name) + 1 :])):
            return True
    return False


def _differences(declared: Any, live: Any, path: tuple[str, ...]) -> Iterator[str]:
    """Paths of declared values that are otherwise in the live object; what is declared empty says nothing."""
    if declared in (None, "", {}, []):
        return
    if isinstance(declared, Mapping):
        for key, value in declared.items():
            if key not in _LIVE_ONLY:
                yield from _differences(value, live.get(key) if isinstance(live, Mapping) else None, (*path, str(key)))
        return
    if isinstance(declared, list):
        if not isinstance(live, list) or len(live) != len(declared):
            yield ".".join(path)
            return
        for one, other in zip(declared, live, strict=True):
            if any(True for _ in _differences(one, other, ())):
                yield ".".join(path)
                return
        return
    if not _same(declared, live):
        yield ".".join(path)


def _same(declared: Any, live: Any) -> bool:
    if declared == live or str(declared) == str(live):
        return True
    try:
        return parse_quantity(str(declared)) == parse_quantity(str(live))
    except ValueError:
        return False
