"""Placement as rows and as plain data: plans, verdicts, head-room, losses and fixes. Plain values in, words out."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from cli.printing import counted
from scheduler import DeploymentKey, DeploymentPlan, Placement, Plan, Verdict
from scheduler.fixes import Fix
from scheduler.headroom import Headroom, Survival
from scheduler.what_if import Edit

Plain = dict[str, Any]
Row = tuple[str, ...]

REPLICA_HEAD = ("REPLICA", "CHANGE", "CLUSTER", "POOL")
DEPLOYMENT_HEAD = ("DEPLOYMENT", "WANTED", "PLACED", "STATUS")
CAPACITY_HEAD = ("DEPLOYMENT", "WANTED", "PLACED", "MORE", "WHERE")
CLUSTER_HEAD = ("CLUSTER", "REPLICAS", "MORE", "WHY NO MORE")
LOSS_HEAD = ("LOST", "DEPLOYMENT", "WANTED", "BEFORE", "PLACED")


def named(key: DeploymentKey) -> str:
    """`<namespace>/<name>`."""
    return "/".join(key)


def replica_rows(plan: DeploymentPlan) -> Iterator[Row]:
    """A row for each replica that stays, comes or goes."""
    for each in plan.placements:
        change = "keep" if each.retained else "change" if each.in_place else "place"
        yield f"{each.key.namespace}/{each.name}", change, each.key.cluster, ", ".join(pools_of(each))
        if each.waits_for:
            yield (f"waits for {counted(len(each.waits_for), 'replica')} to leave its nodes",)
    for gone in plan.dropped:
        key = gone.replica.key
        yield f"{key.namespace}/{gone.replica.name}", "retire", key.cluster, "-"
        yield (gone.message,)


def deployment_rows(plan: Plan, fixes: Mapping[DeploymentKey, Fix | None]) -> Iterator[Row]:
    """A row for each deployment, and below one that is short why each cluster takes no more, and the cheapest fix."""
    for key, each in plan.deployments.items():
        status = "Placed" if each.condition.reason == "ReplicasCreated" else each.condition.reason
        yield named(key), str(each.wanted), str(len(each.placements)), status
        if each.invalid_selector:
            yield (each.condition.message,)
        for verdict in each.verdicts:
            yield (f"{verdict.cluster}: {why(verdict)}",)
        fix = fixes.get(key)
        if fix is not None:
            yield (f"fix: {told(fix)}",)


def pools_of(placement: Placement) -> list[str]:
    """The pools of a replica, each once, in the order of its engines."""
    return list(dict.fromkeys(member.pool for engine in placement.engines for member in engine.members))


def why(verdict: Verdict | None) -> str:
    """Every reason of a cluster, in one line."""
    return "; ".join(reason.message for reason in verdict.reasons) if verdict else ""


def told(fix: Fix) -> str:
    """A fix in words."""
    return " and ".join(_told(edit) for edit in fix.edits)


def _told(edit: Edit) -> str:
    verb, what, *rest = edit.words
    if verb == "pool":
        return f"{rest[0]} {'node' if rest[0] == '+1' else 'nodes'} in {what}"
    if verb == "label":
        return f"label {rest[0]} on {what}"
    if verb == "tolerate":
        return f"a toleration of {rest[0]}"
    return f"{what} ready"


def cluster_rows(room: Headroom, plan: DeploymentPlan) -> Iterator[Row]:
    """A row for each cluster: replicas it has, how many more it takes, and why no more."""
    here = [placement.key.cluster for placement in plan.placements]
    for name, more in room.clusters.items():
        yield name, str(here.count(name)), str(more), "" if more else why(room.verdicts.get(name))


def capacity_rows(rooms: Iterable[Headroom]) -> Iterator[Row]:
    """A row for each deployment: how many more fit, and where."""
    for room in rooms:
        where = ", ".join(f"{name} {more}" for name, more in room.clusters.items() if more)
        yield named(room.key), str(room.wanted), str(room.placed), str(room.total), where or "-"


def loss_rows(survival: Survival) -> Iterator[Row]:
    """A row for each deployment that a loss leaves short."""
    for loss in survival.hurting:
        for short in loss.short:
            numbers = (str(short.wanted), str(short.before), str(short.placed))
            yield (", ".join(loss.clusters), named(short.key), *numbers)


def plan_plain(plan: Plan, fixes: Mapping[DeploymentKey, Fix | None], assumed: Iterable[str]) -> Plain:
    """A plan for programs."""
    deployments = [deployment_plain(key, each, fixes.get(key)) for key, each in plan.deployments.items()]
    return {"kind": "Plan", "version": 1, "assumed": list(assumed), "deployments": deployments}


def deployment_plain(key: DeploymentKey, plan: DeploymentPlan, fix: Fix | None) -> Plain:
    """One deployment's plan for programs."""
    condition = plan.condition
    shown: Plain = {
        "namespace": key[0],
        "name": key[1],
        "wanted": plan.wanted,
        "placed": len(plan.placements),
        "scheduled": {"status": condition.status, "reason": condition.reason, "message": condition.message},
        "placements": [
            {
                "name": each.name,
                "cluster": each.key.cluster,
                "index": each.key.index,
                "pools": pools_of(each),
                "retained": each.retained,
                "waitsFor": len(each.waits_for),
            }
            for each in plan.placements
        ],
        "dropped": [
            {
                "name": gone.replica.name,
                "cluster": gone.replica.key.cluster,
                "reason": str(gone.reason),
                "message": gone.message,
            }
            for gone in plan.dropped
        ],
        "verdicts": {verdict.cluster: verdict_plain(verdict) for verdict in plan.verdicts},
    }
    return shown if fix is None else {**shown, "fix": fix_plain(fix)}


def verdict_plain(verdict: Verdict | None) -> list[Plain]:
    """The reasons of a cluster for programs."""
    return [{"code": str(reason.code), "message": reason.message} for reason in verdict.reasons] if verdict else []


def fix_plain(fix: Fix) -> Plain:
    """A fix for programs: in words, and as edits that `--what-if` takes."""
    return {"text": told(fix), "nodes": fix.nodes, "edits": [str(edit) for edit in fix.edits]}


def headroom_plain(room: Headroom) -> Plain:
    """Head-room for programs."""
    return {
        "namespace": room.key[0],
        "name": room.key[1],
        "wanted": room.wanted,
        "placed": room.placed,
        "more": room.total,
        "clusters": {
            name: {"more": more, "verdict": verdict_plain(room.verdicts.get(name))}
            for name, more in room.clusters.items()
        },
        **({"invalidSelector": room.invalid_selector} if room.invalid_selector else {}),
    }


def survival_plain(survival: Survival) -> Plain:
    """What losses come to, for programs."""
    return {
        "losses": survival.losses,
        "checked": survival.checked,
        "hurting": [
            {
                "clusters": list(loss.clusters),
                "short": [
                    {
                        "namespace": each.key[0],
                        "name": each.key[1],
                        "wanted": each.wanted,
                        "before": each.before,
                        "placed": each.placed,
                    }
                    for each in loss.short
                ],
            }
            for loss in survival.hurting
        ],
    }
