"""Every field says what it means, since `explain` and the schemas have no other source."""

from typing import Any, get_args

from pydantic import BaseModel

from api import ModelReplica
from api.loader import KINDS


def models(annotation: Any) -> list[type[BaseModel]]:
    own = [annotation] if isinstance(annotation, type) and issubclass(annotation, BaseModel) else []
    return own + [model for part in get_args(annotation) for model in models(part)]


def all_models() -> set[type[BaseModel]]:
    found: set[type[BaseModel]] = set()
    pending: list[type[BaseModel]] = [*KINDS.values(), ModelReplica]
    while pending:
        model = pending.pop()
        if model not in found:
            found.add(model)
            pending += [inner for info in model.model_fields.values() for inner in models(info.annotation)]
    return found


def test_every_field_says_what_it_means() -> None:
    silent = {
        f"{model.__name__}.{name}"
        for model in all_models()
        for name, info in model.model_fields.items()
        if not (info.description or "").endswith(".")
    }
    assert silent == set()
    assert len(all_models()) > 80


def test_every_model_says_what_it_is() -> None:
    assert {model.__name__ for model in all_models() if not (model.__doc__ or "").strip()} == set()
