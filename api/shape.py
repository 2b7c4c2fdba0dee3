"""The fields of the kinds as data: what a document may hold at a path. Messages, hints and tests read it."""

from collections.abc import Iterator
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from api.base import Path


def fields(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """The fields of a model by the names that documents use."""
    return {info.alias or name: info for name, info in model.model_fields.items()}


def at(model: type[BaseModel], path: Path) -> Any:
    """The bare type that a path leads to: a model, tuple, dict, Literal or plain type; None where nothing is."""
    here: Any = model
    for part in path:
        if isinstance(here, type) and issubclass(here, BaseModel):
            info = fields(here).get(str(part))
            here = bare(info.annotation) if info else None
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
        return bare(next(option for option in get_args(annotation) if option is not type(None)))
    return annotation


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
