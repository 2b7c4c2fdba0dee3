"""A snapshot as plain data and back, to be kept in a file and decided from again anywhere.

Names are as in documents (camelCase), documents and devices in their own form. `version` says which shape was written;
another one is refused, since a snapshot that is read by halves would be decided from by halves.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.alias_generators import to_camel

from api.clusters import MOST_NODES
from api.errors import InvocationError
from scheduler.snapshot import CacheFootprint, Snapshot

KIND = "Snapshot"
VERSION = 1

_CACHES = "caches"


class _UnreadableError(Exception):
    """What is wrong with a file, and where in it."""


def to_plain(snapshot: Snapshot) -> dict[str, Any]:
    """The snapshot as plain data for JSON; the same snapshot, in any order, gives the same data."""
    plain = {field.name: getattr(snapshot, field.name) for field in fields(snapshot)}
    plain["clusters"] = sorted(snapshot.clusters, key=lambda each: each.name)
    plain["deployments"] = sorted(snapshot.deployments, key=lambda each: (each.namespace, each.name))
    for name in ("replicas", "retiring"):
        plain[name] = sorted(plain[name], key=lambda each: (each.key, each.name))
    caches = [
        {"namespace": namespace, "name": name, **_plain(footprint)}
        for (namespace, name), footprint in sorted(snapshot.caches.items())
    ]
    shown = {to_camel(name): _plain(value) for name, value in plain.items() if name != _CACHES}
    return {"kind": KIND, "version": VERSION, **shown, _CACHES: caches}


def from_plain(plain: Any) -> Snapshot:
    """The snapshot that `to_plain` wrote.

    Raises:
        InvocationError: MP203, this is none, or one that another release wrote.

    """
    if not isinstance(plain, Mapping) or plain.get("kind") != KIND:
        raise _unusable("it is no snapshot", "`modelplane plan --save-observed FILE` writes one")
    if "version" not in plain:
        raise _unusable("it has no version", "save it again")
    if plain["version"] != VERSION:
        raise _unusable(f"its version is {plain['version']!r}, this release reads {VERSION}", "save it again")
    try:
        caches = dict(_cache(entry, f"{_CACHES}[{number}]") for number, entry in _entries(plain, _CACHES))
        given = {key: value for key, value in plain.items() if key not in {"kind", "version", _CACHES}}
        found: Snapshot = _read(Snapshot, given | {_CACHES: caches}, "")
        _refuse_nonsense(found)
    except _UnreadableError as problem:
        raise _unusable(f"it cannot be read: {problem}", "save it again") from None
    return found


def _entries(plain: Mapping[str, Any], name: str) -> Iterator[tuple[int, Any]]:
    if not isinstance(plain.get(name), list):
        raise _UnreadableError(f"{name}: must be a list" if name in plain else f"{name} is missing")
    return enumerate(plain[name])


def _cache(entry: Any, place: str) -> tuple[tuple[str, str], CacheFootprint]:
    if not isinstance(entry, Mapping):
        raise _UnreadableError(f"{place}: must be a mapping")
    for name in ("namespace", "name"):
        if not isinstance(entry.get(name), str):
            raise _UnreadableError(f"{place}.{name}: must be a text" if name in entry else f"{place}.{name} is missing")
    footprint = {key: value for key, value in entry.items() if key not in {"namespace", "name"}}
    return (entry["namespace"], entry["name"]), _read(CacheFootprint, footprint, place)


def _refuse_nonsense(found: Snapshot) -> None:
    """What no fleet can be: names that are there twice, pools larger than a document allows."""
    names = [("cluster", each.name) for each in found.clusters]
    names += [("deployment", f"{each.namespace}/{each.name}") for each in found.deployments]
    names += [("pool", f"{each.name}/{pool.name}") for each in found.clusters for pool in each.pools]
    for (what, name), count in Counter(names).items():
        if count > 1:
            raise _UnreadableError(f"{what} {name} is there {count} times")
    for each in found.clusters:
        for pool in each.pools:
            if not 0 <= pool.nodes <= MOST_NODES:
                told = f"pool {each.name}/{pool.name} has {pool.nodes} nodes"
                raise _UnreadableError(f"{told}, possible are 0 to {MOST_NODES}")


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(by_alias=True, exclude_none=True, mode="json")
    if is_dataclass(value) and not isinstance(value, type):
        return {
            to_camel(field.name): _plain(getattr(value, field.name))
            for field in fields(value)
            if getattr(value, field.name) is not None
        }
    if isinstance(value, Mapping):
        return {str(key): _plain(value[key]) for key in sorted(value)}
    if isinstance(value, frozenset):
        return sorted(value)
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


def _read(kind: Any, value: Any, place: str) -> Any:
    """The value of a type that `_plain` was given; `place` is the path to it."""
    inner = _dataclass_within(kind)
    if inner is None:
        try:
            return _adapter(kind).validate_python(value)
        except ValidationError as problem:
            raise _UnreadableError(_told(problem, place)) from None
    if get_origin(kind) is tuple:
        if not isinstance(value, list | tuple):
            raise _UnreadableError(f"{place}: must be a list")
        return tuple(_read(inner, item, f"{place}[{number}]") for number, item in enumerate(value))
    if not isinstance(value, Mapping):
        raise _UnreadableError(f"{place}: must be a mapping")
    at = f"{place}." if place else ""
    hints = {to_camel(name): hint for name, hint in _hints(inner).items()}
    unknown = sorted(set(value) - set(hints))
    if unknown:
        raise _UnreadableError(f"{at}{unknown[0]} is unknown")
    given = {
        field.name: value[name] if name == _CACHES else _read(hints[name], value[name], f"{at}{name}")
        for field in fields(inner)
        if (name := to_camel(field.name)) in value
    }
    whole = _without_value(inner, given) | given
    for field in fields(inner):
        if field.name not in whole and not _has_default(field):
            raise _UnreadableError(f"{at}{to_camel(field.name)} is missing")
    return inner(**whole)


def _dataclass_within(kind: Any) -> Any:
    """The dataclass that a type is, or of which it is a tuple; None where it is neither."""
    if is_dataclass(kind):
        return kind
    if get_origin(kind) is tuple and is_dataclass(get_args(kind)[0]):
        return get_args(kind)[0]
    return None


def _without_value(kind: Any, given: Mapping[str, Any]) -> dict[str, None]:
    """None for what may be None and was left out, so that only what is really missing is told."""
    absent = [field for field in fields(kind) if field.name not in given and not _has_default(field)]
    return {field.name: None for field in absent if _may_be_none(_hints(kind)[field.name])}


def _has_default(field: Field[Any]) -> bool:
    return field.default is not MISSING or field.default_factory is not MISSING


def _may_be_none(kind: Any) -> bool:
    return get_origin(kind) in {Union, UnionType} and type(None) in get_args(kind)


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _told(problem: ValidationError, place: str) -> str:
    first = problem.errors(include_input=False, include_url=False, include_context=False)[0]
    path = place + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"])
    return f"{path}: {first['msg']}"


def _unusable(why: str, hint: str) -> InvocationError:
    return InvocationError(f"the observed fleet cannot be used: {why}", hint=hint, code="MP203")
