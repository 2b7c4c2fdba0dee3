"""What placement does where something is not known or cannot be used: hold what runs, place nothing new there."""

import pytest
from builders import a_class, a_cluster, a_deployment, a_fleet, a_member, a_pool, an_engine
from states import (
    Changes,
    a_directory,
    a_ledger,
    an_entry,
    cluster_outputs,
    documents_of,
    earlier,
    ledger_of,
    placement_sees,
    pool_facts,
    serving_outputs,
)

from programs.outputs import UNKNOWN, ClusterOutputs, ServingOutputs
from programs.placement_plan import Observed, plan_placement

THEN, NOW = "2026-08-01T00:00:00Z", "2026-08-02T00:00:00Z"
US, EU = an_entry("qwen", "us"), an_entry("qwen", "eu")


def test_an_unreachable_cluster_keeps_its_replicas_and_takes_no_new_ones() -> None:
    gone_quiet = cluster_outputs("us", reachable=False, reason="Unreachable", unreachable_since=THEN)
    documents = a_directory(a_deployment(replicas=2))
    given = placement_sees(last=earlier(US), listed=[US], on=["us"], changes={"clusters": {"us": gone_quiet}})
    outputs = plan_placement(documents, given, now=NOW)
    assert ledger_of(outputs) == {US.key: ("active",)}
    assert outputs.deployments["ml-team/qwen"].verdicts["us"][0].code == "Unreachable"
    assert outputs.deployments["ml-team/qwen"].ready == 1, "its endpoint may still answer"


def test_a_replica_that_an_unreachable_cluster_never_had_is_placed_elsewhere() -> None:
    quiet = cluster_outputs("us", reachable=False)
    documents = a_directory(a_deployment())
    silent = placement_sees(last=earlier(US), changes={"clusters": {"us": quiet}})
    assert ledger_of(plan_placement(documents, silent, now=NOW)) == {EU.key: ("active",)}
    answering = placement_sees(last=earlier(US))
    assert ledger_of(plan_placement(documents, answering, now=NOW)) == {US.key: ("active",)}


ABSENT: dict[str, Changes] = {
    "its cluster stack failed": {"clusters": {"us": None}},
    "its serving stack failed": {"serving": {"us": None}},
    "its serving stack is not ready": {"serving": {"us": serving_outputs("us", None, ready=False)}},
    "its serving stack was left unresolved": {"serving": {"us": serving_outputs("us", UNKNOWN, ready=UNKNOWN)}},
    "its workloads stack is absent": {"workloads": {"us": None}},
    "its pool has no node left": {"clusters": {"us": cluster_outputs("us", pools=[pool_facts(nodes=0)])}},
}


@pytest.mark.parametrize("changes", ABSENT.values(), ids=ABSENT)
def test_a_replica_stays_where_it_is(changes: Changes) -> None:
    documents = a_directory(a_deployment(replicas=2))
    outputs = plan_placement(documents, placement_sees(last=earlier(EU, US), listed=[EU, US], changes=changes), now=NOW)
    assert ledger_of(outputs) == {EU.key: ("active",), US.key: ("active",)}


@pytest.mark.parametrize("changes", list(ABSENT.values())[:4], ids=list(ABSENT)[:4])
def test_nothing_new_goes_there(changes: Changes) -> None:
    documents = a_directory(a_deployment(replicas=2))
    outputs = plan_placement(documents, placement_sees(changes=changes), now=NOW)
    assert ledger_of(outputs) == {EU.key: ("active",)}
    assert [found.code for found in outputs.deployments["ml-team/qwen"].verdicts["us"]] == ["NotReady"]


def test_a_cluster_that_left_the_documents_is_held() -> None:
    documents = a_directory(a_deployment(replicas=3), clusters=["eu"])
    seen = placement_sees(last=earlier(US), listed=[US], nodes={"us": 2})
    outputs = plan_placement(documents, seen, now=NOW)
    assert ledger_of(outputs) == {US.key: ("active",), EU.key: ("active",)}, "it loses nothing and takes nothing new"
    assert outputs.deployments["ml-team/qwen"].verdicts["us"][0].code == "Held"


def test_a_pool_that_left_the_documents_is_emptied() -> None:
    cluster = a_cluster("us", pools=[a_pool("other")])
    documents = documents_of(a_fleet(), a_class(), cluster, a_deployment())
    published = cluster_outputs("us", pools=[pool_facts("other"), pool_facts("gpu")])
    before = placement_sees(last=earlier(US), listed=[US], on=["us"])
    outputs = plan_placement(documents, before, now=NOW)
    assert ledger_of(outputs) == {US.key: ("retiring",)}, "the other pool is not published yet"
    after = placement_sees(last=earlier(US), listed=[US], on=["us"], changes={"clusters": {"us": published}})
    (entry,) = plan_placement(documents, after, now=NOW).ledger.replicas
    assert (entry.key, entry.state) == (US.key, "active")
    assert entry.engines[0].members[0].node_pool_name == "other"


def test_an_invalid_selector_holds_everything_as_it_is() -> None:
    """Not even a changed image reaches what runs: the document as a whole cannot be trusted."""
    member = a_member(
        requests=[{"name": "gpu", "count": 8, "selectors": [{"cel": "device.driver =="}]}],
        template={"spec": {"containers": [{"name": "engine", "image": "registry.example/engine:2"}]}},
    )
    documents = a_directory(a_deployment(replicas=1, engines=[an_engine(members=[member])]))
    outputs = plan_placement(documents, placement_sees(last=earlier(EU, US), listed=[EU, US]), now=NOW)
    assert outputs.ledger == a_ledger(EU, US)
    assert outputs.deployments["ml-team/qwen"].conditions[0].reason == "InvalidNodeSelector"


def test_a_preview_of_an_empty_backend_assumes_the_declared_pools() -> None:
    documents = a_directory(a_deployment(replicas=3))
    outputs = plan_placement(documents, Observed(), now=NOW, preview=True)
    assert outputs.assumed
    assert ledger_of(outputs) == {EU.key: ("active",), US.key: ("active",)}
    assert outputs.deployments["ml-team/qwen"].placed == 2


def test_a_preview_takes_a_readiness_it_cannot_know_for_ready() -> None:
    unresolved: dict[str, ServingOutputs] = {"us": serving_outputs("us", UNKNOWN, ready=UNKNOWN)}
    clusters: dict[str, ClusterOutputs] = {"us": cluster_outputs("us")}
    documents = a_directory(a_deployment(), clusters=["us"])
    outputs = plan_placement(documents, Observed(clusters=clusters, serving=unresolved), now=NOW, preview=True)
    assert ledger_of(outputs) == {US.key: ("active",)}


def test_without_a_preview_nothing_is_assumed() -> None:
    outputs = plan_placement(a_directory(a_deployment()), Observed(), now=NOW)
    assert not outputs.assumed
    assert ledger_of(outputs) == {}
