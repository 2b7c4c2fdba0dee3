"""Looking for drift, and changing nothing: stacks against live objects, charts' objects, weights, and what is too much.

Three layers: what each stack's state says of its objects; what the manifest of each Helm release says of the objects in
it; what routing planned for the gateway. Besides them, objects that carry the fleet's label and belong to no stack.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import httpx2

from api import names
from api.errors import ModelplaneError
from api.names import StackName
from programs.kubernetes_access import connect
from programs.live_objects import manager_of
from programs.outputs import ClusterOutputs, GatewayOutputs, RoutingOutputs
from programs.releases import connected, live_object, newest_objects, path_of, resources
from stacks.engine import Engine
from stacks.events import KUBERNETES, RELEASE
from stacks.findings import DriftClass, Finding, merged, of_gateway, of_release, of_state
from stacks.live import Unreadable
from stacks.loop.eyes import objects_of
from stacks.loop.sight import ROUTE, Sight
from stacks.namespaces import listable
from stacks.operation import Operation
from stacks.pending import look_up
from stacks.view import View

HUB_STACKS = frozenset({"gateway", "routing"})


@dataclass(frozen=True, kw_only=True)
class Drifted:
    """What was found, and what kept a stack from being looked at."""

    findings: tuple[Finding, ...] = ()
    errors: tuple[ModelplaneError, ...] = ()
    looked_at: tuple[str, ...] = ()
    """Names of the stacks that were looked at."""


@dataclass
class _Place:
    """The hub or a cluster, and what stacks hold there."""

    kubeconfig: str
    stack: str
    """The stack that is named for what belongs to none."""
    answers: bool = True
    known: set[tuple[str, str, str]] = field(default_factory=set)
    """(kind, namespace, name) of everything in a state."""


def find(
    engine: Engine, fleet: str, stacks: Iterable[StackName], parallel: int, on_operation: Callable[[Operation], None]
) -> Drifted:
    """Look at these stacks.

    Raises:
        UnreadableStack: the backend, or outputs in it, cannot be read.

    """
    wanted = [stack for stack in stacks if stack.kind != "placement"]
    view = View(engine, fleet)
    view.renew_all(engine.stacks(), parallel)
    places = _places(view, fleet)
    with ThreadPoolExecutor(parallel) as pool:
        for place, answers in zip(places.values(), pool.map(_answers, places.values()), strict=True):
            place.answers = answers
        looked = list(pool.map(lambda stack: _stack(engine, stack, places, on_operation), wanted))
        touched = {key for stack in wanted if (key := _place_of(stack)) in places and places[key].answers}
        # What belongs to no stack is only known once all stacks of the place have told what they hold.
        for stack in engine.stacks():
            if _place_of(stack) in touched and stack not in wanted and stack.fleet == fleet:
                _note_known(engine, stack, places)
        extra = list(pool.map(lambda key: list(_extra(places[key], fleet)), sorted(touched)))
    findings = [finding for found, _ in looked for finding in found] + [each for found in extra for each in found]
    findings += [_unreachable(key, place) for key, place in places.items() if not place.answers]
    routing = view.get(RoutingOutputs, "routing")
    if routing is not None and any(stack.kind == "routing" for stack in wanted) and "" in touched:
        findings += _gateway(places[""], fleet, routing)
    errors = tuple(error for _, error in looked if error is not None)
    return Drifted(findings=tuple(merged(findings)), errors=errors, looked_at=tuple(map(str, wanted)))


def _places(view: View, fleet: str) -> dict[str, _Place]:
    clusters = view.by_cluster(ClusterOutputs, "cluster")
    found = {name: _Place(each.kubeconfig, f"{fleet}.workloads.{name}") for name, each in clusters.items()}
    gateway = view.get(GatewayOutputs, "gateway")
    return {**found, **({"": _Place(gateway.kubeconfig, f"{fleet}.routing")} if gateway else {})}


def _place_of(stack: StackName) -> str:
    return "" if stack.kind in HUB_STACKS else stack.cluster or "-"


def _answers(place: _Place) -> bool:
    try:
        with connect(place.kubeconfig) as client:
            objects_of(client, "Deployment", {names.LABEL_FLEET: "none"})
    except Unreadable:
        return False
    return True


def _unreachable(key: str, place: _Place) -> Finding:
    name = key or "the hub"
    stack = place.stack if key == "" else place.stack.replace(".workloads.", ".cluster.")
    return Finding(stack=stack, kind="Cluster", name=name, drift=DriftClass.UNREACHABLE, what="does not answer")


def _stack(
    engine: Engine, stack: StackName, places: Mapping[str, _Place], on_operation: Callable[[Operation], None]
) -> tuple[list[Finding], ModelplaneError | None]:
    place = places.get(_place_of(stack))
    try:
        resources = _note_known(engine, stack, places)
    except ModelplaneError as error:
        return [], error
    if place is None or not place.answers or not any(each["type"].startswith(KUBERNETES) for each in resources):
        return [], None
    operation = engine.look(stack)
    on_operation(operation)
    found = list(of_state(str(stack), operation.drift, {_in_stack(each): _name(each) for each in resources}))
    for each in resources:
        if each["type"] == RELEASE:
            found += _release(str(stack), place, each)
    return found, operation.error


def _note_known(engine: Engine, stack: StackName, places: Mapping[str, _Place]) -> list[dict[str, Any]]:
    """Resources of a stack's state, noted as known in the place where they are."""
    resources: list[dict[str, Any]] = (engine.exported(stack).get("deployment") or {}).get("resources") or []
    place = places.get(_place_of(stack))
    for each in resources if place is not None else ():
        metadata = (each.get("outputs") or {}).get("metadata") or {}
        if place is not None and each["type"].startswith(KUBERNETES) and metadata:
            kind = each["type"].rpartition(":")[2]
            place.known.add((kind, metadata.get("namespace") or "", metadata.get("name") or ""))
    return resources


