"""Which stack of a fleet a command is about, and how it is read."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.completing import complete_stacks

if TYPE_CHECKING:
    from api.names import StackName
    from stacks.environment import Environment
    from stacks.state import Pulumi

Stack = Annotated[
    str,
    typer.Argument(
        metavar="STACK",
        help="A stack, with or without the fleet's name in front: demo.placement, cluster.us.",
        show_default=False,
        autocompletion=complete_stacks,
    ),
]
MaybeStack = Annotated[
    str | None,
    typer.Argument(
        metavar="[STACK]",
        help="A stack, with or without the fleet's name in front: demo.placement, cluster.us.",
        show_default="every stack",
        autocompletion=complete_stacks,
    ),
]


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A fleet's stacks in its backend, and the one that is asked about."""

    fleet: str
    environment: "Environment"
    known: "Sequence[StackName]"
    """Stacks of the fleet that the backend has, by name; none where there is no state."""
    stack: "StackName | None"

    def pulumi(self) -> "Pulumi":
        """What reads them."""
        from stacks.state import Pulumi

        return Pulumi(self.environment)


def asked(fleet: Sequence[Path] | None, word: str | None) -> Asked:
    """The fleet, and the stack that is named.

    Raises:
        InvocationError: there is no stack called so.
        UnreadableStack: the backend cannot be read.

    """
    from api.names import StackName
    from cli.fleet import fleet_of, load_leniently, place_of
    from stacks.environment import environment_of
    from stacks.records import stack_named
    from stacks.state import Pulumi, has_state

    place = place_of(fleet)
    documents = load_leniently(place)
    name = fleet_of(documents).name
    environment = environment_of(place.directory)
    known: list[StackName] = []
    if has_state(environment):
        known = sorted((stack for stack in Pulumi(environment).stacks() if stack.fleet == name), key=str)
    stack = stack_named(word, name, dict.fromkeys(known)) if word is not None else None
    return Asked(fleet=name, environment=environment, known=known, stack=stack)
