"""A snapshot as plain data and back, to be kept in a file and decided from again anywhere.

Names are as in documents (camelCase), documents and devices in their own form. `version` says which shape was written;
another one is refused, since a snapshot that is read by halves would be decided from by halves.
"""

from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.alias_generators import to_camel

from api.errors import InvocationError
from scheduler.snapshot import CacheFootprint, Snapshot

KIND = "Snapshot"
VERSION = 1

_CACHES = "caches"


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
    if plain.get("version") != VERSION:
        raise _unusable(f"its version is {plain.get('version')!r}, this release reads {VERSION}", "save it again")
    try:
        caches = {
            (str(entry["namespace"]), str(entry["name"])): _read(
                CacheFootprint, {key: value for key, value in entry.items() if key not in {"namespace", "name"}}
            )
            for entry in plain[_CACHES]
        }
        given = {key: value for key, value in plain.items() if key not in {"kind", "version", _CACHES}}
        found: Snapshot = _read(Snapshot, given | {_CACHES: caches})
    except (KeyError, TypeError, ValueError, ValidationError) as problem:
        detail = _told(problem)
        raise _unusable(f"it cannot be read: {detail}", "save it again") from None
    return found


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


def _read(kind: Any, value: Any) -> Any:
    """The value of a type that `_plain` was given."""
    inner = _dataclass_within(kind)
    if inner is None:
        return _adapter(kind).validate_python(value)
    if get_origin(kind) is tuple:
        return tuple(_read(inner, item) for item in value)
    hints = _hints(inner)
    unknown = set(value) - {to_camel(name) for name in hints}
    if unknown:
        raise ValueError(f"{inner.__name__} has no {', '.join(sorted(unknown))}")
    given = {
        field.name: value[to_camel(field.name)]
        if field.name == _CACHES
        else _read(hints[field.name], value[to_camel(field.name)])
        for field in fields(inner)
        if to_camel(field.name) in value
    }
    return inner(**_without_value(inner, given) | given)


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


def _told(problem: Exception) -> str:
    if isinstance(problem, ValidationError):
        first = problem.errors(include_input=False, include_url=False, include_context=False)[0]
        return f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"
    return f"{problem} is missing" if isinstance(problem, KeyError) else str(problem)


def _unusable(why: str, hint: str) -> InvocationError:
    return InvocationError(f"the observed fleet cannot be used: {why}", hint=hint, code="MP203")
