"""Where live objects are not as stacks last exported them."""

from dataclasses import replace

import pytest
from states import an_engine_entry, an_entry, cluster_outputs, listed_workloads

from api.names import child
from programs.outputs import EndpointState, RoutingOutputs, ServiceBackend, ServiceState, WorkloadsOutputs
from programs.replica_state import workload_name
from stacks.loop.sight import ROUTE, Seen, Sight, astray_replicas, astray_routes, sick

ENTRY = an_entry()
READY, STARTING = listed_workloads("us", ENTRY), listed_workloads("us", starting=[ENTRY])
KIND, NAME = workload_name(ENTRY.name, ENTRY.engines[0], "Standard")
PLACE = f"{KIND}/{ENTRY.namespace}/{NAME}"


def astray(outputs: WorkloadsOutputs | None, *seen: Seen, answers: bool | None = True) -> list[str]:
    sight = Sight(answers=answers, objects=dict.fromkeys([PLACE], seen[0]) if seen else {})
    return sorted(astray_replicas([ENTRY], outputs, cluster_outputs(), sight))


@pytest.mark.parametrize(
    ("outputs", "seen", "found"),
    [
        (READY, [Seen(ready=True)], []),
        (STARTING, [Seen(ready=False)], []),
        (READY, [Seen(ready=False)], ["is not ready"]),
        (STARTING, [Seen(ready=True)], ["is ready"]),
        (READY, [], ["is not ready"]),
        (STARTING, [], []),
        (READY, [Seen(ready=True, copies=3)], ["has 3 copies"]),
        (None, [Seen(ready=False)], []),
    ],
)
def test_a_replica_is_astray_where_the_cluster_and_the_outputs_differ(
    outputs: WorkloadsOutputs | None, seen: list[Seen], found: list[str]
) -> None:
    assert astray(outputs, *seen) == [f"{ENTRY.key} {words}" for words in found]


@pytest.mark.parametrize("answers", [False, None])
def test_a_cluster_that_does_not_answer_shows_nothing(answers: bool | None) -> None:
    assert astray(READY, answers=answers) == []


def test_an_engine_of_several_copies_has_them() -> None:
    entry = an_entry(engines=(an_engine_entry(copies=2),))
    sight = Sight(answers=True, objects={PLACE: Seen(ready=True, copies=2)})
    assert astray_replicas([entry], listed_workloads("us", entry), cluster_outputs(), sight) == frozenset()


def routing(*, accepted: bool = True, weight: int = 9) -> RoutingOutputs:
    endpoint = EndpointState(url="http://10.0.0.1/", cluster="us", backend="one", port=80)
    service = ServiceState(backends=(ServiceBackend(endpoint="n/one", weight=weight),), accepted=accepted)
    return RoutingOutputs(services={"n/chat": service}, endpoints={"n/one": endpoint})


def route(*, ready: bool = True, weights: frozenset[tuple[str, int]] = frozenset({("one", 9)})) -> Sight:
    return Sight(answers=True, objects={f"{ROUTE}/n/chat": Seen(ready=ready, weights=weights)})


@pytest.mark.parametrize(
    ("outputs", "sight", "found"),
    [
        (routing(), route(), []),
        (routing(accepted=False), route(ready=False), []),
        (routing(accepted=False), route(), ["n/chat is accepted"]),
        (routing(), route(ready=False), ["n/chat is not accepted"]),
        (routing(), Sight(answers=True), ["n/chat is not accepted"]),
        (routing(), route(weights=frozenset({("one", 1)})), ["n/chat has [('one', 1)]"]),
        (routing(), Sight(answers=False), []),
        (None, route(), []),
    ],
)
def test_a_route_is_astray_where_the_gateway_and_the_outputs_differ(
    outputs: RoutingOutputs | None, sight: Sight, found: list[str]
) -> None:
    assert sorted(astray_routes(outputs, sight)) == found


def test_a_service_that_nothing_is_behind_leads_to_its_stand_in_and_one_of_many_is_not_compared() -> None:
    empty = RoutingOutputs(services={"n/chat": ServiceState(accepted=True)})
    assert astray_routes(empty, route(weights=frozenset({(child("chat", "nobody"), 1)}))) == frozenset()
    assert astray_routes(empty, route(weights=frozenset({("one", 1)}))) != frozenset()
    names = [str(number) for number in range(17)]
    many = RoutingOutputs(
        services={
            "n/chat": ServiceState(
                backends=tuple(ServiceBackend(endpoint=name, weight=1) for name in names), accepted=True
            )
        },
        endpoints={name: EndpointState(url="u", backend=name, port=80) for name in names},
    )
    assert astray_routes(many, route(weights=frozenset({("part", 17)}))) == frozenset()


@pytest.mark.parametrize(
    ("seen", "is_sick"),
    [
        (Seen(ready=True, serving=1), False),
        (Seen(ready=False, serving=0), True),
        (Seen(ready=True, copies=0, serving=0), True),
        (Seen(ready=False, copies=3, serving=1), False),
        (Seen(ready=False), False),
        (None, False),
    ],
    ids=["serves", "does not serve", "scaled to none", "scaled up and serves", "no status yet", "not seen"],
)
def test_a_replica_is_sick_while_fewer_copies_serve_than_it_is_to_have(seen: Seen | None, *, is_sick: bool) -> None:
    sight = Sight(answers=True, objects={PLACE: seen} if seen else {})
    assert sick([ENTRY], cluster_outputs(), sight) == (frozenset({ENTRY.key}) if is_sick else frozenset())
    assert sight.is_unwell or not is_sick, "it is looked at closely"
    assert not replace(sight, answers=False).is_unwell, "what does not answer takes nothing out of rotation"
