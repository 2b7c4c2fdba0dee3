"""What if: small edits of a snapshot, in the words in which they are asked for and in which fixes are named.

    pool us/gpu +2          so many nodes more (-2: fewer, =4: exactly)
    drop cluster us         the cluster is gone, with its replicas; also: drop pool us/gpu, drop deployment ml-team/qwen
    taint us key=value:NoExecute        untaint us key
    label us region=eu                  unlabel us region
    tolerate ml-team/qwen key=value:NoSchedule
    ready us                            unready us
    scale ml-team/qwen 4

A deployment may be named without its namespace where only one is called so. Several edits are separated by `;`.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from api.clusters import MOST_NODES
from api.deployments import ModelDeployment
from api.errors import InvocationError
from api.fleets import MOST_REPLICAS
from api.terms import Taint, Toleration
from scheduler.headroom import wanting
from scheduler.snapshot import Cluster, DeploymentKey, Snapshot

FORMS = (
    "pool CLUSTER/POOL +N|-N|=N",
    "drop cluster CLUSTER",
    "drop pool CLUSTER/POOL",
    "drop deployment NAME",
    "taint CLUSTER KEY[=VALUE]:NoSchedule|NoExecute",
    "untaint CLUSTER KEY",
    "label CLUSTER KEY=VALUE",
    "unlabel CLUSTER KEY",
    "tolerate DEPLOYMENT KEY[=VALUE][:EFFECT]",
    "ready CLUSTER",
    "unready CLUSTER",
    "scale DEPLOYMENT N",
)
"""Every edit there is."""

_TAINT = re.compile(r"(?P<key>[^=:\s]+)(?:=(?P<value>[^=:\s]*))?(?::(?P<effect>NoSchedule|NoExecute))?")
_LABEL = re.compile(r"(?P<key>[^=\s]+)=(?P<value>[^=\s]*)")
_COUNT = re.compile(r"(?P<sign>[-+=])(?P<count>[0-9]{1,6})")
ASSUMED_ADDRESS = "assumed.invalid"
"""Gateway address of a cluster that is taken to be ready and has none yet."""


@dataclass(frozen=True)
class Edit:
    """One change: `words` as it is written, the first of them its verb."""

    words: tuple[str, ...]

    def __str__(self) -> str:
        """The edit as it is written."""
        return " ".join(self.words)


def parse(text: str) -> tuple[Edit, ...]:
    """Read edits.

    Raises:
        InvocationError: MP200, one of them has none of the forms; the hint lists them.

    """
    edits = tuple(Edit(tuple(part.split())) for part in text.split(";") if part.strip())
    for edit in edits:
        if not any(_has_form(edit.words, form) for form in FORMS):
            raise _not_understood(edit, "is none of the edits there are")
    if not edits:
        raise _not_understood(Edit(()), "says nothing")
    return edits


def apply(snapshot: Snapshot, edits: Iterable[Edit]) -> Snapshot:
    """The snapshot with all edits made, in their order.

    Raises:
        InvocationError: MP200, an edit has a part that is not as it has to be; MP201, it names what is not there.

    """
    return reduce(lambda changed, edit: _VERBS[edit.words[0]](changed, edit), edits, snapshot)


def pool_edit(place: str, nodes: int) -> Edit:
    """So many nodes more in a pool, given as CLUSTER/POOL."""
    return Edit(("pool", place, f"{nodes:+d}"))


def toleration_edit(key: DeploymentKey, taint: Taint) -> Edit:
    """The deployment tolerates this very taint."""
    value = f"={taint.value}" if taint.value else ""
    return Edit(("tolerate", "/".join(key), f"{taint.key}{value}:{taint.effect}"))


def label_edit(cluster: str, key: str, value: str) -> Edit:
    """The cluster carries a label."""
    return Edit(("label", cluster, f"{key}={value}"))


def ready_edit(cluster: str) -> Edit:
    """The cluster answers, is ready, and has a gateway address."""
    return Edit(("ready", cluster))


def deployment_key(snapshot: Snapshot, name: str) -> DeploymentKey:
    """The deployment that `NAME` or `NAMESPACE/NAME` means.

    Raises:
        InvocationError: MP201, there is none, or there are several.

    """
    known = sorted((each.namespace, each.name) for each in snapshot.deployments)
    found = [key for key in known if name in {key[1], "/".join(key)}]
    if len(found) == 1:
        return found[0]
    if found:
        shown = " or ".join("/".join(key) for key in found)
        raise InvocationError(f"several deployments are called {name}", hint=f"name one: {shown}", code="MP201")
    raise _absent("deployment", name, ("/".join(key) for key in known))


def cluster_of(snapshot: Snapshot, name: str) -> Cluster:
    """The cluster of this name.

    Raises:
        InvocationError: MP201, there is none.

    """
    for cluster in snapshot.clusters:
        if cluster.name == name:
            return cluster
    raise _absent("cluster", name, (each.name for each in snapshot.clusters))


def _has_form(words: Sequence[str], form: str) -> bool:
    parts = form.split()
    return len(words) == len(parts) and all(
        word == part for word, part in zip(words, parts, strict=True) if part.islower()
    )


def _pool(snapshot: Snapshot, edit: Edit) -> Snapshot:
    cluster, name = _pool_of(snapshot, edit.words[1])
    match = _COUNT.fullmatch(edit.words[2])
    if match is None:
        raise _not_understood(edit, f"{edit.words[2]} is no number of nodes such as +2")
    count = int(match["count"])
    (now,) = {pool.nodes for pool in cluster.pools if pool.name == name}
    nodes = max(0, {"+": now + count, "-": now - count, "=": count}[match["sign"]])
    if nodes > max(MOST_NODES, now):
        raise _not_understood(edit, f"a pool has at most {MOST_NODES} nodes, that would be {nodes}")
    pools = tuple(replace(pool, nodes=nodes) if pool.name == name else pool for pool in cluster.pools)
    return _with_cluster(snapshot, replace(cluster, pools=pools))


def _drop(snapshot: Snapshot, edit: Edit) -> Snapshot:
    _, what, name = edit.words
    if what == "cluster":
        cluster_of(snapshot, name)
        return replace(snapshot, clusters=tuple(each for each in snapshot.clusters if each.name != name))
    if what == "pool":
        cluster, pool = _pool_of(snapshot, name)
        return _with_cluster(
            snapshot, replace(cluster, pools=tuple(each for each in cluster.pools if each.name != pool))
        )
    key = deployment_key(snapshot, name)
    return replace(
        snapshot,
        deployments=tuple(each for each in snapshot.deployments if (each.namespace, each.name) != key),
        replicas=tuple(each for each in snapshot.replicas if (each.key.namespace, each.key.deployment) != key),
    )


def _taint(snapshot: Snapshot, edit: Edit) -> Snapshot:
    cluster = _tainted(snapshot, edit)
    match = _TAINT.fullmatch(edit.words[2])
    if match is None or not match["effect"]:
        raise _not_understood(edit, f"{edit.words[2]} is no taint such as key=value:NoSchedule")
    taint = Taint.model_validate({"key": match["key"], "value": match["value"] or "", "effect": match["effect"]})
    others = tuple(each for each in cluster.taints if (each.key, each.effect) != (taint.key, taint.effect))
    return _with_cluster(snapshot, replace(cluster, taints=(*others, taint)))


def _untaint(snapshot: Snapshot, edit: Edit) -> Snapshot:
    cluster = _tainted(snapshot, edit)
    left = tuple(each for each in cluster.taints if each.key != edit.words[2])
    if left == cluster.taints:
        raise _absent("taint", edit.words[2], (each.key for each in cluster.taints), f" on {cluster.name}")
    return _with_cluster(snapshot, replace(cluster, taints=left))


def _label(snapshot: Snapshot, edit: Edit) -> Snapshot:
    cluster = cluster_of(snapshot, edit.words[1])
    match = _LABEL.fullmatch(edit.words[2])
    if match is None:
        raise _not_understood(edit, f"{edit.words[2]} is no label such as region=eu")
    return _with_cluster(snapshot, replace(cluster, labels={**cluster.labels, match["key"]: match["value"]}))


def _unlabel(snapshot: Snapshot, edit: Edit) -> Snapshot:
    cluster = cluster_of(snapshot, edit.words[1])
    if edit.words[2] not in cluster.labels:
        raise _absent("label", edit.words[2], cluster.labels, f" on {cluster.name}")
    labels = {key: value for key, value in cluster.labels.items() if key != edit.words[2]}
    return _with_cluster(snapshot, replace(cluster, labels=labels))


def _tolerate(snapshot: Snapshot, edit: Edit) -> Snapshot:
    key = deployment_key(snapshot, edit.words[1])
    match = _TAINT.fullmatch(edit.words[2])
    if match is None:
        raise _not_understood(edit, f"{edit.words[2]} is no taint such as key=value:NoSchedule")
    plain = {"key": match["key"], "operator": "Exists", "effect": match["effect"]}
    if match["value"] is not None:
        plain |= {"operator": "Equal", "value": match["value"]}
    toleration = Toleration.model_validate(plain)
    return replace(
        snapshot,
        deployments=tuple(
            _tolerating(each, toleration) if (each.namespace, each.name) == key else each
            for each in snapshot.deployments
        ),
    )


def _tolerating(deployment: ModelDeployment, toleration: Toleration) -> ModelDeployment:
    template = deployment.spec.template
    shape = template.spec.model_copy(update={"tolerations": (*template.spec.tolerations, toleration)})
    spec = deployment.spec.model_copy(update={"template": template.model_copy(update={"spec": shape})})
    return deployment.model_copy(update={"spec": spec})


def _ready(snapshot: Snapshot, edit: Edit) -> Snapshot:
    cluster = cluster_of(snapshot, edit.words[1])
    address = cluster.gateway_address or ASSUMED_ADDRESS
    return _with_cluster(snapshot, replace(cluster, ready=True, reachable=True, gateway_address=address))


def _unready(snapshot: Snapshot, edit: Edit) -> Snapshot:
    return _with_cluster(snapshot, replace(cluster_of(snapshot, edit.words[1]), ready=False))


def _scale(snapshot: Snapshot, edit: Edit) -> Snapshot:
    if not re.fullmatch(r"[0-9]{1,6}", edit.words[2]) or int(edit.words[2]) > MOST_REPLICAS:
        raise _not_understood(edit, f"{edit.words[2]} is no number of replicas from 0 to {MOST_REPLICAS}")
    return wanting(snapshot, deployment_key(snapshot, edit.words[1]), int(edit.words[2]))


_VERBS: dict[str, Callable[[Snapshot, Edit], Snapshot]] = {
    "pool": _pool,
    "drop": _drop,
    "taint": _taint,
    "untaint": _untaint,
    "label": _label,
    "unlabel": _unlabel,
    "tolerate": _tolerate,
    "ready": _ready,
    "unready": _unready,
    "scale": _scale,
}


def _tainted(snapshot: Snapshot, edit: Edit) -> Cluster:
    if "/" in edit.words[1]:
        raise _not_understood(edit, f"a cluster is tainted, not a pool of it; write {edit.words[1].partition('/')[0]}")
    return cluster_of(snapshot, edit.words[1])


def _pool_of(snapshot: Snapshot, text: str) -> tuple[Cluster, str]:
    name, _, pool = text.partition("/")
    cluster = cluster_of(snapshot, name)
    if pool not in {each.name for each in cluster.pools}:
        raise _absent("pool", text, (f"{name}/{each.name}" for each in cluster.pools))
    return cluster, pool


def _with_cluster(snapshot: Snapshot, cluster: Cluster) -> Snapshot:
    clusters = tuple(cluster if each.name == cluster.name else each for each in snapshot.clusters)
    return replace(snapshot, clusters=clusters)


def _absent(kind: str, name: str, known: Iterable[str], place: str = "") -> InvocationError:
    shown = sorted(known)
    some = ", ".join(shown[:10]) + (", …" if len(shown) > 10 else "")
    hint = f"there are {some}" if shown else f"there is no {kind}{place} at all"
    return InvocationError(f"there is no {kind} {name}{place}", hint=hint, code="MP201")


def _not_understood(edit: Edit, why: str) -> InvocationError:
    text = f"what if {str(edit)!r}: {why}" if edit.words else f"what if: {why}"
    return InvocationError(text, hint="write one of\n" + "\n".join(f"  {form}" for form in FORMS), code="MP200")
