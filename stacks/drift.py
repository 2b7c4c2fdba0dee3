"""What a look at live objects finds changed since they were applied, by others than us. Pure.

Values are told of the number of copies alone: any other field may hold what must not be shown.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from programs.live_objects import COPIES, manager_of

if TYPE_CHECKING:
    from pulumi.automation.events import StepEventMetadata

KUBERNETES = "kubernetes:"
GONE = "gone"


@dataclass(frozen=True, kw_only=True)
class Drift:
    """One field of one live object that is not as it was applied; `field` is `gone` where the object is not there."""

    kind: str
    name: str
    field: str
    found: int | None = None
    applied: int | None = None
    manager: str = ""
    """Who set it last, as the API server has noted it; empty where it was not noted."""

    def __str__(self) -> str:
        """`copies 2 → 1, last set by kubectl`."""
        if self.field == GONE:
            return "is not there any more"
        copies = self.found is not None and self.applied is not None
        what = f"copies {self.found} → {self.applied}" if copies else f"{self.field} differs"
        return f"{what}, last set by {self.manager}" if self.manager else what

    def plain(self) -> dict[str, Any]:
        """The drift for programs."""
        return {key: value for key, value in vars(self).items() if value not in (None, "")}


def drift_of(told: "StepEventMetadata") -> Iterator[Drift]:
    """What one step of a refresh found."""
    if not told.type.startswith(KUBERNETES) or told.old is None:
        return
    kind, name = told.type.rpartition(":")[2], told.urn.rpartition("::")[2]
    if told.new is None:
        yield Drift(kind=kind, name=name, field=GONE)
        return
    before, live = told.old.outputs or {}, told.new.outputs or {}
    for path in sorted(told.detailed_diff or ()):
        found, applied = (_copies(live), _copies(before)) if path == COPIES else (None, None)
        yield Drift(kind=kind, name=name, field=path, found=found, applied=applied, manager=manager_of(live, path))


def _copies(outputs: Mapping[str, Any]) -> int | None:
    found = (outputs.get("spec") or {}).get("replicas")
    return int(found) if isinstance(found, int | float) else None
