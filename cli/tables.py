"""Columns of `modelplane status`, picked out of the objects it shows."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from cli.printing import table
from cli.summary import deployment_status, refusal_rows
from stacks.status import condition_of

Plain = dict[str, Any]
Rows = Iterator[tuple[str, ...]]


def status_tables(objects: Iterable[Plain], now: datetime) -> str:
    """One table a kind that has objects; ages count from the last change of what the row tells."""
    by_kind: dict[str, list[Plain]] = {}
    for shown in objects:
        by_kind.setdefault(shown["kind"], []).append(shown)
    parts = [
        table(head, (row for shown in by_kind[kind] for row in rows(shown, now)))
        for kind, (head, rows) in _TABLES.items()
        if kind in by_kind
    ]
    return "\n".join(parts)


def age(since: str | None, now: datetime) -> str:
    """`5s`, `3m`, `2h`, `4d` since a time in RFC 3339; `-` where there is none."""
    try:
        began = datetime.strptime(since or "", "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    except ValueError:
        return "-"
    seconds = max(int((now - began).total_seconds()), 0)
    for unit, length in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= 2 * length:
            return f"{seconds // length}{unit}"
    return f"{seconds}s"


def _deployment(shown: Plain, now: datetime) -> Rows:
    counts = shown["status"]["replicas"]
    numbers = (str(counts["desired"]), str(counts["total"]), str(counts["ready"]))
    ready = condition_of(shown, "Ready")
    status = deployment_status(ready.get("status", ""), ready.get("reason", ""), counts["desired"])
    yield _name(shown), *numbers, status, _age(shown, now)
    if "unplaced" in shown["status"]:
        yield from refusal_rows(shown["status"]["unplaced"], ready.get("message", ""))


def _replica(shown: Plain, now: datetime) -> Rows:
    pools = {member["nodePoolName"] for engine in shown["spec"]["engines"] for member in engine["members"]}
    yield _name(shown), shown["spec"]["clusterName"], ",".join(sorted(pools)), _state(shown), _age(shown, now)
    yield from _note(shown, "Retiring")


def _service(shown: Plain, now: datetime) -> Rows:
    ends = shown["status"]["endpoints"]
    shares = ", ".join(f"{end['endpoint'].partition('/')[2]} {end['weight']}" for end in ends) or "-"
    yield _name(shown), _state(shown), shown["status"].get("address", "-"), shares, _age(shown, now)
    for entry in shown["status"].get("emptyEntries", ()):
        yield (f"spec.endpoints[{entry}] has no endpoint in use; its share goes to the others",)


def _cluster(shown: Plain, now: datetime) -> Rows:
    pools = (
        f"{pool['name']} {pool.get('nodesPresent', '?')}/{pool['nodes']}"
        for pool in shown["status"].get("gpuPools", ())
    )
    address = shown["status"].get("gateway", {}).get("address", "-")
    yield shown["metadata"]["name"], _state(shown), ", ".join(pools) or "-", address, _age(shown, now)
    yield from _note(shown)
    differing = condition_of(shown, "DevicesAsPromised").get("message", "")
    yield from ((f"warning: {difference}",) for difference in differing.split("; ") if difference)


def _gateway(shown: Plain, now: datetime) -> Rows:
    yield shown["metadata"]["name"], _state(shown), shown["status"].get("address", "-"), _age(shown, now)
    yield from _note(shown)


def _cache(shown: Plain, now: datetime) -> Rows:
    clusters = ", ".join(f"{found['name']} {found['phase']}" for found in shown["status"].get("clusters", ()))
    yield _name(shown), _state(shown), shown["status"]["summary"]["ready"], clusters or "-", _age(shown, now)
    yield from _note(shown)


def _name(shown: Plain) -> str:
    return f"{shown['metadata']['namespace']}/{shown['metadata']['name']}"


def _state(shown: Plain) -> str:
    """`Ready`, or the reason it is not; a retiring replica says so."""
    if condition_of(shown, "Retiring"):
        return "Retiring"
    ready = condition_of(shown, "Ready")
    return "Ready" if ready.get("status") == "True" else ready.get("reason", "Unknown")


def _note(shown: Plain, *kinds: str) -> Rows:
    """What a condition that is not as it should be has to say, of the first type that has something."""
    for kind in (*kinds, "Ready"):
        found = condition_of(shown, kind)
        if found.get("message") and (kind in kinds or found["status"] != "True"):
            yield (found["message"],)
            return


def _age(shown: Plain, now: datetime) -> str:
    return age(condition_of(shown, "Ready").get("lastTransitionTime"), now)


_TABLES: Mapping[str, tuple[Sequence[str], Callable[[Plain, datetime], Rows]]] = {
    "ModelDeployment": (("DEPLOYMENT", "WANTED", "PLACED", "READY", "STATUS", "AGE"), _deployment),
    "ModelReplica": (("REPLICA", "CLUSTER", "POOL", "STATUS", "AGE"), _replica),
    "ModelService": (("SERVICE", "STATUS", "URL", "ENDPOINTS", "AGE"), _service),
    "ModelCache": (("CACHE", "STATUS", "READY", "CLUSTERS", "AGE"), _cache),
    "InferenceCluster": (("CLUSTER", "STATUS", "NODES", "GATEWAY", "AGE"), _cluster),
    "InferenceGateway": (("GATEWAY", "STATUS", "ADDRESS", "AGE"), _gateway),
}
