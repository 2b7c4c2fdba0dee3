"""The fields of the kinds as data: what a document may hold at a path. Messages, hints, schemas and tests read it.

A place whose form depends on one of its fields (`spec.cluster` on `source`) is a union of models; these functions take
such a union wherever they take a model, and then mean all of its models together.
"""

from collections.abc import Iterator
from functools import cache
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from api.base import Path


def models(kind: Any) -> tuple[type[BaseModel], ...]:
    """The models that a bare type stands for: one, several for a union, none for every other type."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return (kind,)
    if get_origin(kind) in (Union, UnionType):
        return tuple(model for option in get_args(kind) for model in models(option))
    return ()


@cache
def fields(kind: Any) -> dict[str, FieldInfo]:
    """The fields of a model or union by the names that documents use; the caller does not change the mapping."""
    found: dict[str, FieldInfo] = {}
    for model in models(kind):
        for name, info in model.model_fields.items():
            found.setdefault(info.alias or name, info)
    return found


def at(kind: Any, path: Path) -> Any:
    """The bare type that a path leads to: a model, union, tuple, dict, Literal or plain type; None where nothing is."""
    here: Any = kind
    for part in path:
        if models(here):
            here = _field(here, str(part))
        elif get_origin(here) is tuple:
            here = bare(get_args(here)[0])
        elif get_origin(here) is dict:
            here = bare(get_args(here)[1])
        else:
            return None
    return here


def choices(kind: Any) -> tuple[str, ...]:
    """The values of a Literal; empty for every other type."""
    return tuple(str(value) for value in get_args(kind)) if get_origin(kind) is Literal else ()


def bare(annotation: Any) -> Any:
    """A type without its Annotated and without an optional None."""
    if get_origin(annotation) is Annotated:
        return bare(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        options = [option for option in get_args(annotation) if option is not type(None)]
        return bare(options[0]) if len(options) == 1 else annotation
    return annotation


def discriminator(kind: Any) -> str:
    """The field that tells the models of a union apart: each allows other values of it. Empty for other types."""
    together = models(kind)
    shared = set.intersection(*(set(fields(model)) for model in together)) if len(together) > 1 else set()
    for name in sorted(shared):
        allowed = [choices(at(model, (name,))) for model in together]
        if all(allowed) and len(set(allowed)) == len(together):
            return name
    return ""


def variant(kind: Any, value: object) -> type[BaseModel] | None:
    """The model that plain data of this bare type is read with; None where the data does not tell."""
    together = models(kind)
    if len(together) < 2:
        return together[0] if together else None
    name = discriminator(kind)
    given = value.get(name) if isinstance(value, dict) else None
    return next((model for model in together if given in choices(at(model, (name,)))), None)


def document_path(kind: Any, location: tuple[str | int, ...]) -> Path:
    """The path in the document of a place that pydantic names; it adds marks of its own for unions and keys."""
    here: Any = kind
    path: list[str | int] = []
    for part in location:
        if part == "[key]":
            continue
        together = models(here)
        if len(together) > 1 and part not in fields(here) and part in choices(at(here, (discriminator(here),))):
            here = variant(here, {discriminator(here): part})
            continue
        path.append(part)
        here = at(here, (part,)) if here is not None else None
    return tuple(path)


def walk(value: object, at: Path = ()) -> Iterator[tuple[Path, BaseModel]]:
    """All models inside a value, each with its path, outer ones first."""
    if isinstance(value, BaseModel):
        yield at, value
        for name, info in type(value).model_fields.items():
            yield from walk(getattr(value, name), (*at, info.alias or name))
    elif isinstance(value, tuple):
        for index, item in enumerate(value):
            yield from walk(item, (*at, index))
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from walk(item, (*at, key))


def is_list(kind: Any) -> bool:
    """Whether a bare type is that of a list."""
    return get_origin(kind) is tuple


def _field(kind: Any, name: str) -> Any:
    """The bare type of a field; where the models of a union each allow other values, all values together."""
    found = [bare(fields(model)[name].annotation) for model in models(kind) if name in fields(model)]
    if len(found) > 1 and all(get_origin(option) is Literal for option in found):
        return Literal[tuple(dict.fromkeys(value for option in found for value in get_args(option)))]
    return found[0] if found else None
