"""What every kind and field means, as data: type, limits, default and meaning, read from the models themselves.

The models are the only place where a field is described; `explain`, the JSON schemas and the hints of messages say
what stands there. A path passes through lists and maps without naming an entry, as `kubectl explain` has it.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from api import shape
from api.base import Kind
from api.errors import InvocationError
from api.grammar import DESCRIPTIONS
from api.internal import INSTEAD
from api.loader import KINDS
from api.problems import suggestion
from api.providers import ProviderConfig
from api.rule_fields import rules_of
from api.rules import Rule

SHORT_NAMES = {
    "ConfigMap": "cm",
    "Fleet": "fleet",
    "InferenceClass": "icl",
    "InferenceCluster": "ic",
    "InferenceGateway": "ig",
    "ModelCache": "mc",
    "ModelDeployment": "md",
    "ModelEndpoint": "me",
    "ModelService": "ms",
    "Secret": "secret",
}
"""Kinds that can be explained, with the short names that upstream's definitions give them."""

_PLAIN = {str: "string", SecretStr: "string", int: "integer", bool: "boolean", float: "number"}
_PARTS = re.compile(r"\[[^\]]*\]|<[^>]*>|\*")


@dataclass(frozen=True, kw_only=True)
class FieldText:
    """One field as a reader needs it. `default` is in the form that a document has; None where there is none."""

    name: str
    type: str
    required: bool = False
    default: str | None = None
    limits: tuple[str, ...] = ()
    meaning: str = ""


@dataclass(frozen=True, kw_only=True)
class Description:
    """A kind or a field of it, and the fields below."""

    kind: str
    api_version: str
    path: tuple[str, ...]
    field: FieldText
    fields: tuple[FieldText, ...] = ()
    rules: tuple[Rule, ...] = ()
    """Rules about the field and what is below it."""


def describable() -> Mapping[str, type[Kind]]:
    """The kinds that documents may be of, by name."""
    return {name: kind for (_, name), kind in sorted(KINDS.items()) if kind is not ProviderConfig}


def find_kind(word: str) -> type[Kind]:
    """The kind that a word means: its name in any case, in the plural, or short.

    Raises:
        InvocationError: no kind is called so.

    """
    kinds = describable()
    meant = word.lower()
    for name, kind in kinds.items():
        if meant in (name.lower(), f"{name.lower()}s", f"{name.lower()}es", SHORT_NAMES.get(name)):
            return kind
    for (_, name), hint in INSTEAD.items():
        if meant in (name.lower(), f"{name.lower()}s"):
            raise InvocationError(f"{name} is made by Modelplane itself", hint=hint)
    raise InvocationError(f"there is no kind {word}", hint=suggestion(word, kinds))


def describe(what: str) -> Description:
    """Describe `KIND[.FIELD...]`.

    Raises:
        InvocationError: no kind or no field is called so.

    """
    word, _, rest = what.partition(".")
    kind = find_kind(word)
    path = tuple(part for part in _PARTS.sub("", rest).split(".") if part)
    about = FieldText(name=_name(kind), type="object", required=True, meaning=_summary(kind))
    models: tuple[type[BaseModel], ...] = (kind,)
    for depth, part in enumerate(path):
        known = {name: (model, info) for model in reversed(models) for name, info in shape.fields(model).items()}
        if part not in known:
            place = ".".join((word, *path[:depth]))
            hint = suggestion(part, known) if known else f"{place} has no fields below it"
            raise InvocationError(f"{place} has no field {part}", hint=hint)
        about = field_text(part, known[part][1])
        models = models_in(known[part][1].annotation)
    version = next(version for (version, name), found in KINDS.items() if found is kind)
    return Description(
        kind=_name(kind),
        api_version=version,
        path=path,
        field=about,
        fields=tuple(_fields_of(models)),
        rules=tuple(rules_of(_name(kind), path)),
    )


def field_text(name: str, info: FieldInfo) -> FieldText:
    """A field as text."""
    annotation = Annotated[info.annotation, *info.metadata] if info.metadata else info.annotation
    return FieldText(
        name=name,
        type=_type(annotation),
        required=info.is_required(),
        default=_default(info),
        limits=tuple(dict.fromkeys(_limits(annotation))),
        meaning=_meaning(info),
    )


def models_in(annotation: Any) -> tuple[type[BaseModel], ...]:
    """The models of a field, of the entries of a list or of the values of a map; several of a union."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return (annotation,)
    parts = get_args(annotation)
    if get_origin(annotation) is dict:
        parts = parts[1:]
    if get_origin(annotation) is Annotated:
        parts = parts[:1]
    return tuple(model for part in parts for model in models_in(part))


def _fields_of(models: tuple[type[BaseModel], ...]) -> Iterator[FieldText]:
    """The fields of a model; of a union's models each name once, required only where all require it."""
    names = list(dict.fromkeys(name for model in models for name in shape.fields(model)))
    for name in names:
        having = [shape.fields(model)[name] for model in models if name in shape.fields(model)]
        yield field_text(name, having[0])


def _name(kind: type[Kind]) -> str:
    return next(name for (_, name), found in KINDS.items() if found is kind)


def _summary(model: type[BaseModel]) -> str:
    return " ".join((model.__doc__ or "").split())


def _meaning(info: FieldInfo) -> str:
    """The field's own text, else that of the one model it holds."""
    if info.description:
        return " ".join(info.description.split())
    models = models_in(info.annotation)
    return _summary(models[0]) if len(models) == 1 else ""


def _type(annotation: Any) -> str:
    kind = shape.bare(annotation)
    if get_origin(kind) is tuple:
        return f"[]{_type(get_args(kind)[0])}"
    if get_origin(kind) is dict:
        return f"map[string]{_type(get_args(kind)[1])}"
    if get_origin(kind) is Literal:
        return "string"
    return _PLAIN.get(kind, "object")


def _default(info: FieldInfo) -> str | None:
    value = info.default
    if info.is_required() or value is PydanticUndefined or value is None or value in ((), {}, ""):
        return None
    if isinstance(value, BaseModel):
        return None
    return str(value).lower() if isinstance(value, bool) else str(value)


def _limits(annotation: Any) -> Iterator[str]:
    """What a value may be, in words."""
    if get_origin(annotation) is Annotated:
        inner, *metadata = get_args(annotation)
        yield from _limits(inner)
        kind = shape.bare(inner)
        what = "entries" if get_origin(kind) in (tuple, dict) else "characters"
        for item in metadata:
            yield from _limits_of(item, what)
    elif get_origin(annotation) in (Union, UnionType):
        for option in get_args(annotation):
            yield from _limits(option)
    elif choices := shape.choices(annotation):
        yield f"one of {', '.join(choices)}" if len(choices) > 1 else f"always {choices[0]}"


def _limits_of(item: Any, what: str) -> Iterator[str]:
    for inner in getattr(item, "metadata", ()):
        yield from _limits_of(inner, what)
    words = {"ge": "at least {}", "le": "at most {}", "gt": "more than {}", "lt": "less than {}"}
    words |= {"min_length": f"at least {{}} {what}", "max_length": f"at most {{}} {what}"}
    for name, text in words.items():
        limit = getattr(item, name, None)
        if limit is None:
            continue
        if name == "min_length" and limit == 1:
            yield "not empty"
        else:
            yield text.format(limit)
    if pattern := getattr(item, "pattern", None):
        bare = pattern.removeprefix("^$|")
        yield DESCRIPTIONS.get(bare, f"the form {bare}")
