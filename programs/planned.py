"""Planned outputs: what the stacks of one preview would export, for the programs of that preview that read them.

Pulumi keeps no outputs of a preview, so they are taken out of the running program and stay in this process. A value
that only an update can tell is the marker that Pulumi itself stores for such a one; models read it as `Unknown`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pulumi
from pulumi.output import Unknown as NotKnown
from pulumi.runtime import settings

from programs.outputs import UNKNOWN
from programs.reading import StackReader, whole_numbers


@dataclass(frozen=True, kw_only=True)
class Captured:
    """Exports of one program. Secret values are in clear: they may be handed on, and are printed nowhere."""

    outputs: Mapping[str, Any] = field(default_factory=dict, repr=False)
    secret: frozenset[str] = frozenset()
    """Names of outputs that are secret, as a whole or in a part."""


class PlannedOutputs:
    """Outputs by stack: those planned in this preview first, else those of the last update."""

    def __init__(self, last: StackReader) -> None:
        self._last = last
        self._planned: dict[str, Mapping[str, Any]] = {}

    def plan(self, stack: str, outputs: Mapping[str, Any]) -> None:
        """Note what a stack would export."""
        self._planned[stack] = outputs

    def read(self, stack: str) -> Mapping[str, Any] | None:
        """Outputs of a stack as a program of this preview is to see them; None for an absent one.

        Raises:
            UnreadableStack: the stack was not planned, exists, and cannot be read.

        """
        planned = self._planned.get(stack)
        return self._last(stack) if planned is None else planned


def capture(take: Callable[[Captured], None]) -> None:
    """Hand over what the program running now exports, as soon as all of it is resolved.

    To be called inside the program, after its last export.
    """
    exports = dict(getattr(settings.get_root_resource(), "outputs", {}))

    async def resolve() -> bool:
        secret: set[str] = set()
        outputs = {name: await _plain(value, name, secret) for name, value in exports.items()}
        take(Captured(outputs=whole_numbers(outputs), secret=frozenset(secret)))
        return True

    resolved: Any = resolve()  # from_input takes no coroutine by its types
    pulumi.Output.from_input(resolved)


async def _plain(value: Any, name: str, secret: set[str]) -> Any:
    """The value with every output in it resolved, leaf by leaf: one that is unknown leaves the others readable."""
    if isinstance(value, pulumi.Output):
        if await value.is_secret():
            secret.add(name)
        found = await value.future(with_unknowns=True)
        if found is None and not await value.is_known():
            return UNKNOWN.value
        return await _plain(found, name, secret)
    if isinstance(value, NotKnown):
        return UNKNOWN.value
    if isinstance(value, Mapping):
        return {key: await _plain(item, name, secret) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [await _plain(item, name, secret) for item in value]
    return value
