"""Whether inputs are what an SDK takes: every name and kind of value, also inside plain dictionaries.

The SDKs check top-level arguments themselves; a key inside a dictionary goes by them unseen. Their own classes say what
is allowed, by names of `pulumi._types` that are private to the SDK of Pulumi and therefore pinned by a test.
"""

import collections.abc
import importlib
import importlib.util
import inspect
import json
import re
import typing
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from pulumi import _types

UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
PACKAGES = {
    "aws": "pulumi_aws",
    "gcp": "pulumi_gcp",
    "azure-native": "pulumi_azure_native",
    "nebius": "pulumi_nebius",
    "vultr": "ediri_vultr",
}


def faults(token: str, inputs: Mapping[str, Any]) -> list[str]:
    """What is wrong with the inputs of a resource; nothing for packages that no SDK here describes."""
    package = PACKAGES.get(token.partition(":")[0])
    if package is None:
        return []
    arguments = _arguments(package, token)
    return [f"{token}: unknown type"] if arguments is None else list(_object(arguments, inputs, ""))


@cache
def _classes(package: str) -> dict[str, tuple[str, str]]:
    spec = importlib.util.find_spec(package)
    assert spec
    assert spec.origin
    listed = re.search(r'resource_modules="""(.*?)"""', Path(spec.origin).read_text(), re.DOTALL)
    assert listed
    modules = json.loads(listed[1])
    return {token: (module["fqn"], name) for module in modules for token, name in module["classes"].items()}


def _arguments(package: str, token: str) -> type | None:
    found = _classes(package).get(token)
    if found is None:
        return None
    module = importlib.import_module(found[0])
    both = (getattr(module, f"{found[1]}{suffix}", None) for suffix in ("InitArgs", "Args"))
    return next((each for each in both if each is not None), None)


def _object(kind: type, value: Mapping[str, Any], at: str) -> Iterator[str]:
    types = _types.input_type_types(kind)
    names = _types.input_type_py_to_pulumi_names(kind)
    parameters = inspect.signature(kind.__init__).parameters.items()  # type: ignore[misc]  # it is a class
    required = {names.get(name, name) for name, each in parameters if each.default is each.empty and name in names}
    yield from (f"{at}{name}: missing" for name in sorted(required - value.keys()))
    for name, item in value.items():
        if name.startswith("__"):
            continue
        if name not in types:
            yield f"{at}{name}: unknown, one of {', '.join(sorted(types))}"
        else:
            yield from _value(types[name], item, f"{at}{name}")


def _value(kind: Any, value: Any, at: str) -> Iterator[str]:
    if value in (None, UNKNOWN):
        return
    kind = _types.unwrap_type(kind)
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Union:
        tried = [list(_value(each, value, at)) for each in arguments if each is not type(None)]
        if all(tried):
            yield from min(tried, key=len)
    elif origin in {collections.abc.Sequence, list}:
        yield from _list(arguments[0], value, at)
    elif origin in {collections.abc.Mapping, dict}:
        if not isinstance(value, dict):
            yield f"{at}: not an object"
        else:
            for key, item in value.items():
                yield from _value(arguments[1], item, f"{at}.{key}")
    elif isinstance(kind, type) and _types.is_input_type(kind):
        yield from _object(kind, value, f"{at}.") if isinstance(value, dict) else [f"{at}: not an object"]
    elif kind in _SCALARS and not isinstance(value, _SCALARS[kind]):
        yield f"{at}: not a {kind.__name__}: {value!r}"


def _list(kind: Any, value: Any, at: str) -> Iterator[str]:
    if not isinstance(value, list):
        yield f"{at}: not a list"
        return
    for index, item in enumerate(value):
        yield from _value(kind, item, f"{at}[{index}]")


_SCALARS: Mapping[Any, Any] = {str: str, int: (int, float), float: (int, float), bool: bool}