def _in_stack(resource: Mapping[str, Any]) -> tuple[str, str]:
    return resource["type"].rpartition(":")[2], resource["urn"].rpartition("::")[2]


def _name(resource: Mapping[str, Any]) -> str:
    outputs = resource.get("outputs") or {}
    metadata = outputs.get("metadata") or outputs
    parts = (metadata.get("namespace"), metadata.get("name"))
    found = "/".join(part for part in parts if isinstance(part, str) and part)
    return found or resource["urn"].rpartition("::")[2]


def _release(stack: str, place: _Place, resource: Mapping[str, Any]) -> Iterator[Finding]:
    """Objects of a release against its manifest, which Helm keeps in a Secret of the release's namespace."""
    outputs = resource.get("outputs") or {}
    namespace, name = str(outputs.get("namespace")), str(outputs.get("name"))
    try:
        with connected(place.kubeconfig) as client:
            found = resources(client)
            for manifest, _ in newest_objects(client, namespace, name):
                metadata = manifest["metadata"]
                path = path_of(manifest, namespace, found)
                live = live_object(client, path) if path else None
                place.known.add((manifest["kind"], metadata.get("namespace", namespace), metadata["name"]))
                yield from of_release(stack, manifest, live)
    except (ModelplaneError, *Unreadable) as error:
        what = f"its release cannot be looked at: {type(error).__name__}"
        yield Finding(stack=stack, kind="Release", name=f"{namespace}/{name}", drift=DriftClass.UNREACHABLE, what=what)


def _extra(place: _Place, fleet: str) -> Iterator[Finding]:
    """Objects that carry the fleet's label, are nobody else's children, and are in no stack."""
    try:
        with connected(place.kubeconfig) as client:
            for group, plural in listable(client):
                answer = client.get(f"{group}/{plural}", params={"labelSelector": f"{names.LABEL_FLEET}={fleet}"})
                if answer.status_code == httpx2.codes.FORBIDDEN:
                    continue  # what we may not see is not ours to tell of
                answer.raise_for_status()
                listed = answer.json()
                kind = str(listed.get("kind", "")).removesuffix("List")
                for item in listed.get("items") or ():
                    metadata = item["metadata"]
                    key = (kind, metadata.get("namespace", ""), metadata["name"])
                    if key not in place.known and not metadata.get("ownerReferences"):
                        yield Finding(
                            stack=place.stack,
                            kind=kind,
                            name="/".join(key[1:]),
                            drift=DriftClass.EXTRA,
                            what="carries the fleet's label and is in no stack",
                            manager=_maker(metadata),
                        )
    except Unreadable:
        return


def _maker(metadata: Mapping[str, Any]) -> str:
    entries = sorted(metadata.get("managedFields") or (), key=lambda entry: str(entry.get("time", "")))
    return str(entries[0].get("manager", "")) if entries else ""


def _gateway(place: _Place, fleet: str, routing: RoutingOutputs) -> list[Finding]:
    try:
        with connect(place.kubeconfig) as client:
            sight = Sight(answers=True, objects=objects_of(client, ROUTE, {names.LABEL_FLEET: fleet}))
        managers = {key: _owner_of_rules(place.kubeconfig, key) for key in routing.services}
    except Unreadable:
        return []
    return list(of_gateway(place.stack, routing, sight, managers))


def _owner_of_rules(kubeconfig: str, key: str) -> str:
    namespace, _, name = key.partition("/")
    manifest = {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": ROUTE,
        "metadata": {"namespace": namespace, "name": name},
    }
    live = look_up(kubeconfig, manifest)
    return manager_of(live, "spec.rules", ("pulumi",)) if live else ""
