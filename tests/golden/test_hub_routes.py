"""What the routing program puts on the hub for endpoints of every kind, and for services of every size."""

from typing import Any

import pulumi
import pytest
from builders import a_deployment, a_service, an_endpoint
from program_runs import FLEET, a_directory, ran
from states import a_ledger, an_entry, documents_of, gateway_outputs, listed_workloads, serving_outputs

from api.fleets import Chart, Fleet
from programs.outputs import Outputs, PlacementOutputs, RoutingOutputs

LABEL = {"outside": "yes"}
SERVICE = a_service("svc", entries=[(1, LABEL), (1, {"modelplane.ai/deployment": "qwen"})])


def with_replicas(count: int, **gateway: Any) -> dict[str, Outputs]:
    entries = [an_entry("qwen", "us", index) for index in range(count)]
    return {
        "gateway": gateway_outputs().model_copy(update=gateway),
        "placement": PlacementOutputs(ledger=a_ledger(*entries)),
        "serving.us": serving_outputs("us"),
        "workloads.us": listed_workloads("us", *entries),
    }


def with_own_traefik() -> Fleet:
    charts = FLEET.spec.gateway.charts.model_copy(update={"traefik": Chart()})
    gateway = FLEET.spec.gateway.model_copy(update={"charts": charts})
    return FLEET.model_copy(update={"spec": FLEET.spec.model_copy(update={"gateway": gateway})})


def test_an_outside_endpoint_is_asked_for_by_its_name_and_a_replica_is_not() -> None:
    outside = an_endpoint("api", url="https://api.example.com:8443/", rewrite_path="/", labels=LABEL)
    recording = ran("routing", a_directory(SERVICE, outside, a_deployment()), with_replicas(1))
    (route,) = recording.of_kind("HTTPRoute")
    (rule,) = route.inputs["spec"]["rules"]
    hosts = [ref["filters"][0]["urlRewrite"].get("hostname") for ref in rule["backendRefs"]]
    assert hosts == ["api.example.com", None]
    policy = recording.one("BackendTLSPolicy")
    assert policy.inputs["spec"]["validation"]["hostname"] == "api.example.com"
    assert f"{outside.namespace}/{outside.name}/tls" in route.depends_on


def test_a_service_without_endpoints_keeps_its_route_and_its_address() -> None:
    recording = ran("routing", a_directory(SERVICE, a_deployment()), with_replicas(0))
    assert recording.one("HTTPRoute")
    assert recording.one("EndpointSlice").inputs["endpoints"] == []
    found = RoutingOutputs.model_validate(recording.exports).services["ml-team/svc"]
    assert found.address == "http://203.0.113.1/ml-team/svc"
    assert {each.type: each.reason for each in found.conditions}["EndpointsResolved"] == "NoEndpoints"


def test_a_large_service_goes_through_traefik_s_own_service_where_the_fleet_has_it() -> None:
    documents = a_directory(SERVICE, a_deployment())
    own = documents_of(*[each for each in documents.all() if not isinstance(each, Fleet)], with_own_traefik())
    recording = ran("routing", own, with_replicas(17))
    assert len(recording.of_kind("HTTPRoute")) == 3
    assert recording.one("ReferenceGrant").inputs["metadata"]["namespace"] == "traefik-system"


def test_a_large_service_goes_by_the_gateway_s_own_address_where_traefik_was_found() -> None:
    documents = a_directory(SERVICE, a_deployment())
    recording = ran("routing", documents, with_replicas(17, own_address="10.9.9.9"))
    addresses = [found.inputs["endpoints"][0]["addresses"] for found in recording.of_kind("EndpointSlice")]
    assert addresses.count(["10.9.9.9"]) == 1
    with pytest.raises(pulumi.RunError, match="exports no address of the Gateway"):
        ran("routing", documents, with_replicas(17))
