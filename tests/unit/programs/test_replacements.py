"""An edit that replaces a gang says so, with the nodes it takes and whether they are free."""

from typing import Any

import pytest
from states import a_claim, a_ledger, an_engine_entry, an_entry, cluster_outputs, pool_facts

from programs.outputs import LedgerEngine, LedgerMember, LedgerReplica
from programs.replacements import replacements


def a_gang(workers: int, *, copies: int = 1, leader_claims: bool = True) -> LedgerEngine:
    (plain,) = an_engine_entry().members
    counts: tuple[tuple[Any, int, bool], ...] = (("Leader", 1, leader_claims), ("Worker", workers, True))
    members = tuple(
        LedgerMember(
            role=role,
            node_pool_name="gpu",
            nodes=nodes,
            device_requests=(a_claim(),) if claims else (),
            template=plain.template,
            facts=plain.facts,
        )
        for role, nodes, claims in counts
    )
    return LedgerEngine(name="main", copies=copies, members=members)


def an_edited(*engines: LedgerEngine) -> LedgerReplica:
    return an_entry(engines=engines)


def with_claims(engine: LedgerEngine, *, count: int) -> LedgerEngine:
    members = tuple(member.model_copy(update={"device_requests": (a_claim(count=count),)}) for member in engine.members)
    return engine.model_copy(update={"members": members})


def said(
    before: LedgerReplica, after: LedgerReplica, *, nodes: int, others: tuple[LedgerReplica, ...] = ()
) -> list[str]:
    cluster = cluster_outputs(pools=[pool_facts(nodes=nodes)])
    return [str(each) for each in replacements(cluster, a_ledger(after, *others), a_ledger(before, *others), [after])]


def test_a_larger_gang_whose_nodes_are_free() -> None:
    before, after = an_edited(a_gang(1)), an_edited(a_gang(2))
    (text,) = said(before, after, nodes=3)
    assert text.endswith("it takes 3 nodes of pool gpu, of which it holds 2; the 1 more are free")
    assert f"replica {before.key}: the gangs of engine main are replaced" in text
    assert "from 2 to 3 pods" in text


def test_a_larger_gang_whose_nodes_are_not_free() -> None:
    (text,) = said(an_edited(a_gang(1, copies=2)), an_edited(a_gang(2, copies=2)), nodes=5)
    assert text.endswith("holds 4; 2 more are needed and 1 are free: gangs wait until there are more")


def test_nodes_that_others_hold_are_not_free() -> None:
    (text,) = said(an_edited(a_gang(1)), an_edited(a_gang(2)), nodes=3, others=(an_entry("other"),))
    assert "1 more are needed and 0 are free" in text


def test_a_smaller_gang_takes_what_it_has() -> None:
    (text,) = said(an_edited(a_gang(2)), an_edited(a_gang(1)), nodes=3)
    assert text.endswith("it takes 2 nodes of pool gpu, of which it holds 3")


def test_other_claims_replace_pods_where_they_are() -> None:
    before, after = an_edited(an_engine_entry()), an_edited(with_claims(an_engine_entry(), count=4))
    (text,) = said(before, after, nodes=1)
    assert text == (
        f"replica {before.key}: the pods of engine main are replaced, because their claims change; "
        "it takes 1 nodes of pool gpu, of which it holds 1"
    )


def test_a_gang_of_another_size_with_other_claims_is_told_once() -> None:
    (text,) = said(an_edited(a_gang(1)), an_edited(with_claims(a_gang(2), count=4)), nodes=3)
    assert "their size changes from 2 to 3 pods" in text


def test_what_it_takes_is_there_for_programs_too() -> None:
    cluster, before, after = cluster_outputs(pools=[pool_facts(nodes=2)]), an_edited(a_gang(1)), an_edited(a_gang(2))
    (found,) = replacements(cluster, a_ledger(after), a_ledger(before), [after])
    assert found.plain()["nodes"] == {"gpu": {"held": 2, "needed": 3, "free": 0}}
    assert found.plain()["enough"] is False


def test_a_leader_that_claims_nothing_takes_no_node() -> None:
    (text,) = said(an_edited(a_gang(1, leader_claims=False)), an_edited(a_gang(2, leader_claims=False)), nodes=2)
    assert "it takes 2 nodes of pool gpu, of which it holds 1" in text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (an_edited(a_gang(1)), an_edited(a_gang(1))),
        (an_edited(a_gang(1, copies=1)), an_edited(a_gang(1, copies=3))),
        (an_edited(an_engine_entry(copies=1)), an_edited(an_engine_entry(copies=2))),
        (an_edited(an_engine_entry(pool="gpu")), an_edited(an_engine_entry(pool="other"))),
    ],
    ids=["nothing", "copies of a gang", "copies of a Standalone", "another pool"],
)
def test_what_changes_in_place_is_not_said(before: LedgerReplica, after: LedgerReplica) -> None:
    assert said(before, after, nodes=9) == []


def test_a_replica_that_was_not_there_replaces_nothing() -> None:
    after = an_edited(a_gang(2))
    assert list(replacements(cluster_outputs(), a_ledger(after), a_ledger(), [after])) == []
