"""Which objects are asked for: by kind, name, namespace and labels, and in which order. Pure."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from api.errors import InvocationError
from api.kinds import is_namespaced, plural
from api.label_queries import LabelQuery
from api.problems import near_name
from stacks.inventory import identity
from stacks.status import Plain

_STEP = re.compile(r"\.?([^.\[\]]+)|\[(\d+)\]")


@dataclass(frozen=True, kw_only=True)
class Query:
    """What is asked for. `names` may say their namespace, as in `ml-team/qwen`; none stands for all."""

    kinds: Sequence[str]
    names: Sequence[str] = ()
    namespace: str | None = None
    """Of the kinds that have one; None stands for every namespace."""
    labels: LabelQuery = field(default_factory=LabelQuery)
    sort_by: str | None = None


def select(objects: Sequence[Plain], query: Query) -> list[Plain]:
    """The objects in the order of the kinds, and of what they are sorted by, else of their names.

    Raises:
        InvocationError: something that is named is not there, or there is nothing to sort by.

    """
    found: list[Plain] = []
    for kind in query.kinds:
        of_kind = [shown for shown in objects if shown["kind"] == kind and is_inside(shown, query.namespace)]
        chosen = _named(kind, of_kind, query) if query.names else of_kind
        admitted = [shown for shown in chosen if query.labels.matches(shown["metadata"].get("labels") or {})]
        found += admitted if query.names else sorted(admitted, key=identity)
    return sorted_by(found, query.sort_by) if query.sort_by else found


def is_inside(shown: Plain, namespace: str | None) -> bool:
    """Whether an object is in a namespace, or of a kind that has none."""
    return namespace is None or not is_namespaced(shown["kind"]) or shown["metadata"].get("namespace") == namespace


def sorted_by(objects: Sequence[Plain], path: str) -> list[Plain]:
    """In the order of what a path leads to: numbers before texts, and last what has nothing there.

    Raises:
        InvocationError: it is no path, or no object has anything there.

    """
    steps = _steps(path)
    keyed = [(value_at(shown, steps), shown) for shown in objects]
    if objects and all(value is None for value, _ in keyed):
        hint = "name a field as -o yaml shows it, as in .metadata.name or .status.replicas.ready"
        raise InvocationError(f"--sort-by {path}: none of the objects has that field", hint=hint)
    return [shown for _, shown in sorted(keyed, key=lambda pair: _rank(pair[0]))]


def value_at(shown: Any, steps: Iterable[str | int]) -> Any:
    """What a path leads to; None where it leads nowhere."""
    for step in steps:
        if isinstance(step, int) and isinstance(shown, list) and step < len(shown):
            shown = shown[step]
        elif isinstance(step, str) and isinstance(shown, dict):
            shown = shown.get(step)
        else:
            return None
    return shown


def _steps(path: str) -> tuple[str | int, ...]:
    bare = path.strip().removeprefix("{").removesuffix("}").removeprefix("$")
    found = list(_STEP.finditer(bare))
    if not found or "".join(step.group() for step in found) != bare:
        hint = "write the way to a field, as in .metadata.name or .spec.nodePools[0].nodeCount"
        raise InvocationError(f"--sort-by {path} is no way to a field", hint=hint)
    return tuple(int(step[2]) if step[2] else step[1] for step in found)


def _rank(value: Any) -> tuple[int, float, str]:
    if value is None:
        return 2, 0.0, ""
    if isinstance(value, int | float):
        return 0, float(value), ""
    return 1, 0.0, str(value)


def _named(kind: str, objects: Sequence[Plain], query: Query) -> list[Plain]:
    """The objects that the names mean; one name may be in several namespaces."""
    found: list[Plain] = []
    for name in query.names:
        inside, _, bare = name.rpartition("/")
        meant = [
            shown
            for shown in objects
            if shown["metadata"]["name"] == bare and inside in ("", shown["metadata"].get("namespace", ""))
        ]
        if not meant:
            raise _missing(kind, name, objects, query.namespace)
        found += meant
    return found


def _missing(kind: str, name: str, objects: Sequence[Plain], namespace: str | None) -> InvocationError:
    inside = f" in namespace {namespace}" if namespace and is_namespaced(kind) else ""
    known = {shown["metadata"]["name"] for shown in objects}
    near = near_name(name.rpartition("/")[2], known)
    hint = f"did you mean {near}?" if near else f"`modelplane get {plural(kind)}` lists what there is"
    return InvocationError(f"there is no {kind} {name}{inside}", hint=hint, code="MP201")
