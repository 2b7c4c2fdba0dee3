"""Plans against the real scheduler: all that is planned is admitted, and what is said not to fit does not.

Pods and claims are those that Modelplane renders; nodes and ResourceSlices are those of the classes.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import pytest
from cluster.scheduler.real import Real
from cluster.scheduler.worlds import RANDOM_ROUNDS, Round, objects

from scheduler import DeploymentPlan, Placement, schedule
from scheduler.headroom import Headroom, headroom, settled, wanting

pytestmark = pytest.mark.cluster


def everything(each: Round) -> tuple[dict[str, DeploymentPlan], Headroom]:
    """The plan of a round, with its first deployment grown by all its head-room, and that head-room."""
    plan = schedule(each.snapshot)
    document = each.deployments[0]
    key = (document.namespace, document.name)
    room = headroom(each.snapshot, key, plan)
    grown = wanting(settled(each.snapshot, plan), key, room.placed + room.total)
    return {name: found for (_, name), found in schedule(grown).deployments.items()}, room


def beyond(each: Round, like: Placement) -> Iterator[tuple[str, Placement]]:
    """One replica more, tried on every pool of the round."""
    for pool in each.pools:
        engines = tuple(
            replace(engine, members=tuple(replace(member, pool=pool.name) for member in engine.members))
            for engine in like.engines
        )
        yield f"beyond-{pool.name}", replace(like, engines=engines)


@pytest.fixture(scope="module")
def planned(real: Real) -> dict[int, dict[str, DeploymentPlan]]:
    """All rounds on the cluster, with their head-room used up."""
    plans = {}
    for each in RANDOM_ROUNDS:
        real.make_namespace(each.namespace)
        documents = {document.name: document for document in each.deployments}
        plans[each.number], _ = everything(each)
        for name, plan in plans[each.number].items():
            for placement in plan.placements:
                real.create(each.namespace, objects(placement, documents[name]))
    return plans


def test_random_plans_and_their_head_room_are_admitted_whole(
    real: Real, planned: dict[int, dict[str, DeploymentPlan]]
) -> None:
    pods = 0
    for each in RANDOM_ROUNDS:
        if any(plan.placements for plan in planned[each.number].values()):
            found = real.scheduled(each.namespace)
            assert {name: said for name, said in found.items() if said != "Scheduled"} == {}, each.namespace
            pods += len(found)
    assert pods > 60


def test_one_replica_beyond_the_head_room_stays_pending(
    real: Real, planned: dict[int, dict[str, DeploymentPlan]]
) -> None:
    checked = 0
    for each in (found for found in RANDOM_ROUNDS if found.number % 2 == 0):
        document = each.deployments[0]
        placements = planned[each.number][document.name].placements
        if not placements:
            continue
        real.scheduled(each.namespace)
        tried = dict(beyond(each, placements[0]))
        for name, placement in tried.items():
            real.create(each.namespace, objects(placement, document, name=name))
        claiming = {placement.engines[0].members[-1].pool for placement in placements}
        for name in tried:
            mine = real.until(partial(_decided, real, each.namespace, name))
            assert set(mine.values()) != {"Scheduled"}, (each.namespace, name)
            checked += name.removeprefix("beyond-") in claiming
    assert checked >= 5


def _decided(real: Real, namespace: str, name: str) -> dict[str, str] | None:
    mine = {pod: said for pod, said in real.verdicts(namespace).items() if pod.startswith(f"{name}-")}
    return mine if mine and all(mine.values()) else None
