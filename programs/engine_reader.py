"""How a program reads another stack's outputs, and its own last ones: through the engine that runs it."""

import time
from collections.abc import Mapping
from typing import Any

from pulumi.runtime import invoke

from api.errors import UnreadableStack
from programs.reading import whole_numbers

READ_FUNCTION = "pulumi:pulumi:readStackOutputs"
MISSING_STACK = "unknown stack"
"""The one message of Pulumi's that is parsed: its engine has no code for a stack that does not exist."""

PAUSES = (0.1, 0.3, 1.0)
"""Seconds before a stack that could not be read is asked again: another engine may be writing it just now."""


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
