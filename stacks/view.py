"""The outputs of a fleet's stacks as the driver holds them during a pass: read once, renewed after each operation."""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from api.names import StackName
from programs.outputs import Outputs
from programs.reading import read
from stacks.engine import Engine
from stacks.exported import MODELS

Model = TypeVar("Model", bound=Outputs)


class View:
    """Last known outputs by stack; an absent stack reads as None."""

    def __init__(self, engine: Engine, fleet: str) -> None:
        self._engine = engine
        self._fleet = fleet
        self._known: dict[StackName, Outputs | None] = {}

    def renew(self, stack: StackName) -> None:
        """Read one stack again.

        Raises:
            UnreadableStack: its outputs exist and cannot be read.

        """
        self._known[stack] = read(lambda _: self._engine.outputs(stack), str(stack), MODELS[stack.kind])

    def renew_all(self, stacks: Iterable[StackName], parallel: int = 4) -> None:
        """Read several stacks side by side."""
        with ThreadPoolExecutor(parallel) as pool:
            list(pool.map(self.renew, stacks))

    def drop(self, stack: StackName) -> None:
        """Forget a stack that is gone."""
        self._known.pop(stack, None)

    def copy(self) -> "View":
        """The view as it is now; what is renewed later is in the one that renewed it alone."""
        other = View(self._engine, self._fleet)
        other._known = dict(self._known)
        return other

    def adopt(self, stack: StackName, other: "View") -> None:
        """Take over what another view knows of one stack."""
        if stack in other._known:  # noqa: SLF001 - another one of this class
            self._known[stack] = other._known[stack]  # noqa: SLF001

    def get(self, model: type[Model], kind: str, cluster: str | None = None) -> Model | None:
        """Outputs of one stack."""
        found = self._known.get(StackName(self._fleet, kind, cluster))
        return found if isinstance(found, model) else None

    def by_cluster(self, model: type[Model], kind: str) -> dict[str, Model]:
        """Outputs of all stacks of a kind that are there, by cluster."""
        found = {
            stack.cluster: outputs
            for stack, outputs in self._known.items()
            if stack.kind == kind and stack.cluster is not None and isinstance(outputs, model)
        }
        return dict(sorted(found.items()))
