"""What one cluster renders: never two replicas on the same nodes, nothing taken away before its endpoint is."""

from dataclasses import dataclass, field

import pytest
from states import a_ledger, an_entry, listed_workloads, retiring, routing_listing

from api.errors import DeletionRefused
from programs.outputs import (
    CacheState,
    Ledger,
    LedgerCache,
    LedgerReplica,
    PlacementOutputs,
    RoutingOutputs,
    WorkloadsOutputs,
)
from programs.workloads_plan import Rendering, ledger_or_refuse, plan_workloads

OLD = an_entry("mock-demo", "us")
NEW = an_entry("mock-demo-v2", "us", waits_for=(OLD.key,))
OTHER = an_entry("qwen", "us")
ABROAD = an_entry("qwen", "eu")
GOING = retiring(OLD)


@dataclass(frozen=True, kw_only=True)
class Case:
    ledger: list[LedgerReplica]
    listed: list[LedgerReplica] = field(default_factory=list)
    """What the cluster rendered last."""
    in_use: list[LedgerReplica] | None = field(default_factory=list)
    """Endpoints that routing lists; None where routing has no outputs."""
    want: list[LedgerReplica]
    waiting: list[LedgerReplica] = field(default_factory=list)


CASES = {
    "a new replica is rendered": Case(ledger=[OTHER], want=[OTHER]),
    "replicas of other clusters are theirs": Case(ledger=[OTHER, ABROAD], listed=[OTHER], want=[OTHER]),
    "a replica stays whatever routing says of it": Case(ledger=[OTHER], listed=[OTHER], want=[OTHER]),
    "routing was never brought up": Case(ledger=[OTHER], listed=[OTHER], in_use=None, want=[OTHER]),
    "a retiring replica stays while its endpoint is in use": Case(
        ledger=[GOING, OTHER], listed=[OLD, OTHER], in_use=[OLD, OTHER], want=[OTHER, GOING]
    ),
    "a retiring replica goes once its endpoint is withdrawn": Case(
        ledger=[GOING, OTHER], listed=[OLD, OTHER], in_use=[OTHER], want=[OTHER]
    ),
    "a retiring replica that was never rendered is not rendered to retire": Case(ledger=[GOING], in_use=[OLD], want=[]),
    "a new replica waits while the old one answers": Case(
        ledger=[GOING, NEW], listed=[OLD], in_use=[OLD], want=[GOING], waiting=[NEW]
    ),
    "the run that stops rendering the old one renders the new one": Case(ledger=[GOING, NEW], listed=[OLD], want=[NEW]),
    "the old one is forgotten already": Case(ledger=[NEW], want=[NEW]),
    "it waits for two and one still answers": Case(
        ledger=[
            GOING,
            retiring(OTHER),
            an_entry("wide", "us", waits_for=(OLD.key, OTHER.key)),
        ],
        listed=[OLD, OTHER],
        in_use=[OTHER],
        want=[retiring(OTHER)],
        waiting=[an_entry("wide", "us", waits_for=(OLD.key, OTHER.key))],
    ),
    "a replica that runs already is not taken away for one it waited for": Case(
        ledger=[GOING, NEW], listed=[OLD, NEW], in_use=[OLD, NEW], want=[NEW, GOING]
    ),
    "a replica that needs no node of others does not wait": Case(
        ledger=[GOING, NEW, OTHER], listed=[OLD], in_use=[OLD], want=[OTHER, GOING], waiting=[NEW]
    ),
    "the ledger is empty and so is the cluster": Case(ledger=[], want=[]),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_rendering(case: Case) -> None:
    routing = None if case.in_use is None else routing_listing(*case.in_use)
    last = listed_workloads("us", *case.listed) if case.listed else None
    found = plan_workloads("us", a_ledger(*case.ledger), routing, last)
    assert found == Rendering(replicas=tuple(case.want), waiting=tuple(case.waiting))


def test_an_entry_changed_in_place_is_rendered_as_it_is_now() -> None:
    """The same cluster and index placed again is the same replica: it is neither retired nor does it wait."""
    moved = an_entry("mock-demo", "us", pool="big", waits_for=(OLD.key,))
    found = plan_workloads("us", a_ledger(moved), routing_listing(OLD), listed_workloads("us", OLD))
    assert found == Rendering(replicas=(moved,), waiting=())


def test_a_cluster_that_lists_an_unready_replica_goes_on_rendering_it() -> None:
    starting = listed_workloads("us", starting=[OTHER])
    assert plan_workloads("us", a_ledger(OTHER), RoutingOutputs(), starting).replicas == (OTHER,)


LEDGERS: dict[str, tuple[PlacementOutputs | None, bool, Ledger]] = {
    "there is one": (PlacementOutputs(ledger=a_ledger(OTHER)), True, a_ledger(OTHER)),
    "it became empty in the ordinary way": (PlacementOutputs(), False, Ledger()),
    "placement was never brought up and nothing is here": (None, False, Ledger()),
}


@pytest.mark.parametrize(("placement", "lists_anything", "want"), LEDGERS.values(), ids=LEDGERS)
def test_the_ledger(placement: PlacementOutputs | None, lists_anything: bool, want: Ledger) -> None:
    assert ledger_or_refuse(placement, lists_anything=lists_anything, stack="prod.workloads.us") == want


def test_a_missing_ledger_deletes_nothing() -> None:
    with pytest.raises(DeletionRefused, match=r"prod\.workloads\.us") as caught:
        ledger_or_refuse(None, lists_anything=True, stack="prod.workloads.us")
    assert caught.value.exit_code == 26


def test_a_cluster_that_lists_nothing_has_nothing_to_lose() -> None:
    empty = WorkloadsOutputs(cluster="us")
    assert ledger_or_refuse(None, lists_anything=bool(empty.replicas), stack="prod.workloads.us") == Ledger()


CACHED = an_entry("cached", "us", model_cache_ref="weights")
EARLY = an_entry("early", "us", model_cache_ref="weights", starts_early=True)
KEY = "ml-team/weights"


def staged_as(phase: str, *listed: LedgerReplica) -> WorkloadsOutputs:
    last = listed_workloads("us", *listed)
    return last.model_copy(update={"caches": {KEY: CacheState(phase=phase)}})


@pytest.mark.parametrize("last", [None, staged_as("Pending"), staged_as("Hydrating"), staged_as("Failed")])
def test_a_replica_starts_once_its_cache_is_staged(last: WorkloadsOutputs | None) -> None:
    ledger = a_ledger(CACHED, EARLY, OTHER)
    waits = plan_workloads("us", ledger, None, last)
    assert waits.waiting == (CACHED,)
    assert waits.replicas == (EARLY, OTHER)
    assert plan_workloads("us", ledger, None, staged_as("Ready")).waiting == ()
    assert plan_workloads("us", ledger, None, last, assume_staged=True).waiting == ()


def test_a_replica_that_runs_stays_while_its_cache_is_staged_again() -> None:
    found = plan_workloads("us", a_ledger(CACHED), None, staged_as("Hydrating", CACHED))
    assert found.replicas == (CACHED,)


def test_caches_are_rendered_where_the_ledger_has_them() -> None:
    caches = tuple(
        LedgerCache(namespace="ml-team", name=name, spec={}, clusters=clusters)
        for name, clusters in (("a", ("us", "eu")), ("b", ("eu",)))
    )
    ledger = a_ledger().model_copy(update={"caches": caches})
    assert [cache.name for cache in plan_workloads("us", ledger, None, None).caches] == ["a"]
