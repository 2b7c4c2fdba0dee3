"""How much more fits, and what a fleet can lose."""

import pytest
from unit.scheduler.worlds import (
    AT_LEAST_40,
    AT_LEAST_79,
    H100,
    L40S,
    cluster,
    deployment,
    gang,
    member,
    pool,
    snapshot,
)

from api.errors import InvocationError
from scheduler import schedule
from scheduler.headroom import Loss, Short, headroom, settled, survive, wanting

KEY = ("ml-team", "d")


def test_what_fits_is_counted_by_cluster_after_what_is_wanted() -> None:
    found = headroom(snapshot([cluster("alpha", 3), cluster("bravo", 2)], deployment(2)), KEY)
    assert (found.wanted, found.placed) == (2, 2)
    assert found.clusters == {"alpha": 2, "bravo": 1}
    assert found.total == 3


def test_a_gang_needs_all_its_nodes() -> None:
    shape = [gang(2, member("Leader"), member("Worker", nodes=2))]
    found = headroom(snapshot([cluster("alpha", 13)], deployment(1, engines=shape)), KEY)
    assert found.clusters == {"alpha": 1}


def test_nodes_that_others_want_are_not_counted() -> None:
    found = headroom(snapshot([cluster("alpha", 5)], deployment(1), deployment(2, "other")), KEY)
    assert found.clusters == {"alpha": 2}


def test_every_cluster_is_there_and_says_why_it_takes_no_more() -> None:
    fleet = [cluster("alpha", 1), cluster("bravo", 4, taints=["k:NoSchedule"]), cluster("charlie", 1, ready=False)]
    found = headroom(snapshot(fleet, deployment(1)), KEY)
    assert found.clusters == {"alpha": 0, "bravo": 0, "charlie": 0}
    codes = {name: str(verdict.reasons[0].code) for name, verdict in found.verdicts.items()}
    assert codes == {"alpha": "InsufficientNodes", "bravo": "Tainted", "charlie": "NotReady"}


def test_a_short_deployment_has_no_room_and_a_parked_one_may_have() -> None:
    assert headroom(snapshot([cluster("alpha", 1)], deployment(3)), KEY).total == 0
    assert headroom(snapshot([cluster("alpha", 1)], deployment(0)), KEY).total == 1


def test_a_selector_that_cannot_be_used_is_told() -> None:
    found = headroom(snapshot([cluster("alpha", 1)], deployment(0, cel="device.driver ==")), KEY)
    assert found.total == 0
    assert found.invalid_selector


def test_what_is_said_to_fit_is_placed_and_one_more_is_not() -> None:
    fleet = [cluster("alpha", pool("a", 2), pool("b", 3, L40S)), cluster("bravo", pool("c", 2, H100))]
    world = snapshot(fleet, deployment(1, cel=AT_LEAST_40), deployment(2, "other"))
    found = headroom(world, KEY)
    after = settled(world, schedule(world))
    for more, placed_then in ((found.total, 0), (found.total + 1, 1)):
        plan = schedule(wanting(after, KEY, found.placed + more)).deployments[KEY]
        assert plan.wanted - len(plan.placements) == placed_then


def test_a_loss_with_room_elsewhere_is_survived() -> None:
    found = survive(snapshot([cluster("alpha", 2), cluster("bravo", 2)], deployment(2)), 1)
    assert (found.checked, found.hurting) == (2, ())


def test_a_loss_without_room_says_whom_it_leaves_short() -> None:
    world = snapshot([cluster("alpha", 2), cluster("bravo", 1)], deployment(3), deployment(0, "parked"))
    assert survive(world, 1).hurting == (
        Loss(clusters=("alpha",), short=(Short(key=KEY, wanted=3, before=3, placed=1),)),
        Loss(clusters=("bravo",), short=(Short(key=KEY, wanted=3, before=3, placed=2),)),
    )


def test_a_pair_is_told_only_for_those_whom_neither_of_it_leaves_short() -> None:
    fleet = [cluster("alpha", 1), cluster("bravo", 1), cluster("charlie", pool("big", 1, H100))]
    big = deployment(1, "big", cel=AT_LEAST_79)
    found = survive(snapshot(fleet, deployment(1), big), 2)
    assert found.checked == 6
    assert [(loss.clusters, [each.key[1] for each in loss.short]) for loss in found.hurting] == [
        (("charlie",), ["big"]),
        (("alpha", "bravo"), ["d"]),
    ]


def test_who_was_short_before_is_not_told() -> None:
    assert survive(snapshot([cluster("alpha", 1), cluster("bravo", 0)], deployment(5)), 1).hurting == (
        Loss(clusters=("alpha",), short=(Short(key=KEY, wanted=5, before=1, placed=0),)),
    )


def test_too_many_ways_to_lose_are_refused() -> None:
    world = snapshot([cluster(f"c{number}", 1) for number in range(60)], deployment(1))
    with pytest.raises(InvocationError, match=r"3 of 60 clusters can be lost in 36050 ways") as caught:
        survive(world, 3)
    assert caught.value.error_code == "MP202"
