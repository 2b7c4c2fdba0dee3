"""How outputs of a stack are read. Every read of a stack goes through here, with a reader that fetches them.

`absent` is an answer: a stack that does not exist, or that has not exported anything yet, reads as None. Anything else
that keeps the outputs from being read raises, because a desired set must never shrink out of a failed lookup.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from pydantic import ValidationError

from api.errors import UnreadableStack
from programs.outputs import Outputs

StackReader = Callable[[str], Mapping[str, Any] | None]
Model = TypeVar("Model", bound=Outputs)


def read(reader: StackReader, stack: str, model: type[Model]) -> Model | None:
    """The outputs of `stack` as a model, or None when the stack is absent.

    Raises:
        UnreadableStack: the outputs cannot be read, or lack what the model needs (the field is named, never its value).

    """
    outputs = reader(stack)
    if not outputs:
        return None
    try:
        return model.model_validate(outputs)
    except ValidationError as error:
        fields = "; ".join(
            f"{'.'.join(str(part) for part in fault['loc'])}: {fault['msg']}"
            for fault in error.errors(include_input=False, include_url=False, include_context=False)[:5]
        )
        raise UnreadableStack(
            f"the outputs of stack {stack} are not what this release reads: {fields}",
            hint=f"bring {stack} up again with this release; nothing was changed",
        ) from None


def whole_numbers(value: Any) -> Any:
    """The same plain data with whole floats as integers: the engine's wire format knows one kind of number."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {key: whole_numbers(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [whole_numbers(item) for item in value]
    return value
