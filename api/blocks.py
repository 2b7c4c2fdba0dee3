"""Parts of which one field says what the rest looks like: `source: GKE` with a block `gke`, and no other block.

Each value is a model of its own, so that after checking there is exactly the block that belongs to it; the models
together are a discriminated union. A block that is missing or belongs to another value is said by its rule's id.
"""

from collections.abc import Iterator
from typing import Any, ClassVar, get_args

from pydantic import model_validator
from pydantic_core import PydanticCustomError

from api.base import Fault, Model


class Choice(Model):
    """One value of the field `_field`, with the block of the same name in lower case."""

    _field: ClassVar[str]
    _rules: ClassVar[dict[str, str]]
    """Every value of the field, with the id of the rule that asks for its block."""
    _foreign_rule: ClassVar[str]

    @classmethod
    def _value(cls) -> str:
        """The one value of the field that this model is for."""
        return str(get_args(cls.model_fields[cls._field].annotation)[0])

    @classmethod
    def block_name(cls) -> str:
        """Name of the block that belongs to the value."""
        return cls._value().lower()

    @model_validator(mode="before")
    @classmethod
    def _own_block_only(cls, data: object) -> object:
        if isinstance(data, dict) and (found := tuple(cls._block_faults(data))):
            text = "; ".join(fault.message for fault in found)
            raise PydanticCustomError("broken_rule", "{text}", {"text": text, "faults": found})
        return data

    @classmethod
    def _block_faults(cls, data: dict[str, Any]) -> Iterator[Fault]:
        known = {cls._field, *(value.lower() for value in cls._rules)}
        present = {name for name in data if data[name] is not None}
        for value, rule in cls._rules.items():
            name = value.lower()
            if value == cls._value() and name not in present and present <= known:
                even = "" if cls._block_required() else ", even if empty"
                hint = f"add the {name} block, or name another {cls._field}"
                yield Fault(rule, (name,), f"{cls._field} {value} needs this block{even}", hint)
            if value != cls._value() and name in present:
                hint = f"remove it, or set {cls._field}: {value}"
                yield Fault(cls._foreign_rule, (name,), f"does not belong to {cls._field} {cls._value()}", hint)

    @classmethod
    def _block_required(cls) -> bool:
        block = cls.model_fields[cls.block_name()].annotation
        return any(info.is_required() for info in getattr(block, "model_fields", {}).values())
