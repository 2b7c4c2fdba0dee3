"""What a plan was made of, kept in a file: documents, what stacks hold, and the nodes that clusters have. Pure.

An update that is given the file goes on only where nothing of that has moved. The file holds digests and numbers: no
value of a Secret, no kubeconfig. What would be done is not read from it: the same from the same is the same.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from api.documents import FleetDocuments
from api.errors import InvocationError, ModelplaneError
from api.fleets import Secret
from programs.context import Permissions
from stacks.exported import SIGNATURE

KIND = "SavedPlan"
VERSION = 1
_KEPT_OUTPUTS: Mapping[str, tuple[str, ...]] = {"placement": ("ledger",), "cluster": ("inputs",)}
"""Outputs that are state of their own, by kind of stack; others follow from resources or are what was seen."""
MOST_NAMED = 20
"""Of what has moved, so much is named one by one."""


class PlanMoved(ModelplaneError):
    """What a saved plan was made of is not so any more."""

    exit_code = 25
    code = "MP325"


@dataclass(frozen=True, kw_only=True)
class ClusterSeen:
    """What one cluster offered when it was asked; nothing is known of one that did not answer."""

    reachable: bool
    nodes: Mapping[str, int] = field(default_factory=dict)
    """Nodes that are there, by pool."""
    devices: Mapping[str, str] = field(default_factory=dict)
    """Digests of what their nodes publish, by pool."""


@dataclass(frozen=True, kw_only=True)
class SavedPlan:
    """What a plan was made of, and what it came to."""

    fleet: str
    backend: str
    """Where the state lies, as a digest: a URL may hold a name or a key."""
    documents: Mapping[str, str]
    """Digests by kind and name."""
    stacks: Mapping[str, str]
    """Digests of what each stack holds."""
    clusters: Mapping[str, ClusterSeen]
    permissions: Mapping[str, Any] = field(default_factory=dict)
    summary: str = ""
    """What it came to, for people."""

    def text(self) -> str:
        """The plan as a file has it."""
        return json.dumps({"kind": KIND, "version": VERSION, **asdict(self)}, indent=1, sort_keys=True) + "\n"


def from_text(text: str, where: str) -> SavedPlan:
    """Read a file that `text` was written to.

    Raises:
        InvocationError: MP203, it is none that this release reads.

    """
    try:
        plain = json.loads(text)
        head = plain.pop("kind"), plain.pop("version")
        clusters = {name: ClusterSeen(**seen) for name, seen in plain.pop("clusters").items()}
        plan = SavedPlan(clusters=clusters, **plain)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        head, plan = ("", 0), None
    if plan is None or head != (KIND, VERSION):
        hint = "`modelplane preview --save-plan FILE` writes one"
        raise InvocationError("is no plan that this release reads", where=where, hint=hint, code="MP203")
    return plan


def moved(plan: SavedPlan, now: SavedPlan) -> Iterator[str]:
    """What is not as the plan has it, in words; nothing where all is as it was."""
    if plan.fleet != now.fleet:
        yield f"the fleet is called {now.fleet}, the plan is of {plan.fleet}"
    if plan.backend != now.backend:
        yield "the state lies in another backend"
    for name in sorted({*plan.documents, *now.documents}):
        yield from _differs(name, plan.documents.get(name), now.documents.get(name))
    for name in sorted({*plan.stacks, *now.stacks}):
        yield from _differs(f"stack {name}", plan.stacks.get(name), now.stacks.get(name))
    for name in sorted({*plan.clusters, *now.clusters}):
        yield from _seen(name, plan.clusters.get(name), now.clusters.get(name))


def refuse_moved(plan: SavedPlan, now: SavedPlan, where: str) -> None:
    """Stop where something has moved.

    Raises:
        PlanMoved: naming what.

    """
    found = list(moved(plan, now))
    if not found:
        return
    more = [f"and {len(found) - MOST_NAMED} more"] if len(found) > MOST_NAMED else []
    told = "; ".join([*found[:MOST_NAMED], *more])
    hint = "look at a new `modelplane preview --save-plan`, and give that"
    raise PlanMoved(f"the plan is not of what is now: {told}", where=where, hint=hint)


def document_digests(documents: FleetDocuments) -> dict[str, str]:
    """A digest of each document by kind and name; of a Secret's values their digests count."""
    found = {}
    for document in documents.all():
        plain: dict[str, Any] = document.plain()
        if isinstance(document, Secret):
            plain["values"] = {key: _digest(value.hex()) for key, value in document.values().items()}
        found[document.subject] = _digest(plain)
    return found


def state_digest(kind: str, exported: Mapping[str, Any]) -> str:
    """A digest of what a stack holds, of its state as the backend has it.

    What counts is which resources there are and what they were given. What was seen of them later, when something was
    written and how secrets happen to be encrypted does not, so that an update which changes nothing moves nothing.
    """
    resources = (exported.get("deployment") or {}).get("resources") or ()
    held = [
        [each["urn"], each.get("type"), each.get("id"), bool(each.get("delete")), _without_ciphers(each.get("inputs"))]
        for each in resources
        if not each.get("type", "").startswith("pulumi:")
    ]
    outputs = next((each.get("outputs") or {} for each in resources if each.get("type") == "pulumi:pulumi:Stack"), {})
    kept = {name: _without_ciphers(outputs.get(name)) for name in _KEPT_OUTPUTS.get(kind, ())}
    return _digest([sorted(held, key=lambda each: (each[0], str(each[2]))), kept])


def permissions_plain(permissions: Permissions) -> dict[str, Any]:
    """Permissions that the plan was made with."""
    return {
        "allow": sorted(permissions.deletions),
        "delete_cluster": sorted(permissions.delete_clusters),
        "forget": sorted(permissions.forget),
        "rebuild_ledger": permissions.rebuild_ledger,
    }


def permissions_of(plan: SavedPlan) -> Permissions:
    """The same back again."""
    given = plan.permissions
    return Permissions(
        deletions=frozenset(given.get("allow", ())),
        delete_clusters=frozenset(given.get("delete_cluster", ())),
        forget=frozenset(given.get("forget", ())),
        rebuild_ledger=bool(given.get("rebuild_ledger")),
    )


def digest_of(text: str) -> str:
    """A digest of a text that is not to be shown."""
    return _digest(text)


def _differs(name: str, before: str | None, now: str | None) -> Iterator[str]:
    if before == now:
        return
    word = "is new" if before is None else "is gone" if now is None else "has changed"
    yield f"{name} {word}"


def _seen(name: str, before: ClusterSeen | None, now: ClusterSeen | None) -> Iterator[str]:
    if before is None or now is None:
        yield f"cluster {name} {'could not be' if before is None else 'can no longer be'} asked"
        return
    if before.reachable != now.reachable:
        yield f"cluster {name} {'answers' if now.reachable else 'does not answer'}"
        return
    for pool in sorted({*before.nodes, *now.nodes}):
        old, new = before.nodes.get(pool, 0), now.nodes.get(pool, 0)
        label = f"pool {pool}" if pool else "nodes without a pool"
        if old != new:
            yield f"cluster {name}, {label}: {new} nodes, {old} when it was planned"
        elif before.devices.get(pool) != now.devices.get(pool):
            yield f"cluster {name}, {label}: its nodes publish other devices"


def _without_ciphers(value: Any) -> Any:
    if isinstance(value, Mapping):
        hidden = ("ciphertext", "plaintext") if SIGNATURE in value else ()
        return {key: _without_ciphers(inner) for key, inner in value.items() if key not in hidden}
    return [_without_ciphers(inner) for inner in value] if isinstance(value, list) else value


def _digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()
