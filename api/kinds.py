"""Kinds by the words that people have for them: `ModelDeployment`, `modeldeployments`, `md`."""

from collections.abc import Mapping
from typing import Final

from api.describe import SHORT_NAMES, describable
from api.errors import InvocationError
from api.internal import INSTEAD
from api.problems import near_name, suggestion
from api.replicas import ModelReplica

ALL: Final = "all"
"""What stands for the kinds that have a status, as `kubectl get all` has it."""

_REPLICA: Final = "ModelReplica"
LISTED: Final[Mapping[str, str]] = {**SHORT_NAMES, _REPLICA: "mr"}
"""Every kind that can be listed, with its short name. Replicas are in no document, and are listed all the same."""


def plural(kind: str) -> str:
    """The plural that upstream's definitions give a kind, in lower case."""
    lower = kind.lower()
    return f"{lower}es" if lower.endswith("s") else f"{lower}s"


def is_namespaced(kind: str) -> bool:
    """Whether objects of the kind are in a namespace."""
    return ModelReplica.namespaced if kind == _REPLICA else describable()[kind].namespaced


def kind_named(word: str) -> str:
    """The kind that a word means: its name in any case, in the plural, short, or with its group behind a dot.

    Raises:
        InvocationError: no kind is called so.

    """
    meant = word.lower().partition(".")[0]
    for kind, short in LISTED.items():
        if meant in (kind.lower(), plural(kind), short):
            return kind
    for (_, name), hint in INSTEAD.items():
        if name not in LISTED and meant in (name.lower(), plural(name)):
            raise InvocationError(f"{name} is made by Modelplane itself", hint=hint)
    near = near_name(word, [*LISTED.values(), *map(plural, LISTED), *LISTED])
    hint = f"did you mean {near}?" if near else suggestion(word, LISTED)
    raise InvocationError(f"there is no kind {word}", hint=hint)


def kinds_named(words: str, having_status: Mapping[str, object]) -> tuple[str, ...]:
    """The kinds that `KIND[,KIND...]` or `all` mean, each once.

    Raises:
        InvocationError: a word means no kind.

    """
    found: dict[str, None] = {}
    for word in words.split(","):
        found.update(dict.fromkeys(having_status if word.lower() == ALL else [kind_named(word)]))
    return tuple(found)
