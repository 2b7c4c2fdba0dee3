"""Settling what a killed engine left open: for each creation it had begun, whether the object is there.

Pulumi keeps such creations in the state as pending and does nothing about them by itself: an object that was made and
is no longer wanted would stay for ever. Here the live object is asked for. One that carries this fleet's label and was
applied by Pulumi is put into the state under its id; the rest is dropped, and made again where it is still wanted.
Updates and deletions are settled by the refresh that has to follow.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import httpx2

from api import names
from api.errors import ModelplaneError
from programs.releases import connected, live_object, path_of, remaining, resources
from stacks.events import KUBERNETES, RELEASE
from stacks.exported import reveal

PROVIDERS = "pulumi:providers:"
NAMESPACE = "kubernetes:core/v1:Namespace"
CREATING = "creating"
FIELD_MANAGER = "__fieldManager"
APPLIED_BY = "pulumi-kubernetes"
"""How the provider names itself on what it applies; a suffix of its own for each resource follows."""

Plain: TypeAlias = Mapping[str, Any]
Look: TypeAlias = Callable[[str, Plain], Plain | None]
"""Asks a cluster, given its kubeconfig, for the live object of a manifest; None where there is none."""
Release: TypeAlias = Callable[[str, Plain], bool]
"""Takes away what a cluster notes as pending of a Helm release, and tells whether the release is there."""


class Unsettled(ModelplaneError):
    """Whether an interrupted creation has made its object cannot be known now."""

    code = "MP346"


@dataclass(frozen=True, kw_only=True)
class Settled:
    """A state without pending operations, as it is imported, and what was found of each, one line a piece."""

    state: dict[str, Any]
    notes: tuple[str, ...]
    changed: bool
    """Whether it differs from the one that was given."""


def pending_operations(state: Plain) -> list[dict[str, Any]]:
    """Operations of an exported state that an engine has begun and not recorded as done."""
    found: list[dict[str, Any]] = (state.get("deployment") or {}).get("pending_operations") or []
    return found


def look_up_release(kubeconfig: str, inputs: Plain) -> bool:
    """Whether the release of these inputs is there, once Helm takes operations on it again.

    Raises:
        Unsettled: the cluster does not answer, or refuses to.

    """
    try:
        return remaining(kubeconfig, inputs["namespace"], inputs["name"])
    except (httpx2.HTTPError, OSError, ValueError, ModelplaneError) as error:
        raise Unsettled(f"its cluster does not tell: {type(error).__name__}") from None


def settle(
    state: Plain,
    shown: Plain,
    fleet: str,
    look: Look,
    failed: Sequence[Plain] = (),
    release: Release = look_up_release,
) -> Settled:
    """Decide about every pending operation of `state`; `shown` is the same state with its secrets.

    Helm refuses a release that it takes to be in the middle of an operation, so that note of a killed one is taken away
    before anything is read again.

    `failed` are entries of creations that the engine gave up: a cancelled call may have arrived all the same. They are
    left out of the notes where nothing is found. Namespaces among them are passed over: they are not to be deleted
    with all they hold, and empty ones of ours are tidied up in any case.

    Raises:
        Unsettled: a cluster does not tell whether an object is there; nothing may be decided then.

    """
    deployment = dict(state["deployment"])
    resources = list(deployment.get("resources") or [])
    kubeconfigs = kubeconfigs_of(shown)
    pending = [(operation["resource"], operation["type"]) for operation in pending_operations(state)]
    given_up = [(entry, CREATING) for entry in failed if entry["type"] != NAMESPACE]
    notes = []
    for entry, kind in (*pending, *given_up):
        is_missed = kind == CREATING and not _is_listed(entry, resources)
        if entry["type"] == RELEASE:
            adopted = _adopted_release(entry, kubeconfigs, release, is_missed=is_missed)
        else:
            is_object = is_missed and entry["type"].startswith(KUBERNETES)
            adopted = _adopted(entry, fleet, kubeconfigs, look) if is_object else None
        if adopted is not None:
            resources.append(_fitting(adopted, resources))
        known = _is_listed(entry, resources)
        if adopted is not None or ((entry, kind) in pending and _is_worth_a_note(entry)):
            notes.append(_note(entry, kind, found=known))
    changed = bool(pending) or len(resources) > len(deployment.get("resources") or [])
    deployment["resources"] = resources
    deployment.pop("pending_operations", None)
    return Settled(state={**state, "deployment": deployment}, notes=tuple(notes), changed=changed)


def look_up(kubeconfig: str, manifest: Plain) -> Plain | None:
    """The live object of a manifest, None where there is none or the cluster does not know its kind.

    Raises:
        Unsettled: the cluster does not answer, or refuses to.

    """
    try:
        with connected(kubeconfig) as client:
            path = _path(client, manifest)
            return live_object(client, path) if path else None
    except (httpx2.HTTPError, OSError, ValueError, ModelplaneError) as error:
        raise Unsettled(f"its cluster does not tell: {type(error).__name__}") from None


def _adopted(entry: Plain, fleet: str, kubeconfigs: Mapping[str, str], look: Look) -> dict[str, Any] | None:
    """The entry of an object that the interrupted creation has made, None where it has made none."""
    manifest = entry.get("inputs") or {}
    kubeconfig = kubeconfigs.get(entry.get("provider", ""))
    if kubeconfig is None:
        return None  # without its provider in the state, no call can have been made through it
    try:
        live = look(kubeconfig, manifest)
    except Unsettled as error:
        raise Unsettled(
            f"a run was killed while it created {_named(entry)}, and {error.message}",
            hint="bring the cluster back and run this again; nothing was changed",
        ) from None
    metadata = (live or {}).get("metadata") or {}
    manager = _manager(metadata.get("managedFields") or ())
    if manager is None or (metadata.get("labels") or {}).get(names.LABEL_FLEET) != fleet:
        return None
    id_parts = (metadata.get("namespace"), metadata["name"])
    outputs = {**manifest, FIELD_MANAGER: manager}
    return {**entry, "id": "/".join(part for part in id_parts if part), "outputs": outputs}


def _adopted_release(
    entry: Plain, kubeconfigs: Mapping[str, str], release: Release, *, is_missed: bool
) -> dict[str, Any] | None:
    """The entry of a release that is there and not in the state; the provider reads the rest of it, and upgrades it."""
    inputs = entry.get("inputs") or {}
    kubeconfig = kubeconfigs.get(entry.get("provider", ""))
    if kubeconfig is None or not {"namespace", "name"} <= inputs.keys():
        return None
    if not release(kubeconfig, inputs) or not is_missed:
        return None
    return {**entry, "id": f"{inputs['namespace']}/{inputs['name']}", "outputs": dict(inputs)}


def _manager(entries: Iterable[Plain]) -> str | None:
    applied = [
        entry
        for entry in entries
        if entry.get("operation") == "Apply" and str(entry.get("manager")).startswith(APPLIED_BY)
    ]
    latest = max(applied, key=lambda entry: str(entry.get("time") or ""), default=None)
    return latest["manager"] if latest else None


def _is_listed(entry: Plain, resources: Iterable[Plain]) -> bool:
    return any(found["urn"] == entry["urn"] and not found.get("delete") for found in resources)


def _fitting(entry: dict[str, Any], resources: Iterable[Plain]) -> dict[str, Any]:
    """The entry without references to what the state does not hold: it would be refused."""
    known = {found["urn"] for found in resources}
    kept = {**entry, "dependencies": [urn for urn in entry.get("dependencies") or () if urn in known]}
    kept["propertyDependencies"] = {
        key: [urn for urn in urns or () if urn in known]
        for key, urns in (entry.get("propertyDependencies") or {}).items()
    }
    if entry.get("parent") not in known:
        kept.pop("parent", None)
    return kept


def kubeconfigs_of(shown: Plain) -> dict[str, str]:
    """Kubeconfigs by the reference that a resource has to its provider, out of a state exported with its secrets."""
    resources = reveal((shown.get("deployment") or {}).get("resources") or [])
    return {
        f"{found['urn']}::{found['id']}": str(found["inputs"]["kubeconfig"])
        for found in resources
        if found["type"] == f"{PROVIDERS}kubernetes" and found.get("id") and "kubeconfig" in (found.get("inputs") or {})
    }


def _is_worth_a_note(entry: Plain) -> bool:
    return bool(entry.get("custom")) and not entry["type"].startswith(PROVIDERS)


def _note(entry: Plain, kind: str, *, found: bool) -> str:
    name = _named(entry)
    if kind != CREATING:
        return f"{name}: interrupted while {kind}, read again"
    return f"{name}: interrupted while creating, {'found and kept' if found else 'not found, made again where wanted'}"


def _named(entry: Plain) -> str:
    kind, _, name = str(entry["urn"]).rpartition("::")
    return f"{kind.rpartition(':')[2]} {name}"


def _path(client: httpx2.Client, manifest: Plain) -> str | None:
    """Where the API server keeps the object; None when it does not know the kind, and says so."""
    return path_of(manifest, "default", resources(client))
