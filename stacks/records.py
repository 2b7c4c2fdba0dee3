"""What the backend keeps of single stacks: outputs, and which operations there were. Nothing is written.

Values of secrets are shown only to who asks for them.
"""

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from api.errors import InvocationError
from api.names import StackName
from api.problems import near_name
from stacks.changes import CHANGES
from stacks.state import PARALLEL, Pulumi


@dataclass(frozen=True, kw_only=True)
class Update:
    """One operation that the backend has recorded of a stack."""

    stack: str
    version: int
    """Its number; a stack's first operation has 1. 0 where the backend counts none."""
    kind: str
    """`update`, `destroy`, `refresh`, as Pulumi calls them."""
    result: str
    """`succeeded`, `failed` or `in-progress`."""
    began: str
    """When, in RFC 3339."""
    seconds: float | None
    """None while it goes on."""
    changes: Mapping[str, int]

    def plain(self) -> dict[str, Any]:
        """The operation for programs."""
        return {
            "stack": self.stack,
            "version": self.version,
            "kind": self.kind,
            "result": self.result,
            "began": self.began,
            "seconds": self.seconds,
            "changes": dict(self.changes),
        }


def stack_named(word: str, fleet: str, known: Mapping[StackName, object]) -> StackName:
    """The stack that a word means: its name, with or without the fleet's in front.

    Raises:
        InvocationError: the backend has none called so.

    """
    by_name = {str(stack): stack for stack in known if stack.fleet == fleet}
    for name in (word, f"{fleet}.{word}"):
        if name in by_name:
            return by_name[name]
    near = near_stack(word, fleet, by_name)
    hint = f"did you mean {near}?" if near else "`modelplane stacks` lists those that there are"
    raise InvocationError(f"there is no stack {word}", hint=hint, code="MP201")


def near_stack(word: str, fleet: str, known: Iterable[str]) -> str | None:
    """The stack of a fleet that was probably meant; what all have in common counts for nothing."""
    prefix = f"{fleet}."
    by_rest = {name.removeprefix(prefix): name for name in known}
    near = near_name(word.removeprefix(prefix), by_rest)
    return by_rest[near] if near else None


def outputs_of(pulumi: Pulumi, stack: StackName, *, show_secrets: bool) -> dict[str, Any]:
    """Outputs of the last update; a secret as a placeholder, unless it is to be shown.

    Raises:
        UnreadableStack: they cannot be read.

    """
    found: dict[str, Any] = pulumi.read(str(stack), "output", "--json", *(["--show-secrets"] if show_secrets else []))
    return found


def history_of(pulumi: Pulumi, stacks: list[StackName], most: int) -> list[Update]:
    """The last operations of each of these stacks, the newest of all first.

    Raises:
        UnreadableStack: a stack cannot be read.

    """

    def look(stack: StackName) -> list[Update]:
        found = pulumi.read(str(stack), "history", "--json", "--page-size", str(most), "--page", "1")
        return [_update(stack, each) for each in found]

    with ThreadPoolExecutor(PARALLEL) as pool:
        updates = [update for found in pool.map(look, stacks) for update in found]
    return sorted(updates, key=lambda update: update.began, reverse=True)[:most]


def _update(stack: StackName, found: Mapping[str, Any]) -> Update:
    began, ended = str(found.get("startTime") or ""), str(found.get("endTime") or "")
    counted = found.get("resourceChanges") or {}
    return Update(
        stack=str(stack),
        version=int(found.get("version") or 0),
        kind=str(found.get("kind") or "update"),
        result=str(found.get("result") or ""),
        began=began,
        seconds=_seconds(began, ended),
        changes={kind: counted[kind] for kind in CHANGES if counted.get(kind)},
    )


def _seconds(began: str, ended: str) -> float | None:
    try:
        return (datetime.fromisoformat(ended) - datetime.fromisoformat(began)).total_seconds()
    except ValueError:
        return None
