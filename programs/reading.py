"""How a program reads another stack's outputs, and its own last ones. Every read of a stack goes through here.

`absent` is an answer: a stack that does not exist, or that has not exported anything yet, reads as None. Anything else
that keeps the outputs from being read raises, because a desired set must never shrink out of a failed lookup.
"""

import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from pulumi.runtime import invoke
from pydantic import ValidationError

from api.errors import UnreadableStack
from programs.outputs import Outputs

READ_FUNCTION = "pulumi:pulumi:readStackOutputs"
MISSING_STACK = "unknown stack"
"""The one message of Pulumi's that is parsed: its engine has no code for a stack that does not exist."""

PAUSES = (0.1, 0.3, 1.0)
"""Seconds before a stack that could not be read is asked again: another engine may be writing it just now."""

StackReader = Callable[[str], Mapping[str, Any] | None]
Model = TypeVar("Model", bound=Outputs)


def engine_reader(stack: str) -> Mapping[str, Any] | None:
    """Outputs of the last update of `stack`, through the engine that runs this program.

    Secrets come back in clear: wrap them with `pulumi.Output.secret` before they reach a resource.

    Raises:
        UnreadableStack: the stack exists and its outputs cannot be read.

    """
    pauses = list(PAUSES)
    while True:
        try:
            result = invoke(READ_FUNCTION, {"name": stack})
        except Exception as error:
            if MISSING_STACK in str(error):
                return None
            if not pauses:
                raise UnreadableStack(
                    f"the outputs of stack {stack} cannot be read: {error}",
                    hint="check the backend and the passphrase; nothing was changed",
                ) from error
            time.sleep(pauses.pop(0))
        else:
            outputs: Mapping[str, Any] = whole_numbers(result.value.get("outputs") or {})
            return outputs or None


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
