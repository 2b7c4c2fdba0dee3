"""JSON schemas of the kinds, for editors and other programs, made from the models.

Draft 7, which every editor reads. A schema says fields, types, limits and meanings; rules over several fields and
between documents are `validate`'s. Objects that a cluster exported carry fields which only `validate` passes over.
"""

from collections.abc import Mapping
from typing import Any

from pydantic.json_schema import models_json_schema

from api.base import Kind
from api.describe import describable

DRAFT = "http://json-schema.org/draft-07/schema#"
EVERY_KIND = "modelplane"
"""Name of the schema for editors: any kind, told apart by `apiVersion` and `kind`."""

Plain = dict[str, Any]


def schemas() -> Mapping[str, Plain]:
    """The schema of each kind by the kind's name, and one of all kinds under EVERY_KIND."""
    kinds = describable()
    places, whole = models_json_schema([(kind, "validation") for kind in kinds.values()], by_alias=True)
    definitions = {name: _tidy(schema) for name, schema in whole["$defs"].items()}
    of_kind = {name: _target(places[kind, "validation"]) for name, kind in kinds.items()}
    for name, kind in kinds.items():
        _close(definitions[of_kind[name]], name, kind)
    made: dict[str, Plain] = {EVERY_KIND: _every_kind(of_kind, kinds, definitions)}
    for name, target in of_kind.items():
        own = dict(definitions[target])
        needed = _reachable(own, definitions)
        inner = {key: definitions[key] for key in sorted(needed)}
        made[name] = {"$schema": DRAFT, "title": name, **own, "definitions": inner}
    return made


def _every_kind(of_kind: Mapping[str, str], kinds: Mapping[str, type[Kind]], definitions: Mapping[str, Plain]) -> Plain:
    versions = sorted({_version(kind) for kind in kinds.values()})
    choices = [
        {"if": {"properties": {"kind": {"const": name}}, "required": ["kind"]}, "then": _reference(of_kind[name])}
        for name in kinds
    ]
    return {
        "$schema": DRAFT,
        "title": "Modelplane documents",
        "type": "object",
        "required": ["apiVersion", "kind", "metadata"],
        "properties": {"apiVersion": {"enum": versions}, "kind": {"enum": sorted(kinds)}},
        "allOf": choices,
        "definitions": {name: definitions[name] for name in sorted(definitions)},
    }


def _version(kind: type[Kind]) -> str:
    return str(kind.model_fields["api_version"].default)


def _close(schema: Plain, name: str, kind: type[Kind]) -> None:
    """Ask for what tells the kind: models have defaults for it, documents must spell it out."""
    schema["properties"]["apiVersion"] = {"const": _version(kind)}
    schema["properties"]["kind"] = {"const": name}
    schema["required"] = sorted({"apiVersion", "kind", *schema.get("required", ())})


def _reference(name: str) -> Plain:
    return {"$ref": f"#/definitions/{name}"}


def _target(schema: Mapping[str, Any]) -> str:
    return str(schema["$ref"]).rpartition("/")[2]


def _tidy(schema: Any) -> Any:
    """Draft 7 without the nulls, titles and discriminators that pydantic adds; nothing beside a reference."""
    if isinstance(schema, list):
        return [_tidy(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {key: value for key, value in schema.items() if key not in ("title", "discriminator", "default", "anyOf")}
    if isinstance(schema.get("title"), dict):
        kept["title"] = schema["title"]
    tidied = {
        key: {name: _tidy(inner) for name, inner in value.items()} if key in _BY_NAME else _tidy(value)
        for key, value in kept.items()
    }
    if "description" in tidied and isinstance(tidied["description"], str):
        tidied["description"] = " ".join(tidied["description"].split())
    if schema.get("default") not in (None, [], {}, ""):
        tidied["default"] = schema["default"]
    options = [option for option in schema.get("anyOf", ()) if option != {"type": "null"}]
    if len(options) == 1:
        tidied = {**_tidy(options[0]), **tidied}
    elif options:
        tidied["anyOf"] = _tidy(options)
    if "$ref" in tidied:
        reference = _reference(_target(tidied))
        beside = {key: value for key, value in tidied.items() if key != "$ref"}
        return {**beside, "allOf": [reference]} if beside else reference
    return tidied


_BY_NAME = ("properties", "patternProperties", "$defs")
"""Keywords whose members are names of ours and no keywords."""


def _reachable(schema: Any, definitions: Mapping[str, Plain]) -> set[str]:
    """Names of the definitions that a schema needs, directly or through others."""
    found: set[str] = set()
    pending = [schema]
    while pending:
        here = pending.pop()
        if isinstance(here, list):
            pending += here
        elif isinstance(here, dict):
            pending += here.values()
            name = here.get("$ref")
            if isinstance(name, str) and (target := name.rpartition("/")[2]) not in found:
                found.add(target)
                pending.append(definitions[target])
    return found
