"""Services with more endpoints than a rule of Gateway API takes: parts, and what each endpoint gets of all requests."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from api.routing import MOST_BACKENDS, MOST_IN_A_RULE, Address
from components.shares import GatewayService, Share, service_objects

DOOR = GatewayService(namespace="traefik-system", name="traefik")
BY_ADDRESS = Address("http", "10.0.0.1", 80, "IPv4")


def shares(*weights: int) -> list[Share]:
    return [Share(service=f"e-{number}", port=80, weight=weight) for number, weight in enumerate(weights)]


def rule(route: dict[str, Any]) -> dict[str, Any]:
    (found,) = route["spec"]["rules"]
    return dict(found)


def path(route: dict[str, Any]) -> str:
    return str(rule(route)["matches"][0]["path"]["value"])


def fractions(refs: list[dict[str, Any]]) -> list[Fraction]:
    whole = sum(ref["weight"] for ref in refs)
    return [Fraction(ref["weight"], whole) for ref in refs]


def reached(weights: list[int]) -> dict[str, Fraction]:
    """What each endpoint gets of all requests, followed through the parts."""
    objects = service_objects("ns", "svc", shares(*weights), BY_ADDRESS, {})
    parts = {path(part): part for part in objects.parts.values() if part["kind"] == "HTTPRoute"}
    refs = rule(objects.route)["backendRefs"]
    if not parts:
        return dict(zip((ref["name"] for ref in refs), fractions(refs), strict=True))
    found = {}
    for ref, share in zip(refs, fractions(refs), strict=True):
        part = parts[ref["filters"][0]["urlRewrite"]["path"]["replacePrefixMatch"]]
        inner = rule(part)["backendRefs"]
        assert len(inner) <= MOST_IN_A_RULE
        found |= {each["name"]: share * of for each, of in zip(inner, fractions(inner), strict=True)}
    assert len(refs) <= MOST_IN_A_RULE
    return found


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=MOST_BACKENDS))
@settings(deadline=None, derandomize=True, max_examples=60)
def test_every_endpoint_gets_its_share_however_many_there_are(weights: list[int]) -> None:
    found = reached(weights)
    assert found == {f"e-{number}": Fraction(weight, sum(weights)) for number, weight in enumerate(weights)}


def test_sixteen_endpoints_need_no_parts_and_no_way_to_the_gateway() -> None:
    objects = service_objects("ns", "svc", shares(*[1] * 16), None, {})
    assert objects.parts == {}
    with pytest.raises(ValueError, match="17 backends"):
        service_objects("ns", "svc", shares(*[1] * 17), None, {})


def test_endpoints_beyond_what_parts_take_are_left_out() -> None:
    assert len(reached([1] * (MOST_BACKENDS + 1))) == MOST_BACKENDS


def test_parts_are_reached_by_the_gateway_s_service_where_it_is_ours() -> None:
    objects = service_objects("ns", "svc", shares(*[1] * 17), DOOR, {})
    assert [part["kind"] for part in objects.parts.values()] == ["ReferenceGrant", "HTTPRoute", "HTTPRoute"]
    grant = objects.parts["grant"]
    assert grant["metadata"]["namespace"] == "traefik-system"
    assert grant["spec"]["from"] == [{"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "namespace": "ns"}]
    refs = rule(objects.route)["backendRefs"]
    assert {(ref["name"], ref["namespace"], ref["port"]) for ref in refs} == {("traefik", "traefik-system", 80)}


def test_an_endpoint_without_a_prefix_of_its_own_sees_the_service_s_path_in_a_part_too() -> None:
    objects = service_objects("ns", "svc", shares(*[1] * 17), DOOR, {})
    part = rule(objects.parts["part-0"])["backendRefs"][0]
    assert part["filters"][0]["urlRewrite"]["path"]["replacePrefixMatch"] == "/ns/svc/"


def test_a_service_without_endpoints_leads_nowhere_and_keeps_its_path() -> None:
    objects = service_objects("ns", "svc", [], None, {})
    (ref,) = rule(objects.route)["backendRefs"]
    assert ref["name"] == objects.parts["nobody"]["metadata"]["name"]
    assert objects.parts["nobody-slice"]["endpoints"] == []
    assert path(objects.route) == "/ns/svc/"
