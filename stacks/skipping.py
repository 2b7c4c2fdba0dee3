"""What a pass need not do: stacks that would do the same again, by notes which are kept beside the fleet.

The notes are the loop's, and told by its digests: a pass leaves them for the next loop, and a loop for the next pass.
A live object that somebody changed is not seen by that; a run without the notes looks at everything.
"""

import time
from pathlib import Path

from api.documents import FleetDocuments
from api.names import StackName
from programs.context import Permissions
from programs.outputs import ClusterOutputs
from stacks.environment import Environment
from stacks.loop import journal
from stacks.loop.agenda import Done
from stacks.loop.asked import Digests, World, is_unfinished
from stacks.loop.backend import stamps
from stacks.loop.directory import value_digests
from stacks.view import View


class Notes:
    """What each stack was last brought up for, and whether it would do the same now; `skip` says that this matters."""

    def __init__(
        self,
        environment: Environment,
        documents: FleetDocuments,
        *,
        permissions: Permissions | None = None,
        skip: bool = False,
    ) -> None:
        self._environment = environment
        self._documents = documents
        self._permissions = permissions or Permissions()
        self._skip = skip
        self._edited = documents.digest()
        self._values = value_digests(documents)
        self._stamps = stamps(environment) or {}
        self._earlier = journal.recall(self._folder, stamps(environment), _ago())
        self._done: dict[StackName, Done] = {}
        self._digests: tuple[View, Digests] | None = None

    def knows(self, stack: StackName, view: View) -> bool:
        """Whether a stack may be left alone: it did what is asked of it, and nobody has written its state since.

        A cluster that did not answer is asked again.
        """
        earlier = self._earlier.get(stack)
        if not self._skip or earlier is None:
            return False
        outputs = view.get(ClusterOutputs, "cluster", stack.cluster) if stack.cluster else None
        if stack.kind == "cluster" and (outputs is None or not outputs.reachable):
            return False
        if self._digests is None or self._digests[0] is not view:
            self._digests = (view, self._digests_of(view))
        return self._digests[1].of(stack).digest == earlier.asked.digest

    def ran(self, stack: StackName, before: View, view: View, *, ok: bool) -> None:
        """Take note of a run: `before` is what was known when it began, `view` what is by now."""
        self._earlier.pop(stack, None)
        self._done.pop(stack, None)
        if stack.kind == "cluster" and stack.cluster not in self._documents.clusters:
            return
        if not ok or is_unfinished(stack, view):
            return
        if stack.kind != "workloads":  # what it saw staged lets replicas start that it did not render: still to do
            before.adopt(stack, view)
        self._done[stack] = Done(asked=self._digests_of(before).of(stack), at=time.monotonic())

    def keep(self) -> None:
        """Leave the notes for the next run; those of stacks that somebody else wrote meanwhile are dropped."""
        now = stamps(self._environment)
        untouched = {
            stack: done
            for stack, done in self._earlier.items()
            if self._stamps.get(str(stack)) == (now or {}).get(str(stack))
        }
        journal.keep(self._folder, {**untouched, **self._done}, now, _ago())

    @property
    def _folder(self) -> Path:
        return self._environment.folder

    def _digests_of(self, view: View) -> Digests:
        return Digests(
            World(
                documents=self._documents,
                view=view,
                values=self._values,
                permissions=self._permissions,
                edited=self._edited,
            )
        )


def _ago() -> float:
    return time.time() - time.monotonic()
