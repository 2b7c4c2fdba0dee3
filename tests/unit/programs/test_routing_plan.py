"""Endpoints in use, and how services split over them (reference: routing, sections 4, 5 and 9)."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest
from builders import a_fleet, a_service, an_endpoint
from states import (
    a_ledger,
    a_replica_state,
    an_entry,
    cluster_outputs,
    documents_of,
    listed_workloads,
    retiring,
    serving_outputs,
)

from api import ModelEndpoint, ModelService
from api.routing import Address
from programs.outputs import UNKNOWN, LedgerReplica, MaybeText, ServingOutputs, WorkloadsOutputs
from programs.routing_plan import Endpoint, Observed, Routing, is_delete_first, plan_routing, silent_clusters

STABLE = an_entry("stable", "us")
NEXT = an_entry("next", "us")
NEXT_EU = an_entry("next", "eu")
WAITING = an_entry("next", "us", waits_for=(STABLE.key,))


def planned(
    *entries: LedgerReplica,
    ready: Sequence[LedgerReplica] | None = None,
    starting: Sequence[LedgerReplica] = (),
    services: Sequence[ModelService] = (),
    endpoints: Sequence[ModelEndpoint] = (),
    addresses: Mapping[str, MaybeText] | None = None,
    preview: bool = False,
    silent: Collection[str] = (),
    sick: Collection[str] = (),
) -> Routing:
    """Routing over entries that are all ready unless said otherwise; each cluster has an address of its own."""
    listed = [entry for entry in entries if entry not in starting] if ready is None else list(ready)
    clusters = sorted({entry.cluster for entry in entries})
    given: dict[str, MaybeText] = {name: f"10.0.0.{number}" for number, name in enumerate(clusters, 1)}
    given |= addresses or {}
    observed = Observed(
        serving={name: serving_outputs(name, given[name]) for name in clusters},
        workloads={
            name: listed_workloads(
                name,
                *(entry for entry in listed if entry.cluster == name),
                starting=[entry for entry in starting if entry.cluster == name],
            )
            for name in clusters
        },
        sick=frozenset(sick),
        silent=frozenset(silent),
    )
    return plan_routing(documents_of(a_fleet(), *services, *endpoints), a_ledger(*entries), observed, preview=preview)


def in_use(routing: Routing) -> list[str]:
    return [endpoint.key for endpoint in routing.endpoints]


def shares(routing: Routing) -> dict[str, int]:
    """Weights of the only service by endpoint."""
    (route,) = routing.routes
    return {backend.endpoint.key: backend.weight for backend in route.backends}


def selecting(*entries: tuple[int, str]) -> ModelService:
    """Service `svc` with a weight and a deployment an entry."""
    return a_service("svc", entries=[(weight, {"modelplane.ai/deployment": name}) for weight, name in entries])


def test_a_ready_replica_has_an_endpoint() -> None:
    routing = planned(STABLE)
    assert routing.endpoints == (
        Endpoint(
            namespace="ml-team",
            name=STABLE.name,
            url=f"http://10.0.0.1/ml-team/{STABLE.name}/v1",
            address=Address("http", "10.0.0.1", 80, "IPv4"),
            labels=STABLE.labels,
            rewrite_path=f"/ml-team/{STABLE.name}/",
            cluster="us",
        ),
    )
    assert routing.withdrawn == ()


ADDRESSES: dict[str, tuple[str, str, Address]] = {
    "IPv4": ("10.0.0.1", "http://10.0.0.1/", Address("http", "10.0.0.1", 80, "IPv4")),
    "IPv6 is bracketed": ("2001:db8::1", "http://[2001:db8::1]/", Address("http", "2001:db8::1", 80, "IPv6")),
    "IPv6 that is bracketed already": (
        "[2001:db8::1]",
        "http://[2001:db8::1]/",
        Address("http", "2001:db8::1", 80, "IPv6"),
    ),
    "a balancer with a name": (
        "a1b2.elb.example.com",
        "http://a1b2.elb.example.com/",
        Address("http", "a1b2.elb.example.com", 80, "FQDN"),
    ),
}


@pytest.mark.parametrize(("address", "prefix", "want"), ADDRESSES.values(), ids=ADDRESSES)
def test_addresses_of_gateways(address: str, prefix: str, want: Address) -> None:
    (endpoint,) = planned(STABLE, addresses={"us": address}).endpoints
    assert endpoint.url == f"{prefix}ml-team/{STABLE.name}/v1"
    assert endpoint.address == want


def test_a_replica_that_is_not_ready_is_withdrawn() -> None:
    routing = planned(STABLE, NEXT, starting=[NEXT])
    assert in_use(routing) == [STABLE.key]
    assert routing.withdrawn == (NEXT.key,)


def test_a_replica_that_its_cluster_does_not_list_is_withdrawn() -> None:
    assert planned(STABLE, ready=[]).withdrawn == (STABLE.key,)


def test_a_cluster_without_an_address_is_out_of_rotation_and_keeps_its_replicas() -> None:
    routing = planned(STABLE, NEXT_EU, addresses={"us": None})
    assert in_use(routing) == [NEXT_EU.key]
    assert routing.withdrawn == (STABLE.key,)


def test_a_cluster_whose_stacks_are_absent_is_out_of_rotation() -> None:
    routing = plan_routing(documents_of(a_fleet()), a_ledger(STABLE), Observed())
    assert (routing.endpoints, routing.withdrawn) == ((), (STABLE.key,))


HELD = {"it was in use": (frozenset([STABLE.key]), [STABLE.key]), "it was not in use": (frozenset[str](), [])}


@pytest.mark.parametrize(("before", "want"), HELD.values(), ids=HELD)
def test_an_endpoint_whose_readiness_was_left_unresolved_stays_as_it_was(
    before: frozenset[str], want: list[str]
) -> None:
    unresolved = WorkloadsOutputs(cluster="us", replicas={STABLE.key: a_replica_state(STABLE, ready=UNKNOWN)})
    observed = Observed(serving={"us": serving_outputs()}, workloads={"us": unresolved}, in_use=before)
    assert in_use(plan_routing(documents_of(a_fleet()), a_ledger(STABLE), observed)) == want


def test_an_endpoint_in_use_whose_replica_is_known_not_to_be_ready_is_withdrawn() -> None:
    known = {"us": listed_workloads("us", starting=[STABLE])}
    observed = Observed(serving={"us": serving_outputs()}, workloads=known, in_use=frozenset([STABLE.key]))
    assert in_use(plan_routing(documents_of(a_fleet()), a_ledger(STABLE), observed)) == []


def test_an_address_that_was_left_unresolved_is_none() -> None:
    assert planned(STABLE, addresses={"us": UNKNOWN}).endpoints == ()


@dataclass(frozen=True, kw_only=True)
class Assumed:
    serving: dict[str, ServingOutputs] = field(default_factory=dict)
    workloads: dict[str, WorkloadsOutputs] = field(default_factory=dict)
    urls: dict[str, MaybeText] = field(default_factory=dict)
    want: list[MaybeText]
    """URLs of the endpoints, without their paths."""


PREVIEWS = {
    "nothing is there yet": Assumed(want=[UNKNOWN]),
    "the gateway's address is not known yet": Assumed(
        serving={"us": serving_outputs("us", UNKNOWN)},
        workloads={"us": listed_workloads("us", STABLE)},
        want=[UNKNOWN],
    ),
    "the gateway's address is not known now, and was when its endpoint came into use": Assumed(
        serving={"us": serving_outputs("us", UNKNOWN)},
        workloads={"us": listed_workloads("us", STABLE)},
        urls={STABLE.key: "http://10.0.0.9/ml-team/qwen-us/v1"},
        want=["http://10.0.0.9/"],
    ),
    "the replica is not made yet": Assumed(serving={"us": serving_outputs()}, want=["http://10.0.0.1/"]),
    "the replica is known not to be ready": Assumed(
        serving={"us": serving_outputs()}, workloads={"us": listed_workloads("us", starting=[STABLE])}, want=[]
    ),
    "the gateway is known to have no address": Assumed(
        serving={"us": serving_outputs("us", None)}, workloads={"us": listed_workloads("us", STABLE)}, want=[]
    ),
}


@pytest.mark.parametrize("case", PREVIEWS.values(), ids=PREVIEWS)
def test_a_preview_takes_what_it_cannot_know_for_ready(case: Assumed) -> None:
    observed = Observed(serving=case.serving, workloads=case.workloads, urls=case.urls)
    routing = plan_routing(documents_of(a_fleet()), a_ledger(STABLE), observed, preview=True)
    urls = [endpoint.url for endpoint in routing.endpoints]
    assert [url.partition("ml-team/")[0] if isinstance(url, str) else url for url in urls] == case.want


@dataclass(frozen=True, kw_only=True)
class Retiring:
    entries: list[LedgerReplica]
    starting: list[LedgerReplica] = field(default_factory=list)
    want: list[LedgerReplica]
    """Endpoints in use."""


GONE = retiring(STABLE)
FOR_NODES = retiring(STABLE, WAITING)
WITH_ROOM = retiring(STABLE, NEXT_EU)
A, B = an_entry("a", "us"), an_entry("b", "us")
A_NEW = an_entry("a", "us", 1, waits_for=(B.key,))
B_NEW = an_entry("b", "us", 1, waits_for=(A.key,))

RETIRING = {
    "nobody takes its place: it goes at once": Retiring(entries=[GONE], want=[]),
    "its successor waits for its nodes: it goes at once": Retiring(
        entries=[FOR_NODES, WAITING], starting=[WAITING], want=[]
    ),
    "its successor has room: it stays until that is ready": Retiring(
        entries=[WITH_ROOM, NEXT_EU], starting=[NEXT_EU], want=[WITH_ROOM]
    ),
    "its successor is ready: it goes": Retiring(entries=[WITH_ROOM, NEXT_EU], want=[NEXT_EU]),
    "its successor left the ledger: it goes": Retiring(entries=[WITH_ROOM], want=[]),
    "two wait for each other's nodes: both go": Retiring(
        entries=[retiring(A, A_NEW), retiring(B, B_NEW), A_NEW, B_NEW], starting=[A_NEW, B_NEW], want=[]
    ),
    "its successor waits for one that goes on its own: it stays": Retiring(
        entries=[retiring(A, A_NEW), retiring(B, NEXT_EU), A_NEW, NEXT_EU],
        starting=[A_NEW, NEXT_EU],
        want=[retiring(A, A_NEW), retiring(B, NEXT_EU)],
    ),
    "it was never ready: there is nothing to keep": Retiring(entries=[WITH_ROOM], starting=[WITH_ROOM], want=[]),
}


@pytest.mark.parametrize("case", RETIRING.values(), ids=RETIRING)
def test_retiring(case: Retiring) -> None:
    routing = planned(*case.entries, starting=case.starting)
    assert in_use(routing) == sorted(entry.key for entry in case.want)
    assert set(routing.withdrawn) == {entry.key for entry in case.entries} - {entry.key for entry in case.want}


def test_a_successor_that_retires_itself_ends_the_search() -> None:
    circle = [retiring(A, B), retiring(B, A)]
    entries = {entry.key: entry for entry in circle}
    assert not is_delete_first(circle[0], entries)


@dataclass(frozen=True, kw_only=True)
class Split:
    service: ModelService
    entries: list[LedgerReplica]
    starting: list[LedgerReplica] = field(default_factory=list)
    endpoints: list[ModelEndpoint] = field(default_factory=list)
    want: dict[str, int]
    empty: tuple[int, ...] = ()


THREE = [an_entry("stable", "us"), an_entry("stable", "us", 1), an_entry("stable", "eu")]
BY_KEY = sorted(entry.key for entry in THREE)
OUTSIDE = an_endpoint("outside", labels={"modelplane.ai/external-provider": "other"})

SPLITS = {
    "a whole deployment": Split(service=selecting((1, "stable")), entries=[STABLE, NEXT], want={STABLE.key: 1}),
    "90 to 10": Split(
        service=selecting((90, "stable"), (10, "next")), entries=[STABLE, NEXT], want={STABLE.key: 9, NEXT.key: 1}
    ),
    "the share of an entry that is empty goes to the others": Split(
        service=selecting((90, "stable"), (10, "next")),
        entries=[STABLE, NEXT],
        starting=[NEXT],
        want={STABLE.key: 1},
        empty=(1,),
    ),
    "three beside one": Split(
        service=selecting((80, "stable"), (20, "next")),
        entries=[*THREE, NEXT],
        want={BY_KEY[0]: 27, BY_KEY[1]: 27, BY_KEY[2]: 26, NEXT.key: 20},
    ),
    "an endpoint belongs to the first entry that selects it": Split(
        service=a_service(
            "svc",
            entries=[
                (90, {"modelplane.ai/deployment": "stable", "modelplane.ai/cluster": "eu"}),
                (10, {"modelplane.ai/deployment": "stable"}),
            ],
        ),
        entries=[an_entry("stable", "us"), an_entry("stable", "eu")],
        want={an_entry("stable", "eu").key: 9, an_entry("stable", "us").key: 1},
    ),
    "an entry whose endpoints all belong to earlier ones is empty": Split(
        service=selecting((90, "stable"), (10, "stable")), entries=[STABLE], want={STABLE.key: 1}, empty=(1,)
    ),
    "all labels have to match": Split(
        service=a_service("svc", entries=[(1, {"modelplane.ai/deployment": "stable", "tier": "gold"})]),
        entries=[an_entry("stable", "us"), an_entry("stable", "eu", labels={"tier": "gold"})],
        want={an_entry("stable", "eu").key: 1},
    ),
    "endpoints of another namespace are never taken": Split(
        service=selecting((1, "stable")),
        entries=[STABLE, an_entry("stable", "us", 1, namespace="other")],
        want={STABLE.key: 1},
    ),
    "an endpoint written by hand stands beside replicas": Split(
        service=a_service(
            "svc",
            entries=[
                (75, {"modelplane.ai/deployment": "stable"}),
                (25, {"modelplane.ai/external-provider": "other"}),
            ],
        ),
        entries=[STABLE],
        endpoints=[OUTSIDE],
        want={STABLE.key: 3, "ml-team/outside": 1},
    ),
    "nothing matches": Split(service=selecting((1, "nobody")), entries=[STABLE], want={}, empty=(0,)),
}


@pytest.mark.parametrize("case", SPLITS.values(), ids=SPLITS)
def test_splits(case: Split) -> None:
    routing = planned(*case.entries, starting=case.starting, services=[case.service], endpoints=case.endpoints)
    assert shares(routing) == case.want
    (route,) = routing.routes
    assert route.empty_entries == case.empty
    assert route.matched == len(case.want)


def test_an_endpoint_that_two_entries_match_is_told() -> None:
    (route,) = planned(STABLE, services=[selecting((90, "stable"), (10, "stable"))]).routes
    assert route.notes == (f"endpoints[1] matches {STABLE.key} too, which belongs to endpoints[0]",)


def test_endpoints_beyond_what_a_service_takes_are_left_out_and_told() -> None:
    entries = [an_entry("stable", "us", index) for index in range(257)]
    (route,) = planned(*entries, services=[selecting((1, "stable"))]).routes
    assert len(route.backends) == 256
    assert route.notes == ("a service takes 256 endpoints, any more are left out",)


def test_an_endpoint_written_by_hand_keeps_its_own_url_and_path() -> None:
    written = an_endpoint("outside", url="https://api.example.com/", rewrite_path="/openai/", labels={"own": "yes"})
    assert planned(endpoints=[written]).endpoints == (
        Endpoint(
            namespace="ml-team",
            name="outside",
            url="https://api.example.com/",
            address=Address("https", "api.example.com", 443, "FQDN"),
            labels={"own": "yes"},
            rewrite_path="/openai/",
        ),
    )


def test_the_service_of_a_namespace_never_sees_the_like_named_one_of_another() -> None:
    mine, theirs = selecting((1, "stable")), a_service("svc", namespace="other", entries=[(1, {"a": "b"})])
    routing = planned(STABLE, services=[theirs, mine])
    assert [(route.key, len(route.backends)) for route in routing.routes] == [("ml-team/svc", 1), ("other/svc", 0)]


def test_the_order_of_entries_and_documents_changes_nothing() -> None:
    """Remainders of a split would wander between endpoints and rewrite routes for nothing."""
    entries = [*THREE, NEXT, NEXT_EU, an_entry("stable", "us", 7)]
    services = [selecting((80, "stable"), (20, "next")), a_service("other", entries=[(1, {"x": "y"})])]
    endpoints = [OUTSIDE, an_endpoint("another")]
    want = planned(*entries, services=services, endpoints=endpoints)
    for seed in range(10):
        shuffled: list[list[Any]] = [list(entries), list(services), list(endpoints)]
        for items in shuffled:
            Random(seed).shuffle(items)
        assert planned(*shuffled[0], services=shuffled[1], endpoints=shuffled[2]) == want


def test_a_replica_that_is_seen_sick_gives_its_share_to_the_others_whatever_was_exported() -> None:
    west, east = an_entry("chat", "eu"), an_entry("chat", "us")
    service = a_service("chat")
    found = planned(west, east, services=[service], sick={east.key})
    assert [endpoint.key for endpoint in found.endpoints] == [west.key]
    assert [backend.endpoint.key for backend in found.routes[0].backends] == [west.key]
    assert found.withdrawn == (east.key,)
    assert planned(west, east, services=[service], sick={"n/other"}) == planned(west, east, services=[service])


def test_a_cluster_silent_for_too_long_gives_its_share_to_the_others() -> None:
    west, east = an_entry("mock", "eu"), an_entry("mock", "us")
    service = a_service("mock")
    assert shares(planned(west, east, services=[service])) == {west.key: 1, east.key: 1}
    withdrawn = planned(west, east, services=[service], silent={"us"})
    assert shares(withdrawn) == {west.key: 1}
    assert withdrawn.withdrawn == (east.key,)


def test_a_successor_on_a_silent_cluster_takes_nothing_over() -> None:
    old, new = retiring(STABLE, NEXT_EU), NEXT_EU
    assert in_use(planned(old, new)) == [new.key]
    assert in_use(planned(old, new, silent={"eu"})) == [old.key]


@pytest.mark.parametrize(
    ("withdraw_after", "now", "silent"),
    [
        (None, "2026-11-30T00:00:00Z", set()),
        (300, "2026-11-29T12:04:59Z", set()),
        (300, "2026-11-29T12:05:00Z", {"us"}),
        (0, "2026-11-29T12:00:00Z", {"us"}),
    ],
)
def test_how_long_a_cluster_may_be_silent(withdraw_after: int | None, now: str, silent: set[str]) -> None:
    clusters = {
        "us": cluster_outputs("us", reachable=False, unreachable_since="2026-11-29T12:00:00Z"),
        "eu": cluster_outputs("eu"),
        "ap": cluster_outputs("ap", reachable=False),
    }
    assert silent_clusters(clusters, withdraw_after, now) == silent
